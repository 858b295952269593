"""`surefoot VERB ...`: finds the verb, lets tyro read its arguments, and turns mistakes into one sentence."""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from surefoot import __version__
from surefoot.errors import SurefootError, nearest


@dataclass(frozen=True)
class Verb:
    """Where a verb lives; its module is imported only when it runs, so that help comes at once."""

    module: str
    function: str
    line: str


VERBS = {
    "robot check": Verb("surefoot.cli.robot", "check", "validate a robot, print its contract, draw a picture of it"),
    "robot new": Verb("surefoot.cli.robot", "new", "write a starter robot.yaml for an MJCF or URDF, every guess marked"),
    "policy attach": Verb("surefoot.cli.policy", "attach", "put a robot's contract into an ONNX policy"),
    "policy show": Verb("surefoot.cli.policy", "show", "print the contract inside an ONNX policy"),
    "record": Verb("surefoot.cli.record", "record_log", "record the log that a virtual robot would write"),
}


def main() -> None:
    """Entry point of the `surefoot` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command line; the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if arguments[0] == "--version":
        print(f"surefoot {__version__}")
        return 0
    name, rest = _find(arguments)
    if name is None:
        return 0 if rest == ["--help"] else 2
    try:
        import tyro

        verb = VERBS[name]
        function: Callable[..., int | None] = getattr(importlib.import_module(verb.module), verb.function)
        return tyro.cli(function, prog=f"surefoot {name}", args=rest) or 0
    except SurefootError as mistake:
        print(f"surefoot: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("surefoot: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output is gone, as with '| head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _find(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The verb that the arguments begin with, and the rest; where there is none, say so and return None."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in VERBS:
            return name, arguments[words:]
    group = {name: verb for name, verb in VERBS.items() if name.split()[0] == arguments[0] and " " in name}
    if group:
        asked = arguments[1:] in (["-h"], ["--help"])
        if not asked and len(arguments) > 1:
            print(f"surefoot: unknown verb {' '.join(arguments[:2])!r}{nearest(' '.join(arguments[:2]), group)}", file=sys.stderr)
            return None, []
        print(_help(group))
        return None, ["--help"] if asked else []
    print(f"surefoot: unknown verb {arguments[0]!r}{nearest(arguments[0], VERBS)}; 'surefoot --help' lists them", file=sys.stderr)
    return None, []


def _help(verbs: dict[str, Verb] | None = None) -> str:
    verbs = verbs or VERBS
    width = max(map(len, verbs))
    lines = "\n".join(f"  {name:<{width}}  {verb.line}" for name, verb in verbs.items())
    return f"Surefoot {__version__}: make a legged robot's simulator agree with the robot.\n\nusage: surefoot VERB ...\n\n{lines}\n\n'surefoot VERB --help' shows the options of a verb."
