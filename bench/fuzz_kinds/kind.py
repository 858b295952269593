"""What a kind of input is, and the mutations that kinds share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Verbs = list[list[str]]


@dataclass(frozen=True)
class Kind:
    """One kind of input.

    `make` writes the mutated files of one case into a folder and returns the command lines that read them; outputs go
    to the folder `out` beside them. `check` looks at what was written, and raises where that is wrong.
    """

    name: str
    make: Callable[[Draw, Path], Verbs]
    check: Callable[[Path], None] = lambda folder: None
    cases: int = 1000  # of a whole run


NASTY_TEXT = [
    "",
    " ",
    "\n",
    "a\nb: 1",
    "\x1b]0;owned\x07",
    "\x1b[2J",
    "\x9b31m",
    "\u202egnp",
    "\u2028",
    "\x00",
    "..",
    "../../up",
    "/dev/zero",
    "/etc/passwd",
    "nan",
    ".inf",
    "1e309",
    "9" * 400,
    "&a",
    "*a",
    "!!python/object/apply:os.system [id]",
    "<<",
    "{{}}",
    "%s%n",
    "${HOME}",
    "`id`",
    "'; import os; '",
    '"""',
    "\\",
    "\\x0aimport os",
    "# coding: unicode_escape",
    "static; coding: unicode_escape",
    "-->",
    "]]>",
    "<script>",
    "&amp;&lt;",
    "--help",
    "-",
    "a" * 300,
    "é",
    "😀",
    "\ud800",
]
NASTY_NUMBERS = [
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63),
    10**400,
    0.0,
    -0.0,
    1e-320,
    1e-9,
    1e9,
    1e38,
    1e300,
    float("nan"),
    float("inf"),
    float("-inf"),
]

texts = st.one_of(st.sampled_from(NASTY_TEXT), st.text(max_size=40))
numbers = st.one_of(
    st.sampled_from(NASTY_NUMBERS),
    st.floats(),
    st.floats(min_value=-100, max_value=100),
    st.integers(min_value=-(10**6), max_value=10**6),
)
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every node below a tree of dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = []
    for key, item in items:
        found += [(*path, key), *places(item, (*path, key))]
    return found


def mutated(draw: Draw, tree: Any) -> Any:
    """A tree of dicts, lists and scalars with a few nodes replaced, removed, added, doubled, wrapped or nudged."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        found = places(tree)
        if not found:
            return draw(values)
        *above, last = draw(st.sampled_from(found))
        node = tree
        for key in above:
            node = node[key]
        way = draw(
            st.sampled_from(
                ["replace", "remove", "add", "wrap", "number", "deep", "long", "rename", "text", *["nudge"] * 6]
            )
        )
        if way == "nudge" and isinstance(node[last], (int, float)) and not isinstance(node[last], bool):
            node[last] = node[last] * draw(st.sampled_from([-1, 0, 0.5, 0.9, 1.1, 2, 10, 1e-6, 1e6]))
        elif way == "nudge" and isinstance(node[last], str):
            node[last] = draw(
                st.sampled_from(
                    [node[last] + "x", node[last][:-1], node[last].upper(), f" {node[last]}", node[last] * 2]
                )
            )
        elif way == "replace":
            node[last] = draw(values)
        elif way == "text":
            node[last] = draw(texts)
        elif way == "number":
            node[last] = draw(numbers)
        elif way == "remove":
            del node[last]
        elif way == "wrap":
            node[last] = [node[last]]
        elif way == "deep":
            for _ in range(draw(st.sampled_from([5, 40, 200]))):
                node[last] = [node[last]]
        elif way == "long":
            node[last] = [node[last]] * draw(st.sampled_from([2, 100, 5000]))
        elif isinstance(node, dict) and way == "rename":
            node[draw(texts)] = node.pop(last)
        elif isinstance(node, dict):
            node[draw(texts)] = draw(values)
        else:
            node.insert(0, draw(values))
    return tree


def damaged(draw: Draw, content: bytes) -> bytes:
    """Bytes with some of them flipped, cut off, deleted, inserted or repeated."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        size = max(len(data), 1)
        place, length = draw(st.integers(0, size - 1)), draw(st.integers(1, min(64, size)))
        way = draw(st.sampled_from(["flip", "cut", "delete", "insert", "zero", "ones", "repeat"]))
        if way == "flip":
            data[place : place + 1] = bytes(byte ^ 1 << draw(st.integers(0, 7)) for byte in data[place : place + 1])
        elif way == "cut":
            del data[place:]
        elif way == "delete":
            del data[place : place + length]
        elif way == "insert":
            data[place:place] = draw(st.binary(min_size=1, max_size=64))
        elif way in ("zero", "ones"):
            data[place : place + length] = (b"\0" if way == "zero" else b"\xff") * len(data[place : place + length])
        else:
            data[place:place] = data[place : place + length]
    return bytes(data)
