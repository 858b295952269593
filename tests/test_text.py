"""Text from files where it is printed and where it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.text import for_comment, for_terminal, one_line


@given(st.text())
def test_a_terminal_is_never_steered(text) -> None:
    shown = for_terminal(text)
    assert all(c.isprintable() or c in "\n\t" or "\ud800" <= c <= "\udfff" for c in shown)
    assert len(shown) == len(text)


@given(st.text())
def test_one_line_is_one(text) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text())
def test_a_comment_can_be_read_back(text) -> None:
    """Nothing is lost: the escapes are Python's own."""
    comment = for_comment(text)
    assert len(comment.splitlines()) <= 1
    assert comment.isprintable()
    assert comment.encode("latin-1", "backslashreplace").decode("unicode_escape") == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\x1b]0;owned\x07", "␛]0;owned␇"), ("a\tb\n", "a\tb\n"), ("\x9b31m", "�31m"), ("\u202eb", "�b"), ("é·N", "é·N")],
)
def test_what_is_shown_instead(text, shown) -> None:
    assert for_terminal(text) == shown
