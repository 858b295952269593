"""A display that stays on a terminal while something runs; elsewhere there is none."""

from typing import Self

from rich.live import Live


class OnScreen:
    """Something with a live display, to be used in a `with`."""

    _live: Live | None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
