"""The library speaks to whoever calls it: its sentences name values and files, and the command line adds the option."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import surefoot
from surefoot.cli.main import VERBS, run
from surefoot.cli.words import way_out
from surefoot.errors import SurefootError

SOURCES = Path(surefoot.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(rf"\bsurefoot ({'|'.join(sorted({name.split()[0] for name in VERBS}))})\b")
ERRORS = ("Error", "UnusableLog", "MatchesByFalling")  # how the names of exceptions end
# Texts that are written into files, for people with a shell, and the option of another program.
WRITTEN = {
    "adapt/export/adapted.py",
    "adapt/export/numpy_class.py",
    "adapt/export/randomization.py",
    "pipeline/fit.py",
    "pipeline/gap.py",
    "robot/guess.py",
}


def library() -> list[Path]:
    """All modules but those that speak to the command line's user, and the pages."""
    folders = ("cli", "report")
    return [path for path in sorted(SOURCES.rglob("*.py")) if path.relative_to(SOURCES).parts[0] not in folders]


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each string inside a piece of code, parts of f-strings too."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.lineno, inner.value


def without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return tree


def named(text: str) -> bool:
    return OPTION.search(text) is not None or COMMAND.search(text) is not None


@pytest.mark.parametrize("path", library(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_no_sentence_of_the_library_names_an_option_or_a_command(path) -> None:
    tree = without_docstrings(ast.parse(path.read_text(encoding="utf-8")))
    raised = [text for node in ast.walk(tree) if isinstance(node, ast.Raise) for text in texts(node)]
    said = raised if path.relative_to(SOURCES).as_posix() in WRITTEN else list(texts(tree))
    assert [f"line {line}: {text}" for line, text in said if named(text)] == []


def test_all_exceptions_are_needed() -> None:
    for name in WRITTEN:
        assert any(named(text) for _, text in texts(ast.parse((SOURCES / name).read_text(encoding="utf-8")))), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("choose another place with --out", True),
        ("'surefoot policy attach' does it", True),
        ("a log -- or two", False),
        ("surefoot fits", False),
        ("var a--b", False),
    ],
)
def test_what_counts_as_named(text, expected) -> None:
    assert named(text) is expected


@pytest.mark.parametrize(
    ("argument", "verb", "says"),
    [
        (None, None, ""),
        ("per_joint", None, " (option --per-joint)"),
        (None, "doctor", " ('surefoot doctor')"),
        ("time_unit", "log import", " (option --time-unit of 'surefoot log import')"),
    ],
)
def test_the_command_line_adds_it(monkeypatch, capsys, argument, verb, says) -> None:
    def refuse(name: str, arguments: list[str]) -> int:
        raise SurefootError("this cannot be", argument=argument, verb=verb)

    monkeypatch.setattr(importlib.import_module("surefoot.cli.main"), "call_verb", refuse)
    assert run(["fit"]) == 2
    assert capsys.readouterr().err == f"surefoot: this cannot be{says}\n"
    assert way_out(argument, verb) == says


def given(name: str) -> set[str]:
    """The texts that errors of the library are given as this keyword."""
    found: set[str] = set()
    for path in library():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith(ERRORS):
                values = [keyword.value for keyword in node.keywords if keyword.arg == name]
                found |= {text for value in values for _, text in texts(value)}
    return found


def test_every_verb_that_mends_something_exists() -> None:
    assert "policy attach" in given("verb")
    assert given("verb") <= set(VERBS)


def test_every_argument_that_mends_something_is_an_option(capsys) -> None:
    options = set()
    for name in VERBS:
        run([*name.split(), "--help"])
        options |= set(re.findall(r"--([a-z][a-z-]*)", capsys.readouterr().out))
    assert "restart" in given("argument")
    assert {argument.replace("_", "-") for argument in given("argument")} <= options
