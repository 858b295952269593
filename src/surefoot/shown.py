"""Results that show themselves: `print` gives what the command line prints, a notebook shows the same as HTML.

What draws them is imported when it is needed, so that values know nothing of drawing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import SurefootError


class Shown:
    """A result that prints as the command line does."""

    def __str__(self) -> str:
        from surefoot.report.text import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from surefoot.report.text import html_of

        return html_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal, instead of every number of every field."""
        printer.text(str(self))


def dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame; pandas is not among the requirements."""
    try:
        import pandas
    except ImportError:
        raise SurefootError("a data frame needs pandas; install it with: pip install pandas") from None
    return pandas.DataFrame(list(rows))
