"""`surefoot VERB ...`: finds the verb, lets tyro read its arguments, and turns mistakes into one sentence."""

import contextlib
import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot import __version__
from surefoot.cli.words import way_out
from surefoot.errors import SurefootError, nearest, shown
from surefoot.text import for_terminal, one_line
from surefoot.watchdog import notice_interrupts

LONGEST_SENTENCE = 2000  # characters of an error: names from a file may be of any length


@dataclass(frozen=True)
class Verb:
    """Where a verb lives; its module is imported only when it runs, so that help comes at once."""

    module: str
    function: str
    line: str
    writes: bool = True  # takes --overwrite
    reads_logs: bool = False  # takes --memory-gb


VERBS = {
    "robot check": Verb("surefoot.cli.robot", "check", "validate a robot, print its contract, draw a picture of it"),
    "robot new": Verb(
        "surefoot.cli.robot", "new", "write a starter robot.yaml for an MJCF or URDF, every guess marked"
    ),
    "policy attach": Verb("surefoot.cli.policy", "attach", "put a robot's contract into an ONNX policy"),
    "policy show": Verb("surefoot.cli.policy", "show", "print the contract inside an ONNX policy", writes=False),
    "train": Verb("surefoot.cli.train", "train_policy", "train a walking policy, or a task of your own"),
    "finetune": Verb(
        "surefoot.cli.finetune", "finetune_policy", "go on training a policy in the simulator that a fit found"
    ),
    "evaluate": Verb(
        "surefoot.cli.evaluate", "evaluate_policy", "measure tracking, drift, falls and energy of a policy"
    ),
    "verdict": Verb(
        "surefoot.cli.verdict",
        "judge_policy",
        "tell whether a fine-tuned policy may go onto the robot: GO or NO-GO, with reasons",
    ),
    "play": Verb(
        "surefoot.cli.play", "play", "render a video of a policy walking, with command and measured velocity drawn in"
    ),
    "record": Verb("surefoot.cli.record", "record_log", "record the log that a virtual robot would write"),
    "log import": Verb(
        "surefoot.cli.log",
        "import_log",
        "turn tables, bags and datasets (CSV, JSON, HDF5, MCAP, ROS, ...) into one log",
        reads_logs=True,
    ),
    "log show": Verb(
        "surefoot.cli.log",
        "show",
        "summarize a log: episodes, rate, ranges, where it comes from",
        writes=False,
        reads_logs=True,
    ),
    "log plot": Verb(
        "surefoot.cli.log_plot",
        "plot",
        "write a page to look at a log: traces, distributions, commands",
        reads_logs=True,
    ),
    "doctor": Verb(
        "surefoot.cli.doctor",
        "doctor",
        "find what is wrong with a log, why it matters and how to fix it",
        reads_logs=True,
    ),
    "gap": Verb(
        "surefoot.cli.gap",
        "measure_gap",
        "measure how far a simulator is from a log: where, beside which floor, and why",
        reads_logs=True,
    ),
    "fit": Verb(
        "surefoot.cli.fit",
        "fit",
        "find the parameters with which the simulator moves as the robot did, with intervals",
        reads_logs=True,
    ),
    "loop": Verb(
        "surefoot.cli.loop",
        "loop",
        "do the whole loop on your logs: doctor, gap, fit, fine-tune, verdict, one report",
        reads_logs=True,
    ),
    "adapt show": Verb("surefoot.cli.adapt", "show", "print what a fit changed: was, is, interval, flag", writes=False),
    "adapt export": Verb(
        "surefoot.cli.adapt", "export", "write an adaptation for MuJoCo, NumPy, ONNX, mjlab, Isaac Lab or training"
    ),
}


def main() -> None:
    """Entry point of the `surefoot` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without '·', or a file name that is not UTF-8
    notice_interrupts()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command line; the exit code."""
    try:
        try:
            code = _run(arguments)
        except SystemExit as leave:  # tyro after --help, or after saying what is wrong with the arguments
            code = leave.code if isinstance(leave.code, int) else 0
        sys.stdout.flush()  # here, where a reader that is gone can be answered
        return code
    except SurefootError as mistake:
        return _refuse(f"{mistake}{way_out(mistake.argument, mistake.verb)}")
    except KeyboardInterrupt:
        print("surefoot: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output is gone, as with '| head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _refuse("this machine has not enough memory for that; ask for less at a time")
    except OSError as reason:  # a full disk, a name that no file can have, a folder without permission
        where = f" {shown(reason.filename)}" if reason.filename else ""
        return _refuse(f"cannot use{where or ' a file'}: {reason.strerror or reason}")


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if arguments[0] == "--version":
        print(f"surefoot {__version__}")
        return 0
    name, rest = _find(arguments)
    if name is None:
        return 0 if rest == ["--help"] else 2
    return call_verb(name, rest)


def call_verb(name: str, arguments: list[str]) -> int:
    """Let tyro read the arguments of a verb, and run it; its exit code."""
    import tyro

    verb = VERBS[name]
    function: Callable[..., int | None] = getattr(importlib.import_module(verb.module), verb.function)
    call = _guarded(function, name, verb)
    if all(word.isprintable() for word in arguments):
        return tyro.cli(call, prog=f"surefoot {name}", args=arguments)() or 0
    told = io.StringIO()  # tyro repeats arguments as they are, and a file name may hold escapes
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            parsed = tyro.cli(call, prog=f"surefoot {name}", args=arguments)
    except SystemExit:
        sys.stderr.write(for_terminal(told.getvalue()))
        raise
    return parsed() or 0


def _guarded(function: Callable[..., int | None], name: str, verb: Verb) -> Callable[..., Callable[[], int | None]]:
    """What tyro calls: it gives the verb with its arguments, to be run inside the guard of its inputs and outputs.

    Verbs of one kind share options, which are added here.
    """
    shared: dict[str, tuple[Any, Any, str]] = {}
    if verb.writes:
        shared["overwrite"] = (
            bool,
            False,
            "replace an output that is there already, also one that this verb did not write or that was changed since;"
            " an input is never replaced",
        )
    if verb.reads_logs:
        shared["memory_gb"] = (
            float | None,
            None,
            "memory that a log may take once it is decoded, GB; without it, what SUREFOOT_MEMORY_GB says, or 1",
        )

    def call(
        *args: Any, overwrite: bool = False, memory_gb: float | None = None, **options: Any
    ) -> Callable[[], int | None]:
        from surefoot.files import outputs
        from surefoot.limits import raised

        given, named = _expanded(args), _expanded(options)

        def run() -> int | None:
            with raised(memory_gb), outputs(name, overwrite):
                return function(*given, **named)

        return run

    # Not functools.wraps: tyro would look through it, at the function without the added options.
    call.__name__, call.__qualname__, call.__module__ = function.__name__, function.__qualname__, function.__module__
    signature = inspect.signature(function)
    added = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for key, (kind, default, _) in shared.items()
    ]
    parameters = [*signature.parameters.values(), *added]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = function.__annotations__ | {key: kind for key, (kind, _, _) in shared.items()}
    call.__doc__ = _unwrapped(function.__doc__ or "") + "".join(
        f"\n    {key}: {says}" for key, (_, _, says) in shared.items()
    )
    return call


def _expanded(value: Any) -> Any:
    """The value with '~' expanded in all paths; quoted, or after '=', a shell leaves it as it is."""
    from surefoot.files import path_of

    if isinstance(value, Path):
        return path_of(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_expanded, value))
    if isinstance(value, dict):
        return {key: _expanded(item) for key, item in value.items()}
    return value


def _unwrapped(docstring: str) -> str:
    """A docstring with one line for each argument: tyro keeps line breaks, and wraps to the terminal."""
    return re.sub(r"\n {8,}(?=\S)", " ", inspect.cleandoc(docstring))


def _refuse(sentence: str) -> int:
    line = one_line(sentence)
    line = (
        line
        if len(line) <= LONGEST_SENTENCE
        else f"{line[: LONGEST_SENTENCE // 2]} [...] {line[-LONGEST_SENTENCE // 2 :]}"
    )
    print(f"surefoot: {line}", file=sys.stderr)
    return 2


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
            print(
                f"surefoot: unknown verb {' '.join(arguments[:2])!r}{nearest(' '.join(arguments[:2]), group)}",
                file=sys.stderr,
            )
            return None, []
        print(_help(group))
        return None, ["--help"] if asked else []
    print(
        f"surefoot: unknown verb {arguments[0]!r}{nearest(arguments[0], VERBS)}; 'surefoot --help' lists them",
        file=sys.stderr,
    )
    return None, []


def _help(verbs: dict[str, Verb] | None = None) -> str:
    verbs = verbs or VERBS
    width = max(map(len, verbs))
    lines = "\n".join(f"  {name:<{width}}  {verb.line}" for name, verb in verbs.items())
    return (
        f"Surefoot {__version__}: make a legged robot's simulator agree with the robot.\n\nusage: surefoot VERB"
        f" ...\n\n{lines}\n\n'surefoot VERB --help' shows the options of a verb."
    )
