"""`surefoot VERB ...`: finds the verb, lets tyro read its arguments, and turns mistakes into one sentence."""

import importlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from surefoot import __version__
from surefoot.errors import SurefootError, nearest, shown


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
    "train": Verb("surefoot.cli.train", "train_policy", "train a walking policy, or a task of your own"),
    "finetune": Verb("surefoot.cli.finetune", "finetune_policy", "go on training a policy in the simulator that a fit found"),
    "evaluate": Verb("surefoot.cli.evaluate", "evaluate_policy", "measure tracking, drift, falls and energy of a policy"),
    "verdict": Verb(
        "surefoot.cli.verdict", "judge_policy", "tell whether a fine-tuned policy may go onto the robot: GO or NO-GO, with reasons"
    ),
    "play": Verb("surefoot.cli.play", "play", "render a video of a policy walking, with command and measured velocity drawn in"),
    "record": Verb("surefoot.cli.record", "record_log", "record the log that a virtual robot would write"),
    "log import": Verb("surefoot.cli.log", "import_log", "turn CSV, NPZ, MCAP, ROS 2 bags or LeRobot folders into one log"),
    "log show": Verb("surefoot.cli.log", "show", "summarize a log: episodes, rate, ranges, where it comes from"),
    "log plot": Verb("surefoot.cli.log_plot", "plot", "write a page to look at a log: traces, distributions, commands"),
    "doctor": Verb("surefoot.cli.doctor", "doctor", "find what is wrong with a log, why it matters and how to fix it"),
    "gap": Verb("surefoot.cli.gap", "measure_gap", "measure how far a simulator is from a log: where, beside which floor, and why"),
    "fit": Verb("surefoot.cli.fit", "fit", "find the parameters with which the simulator moves as the robot did, with intervals"),
    "loop": Verb("surefoot.cli.loop", "loop", "do the whole loop on your logs: doctor, gap, fit, fine-tune, verdict, one report"),
    "adapt show": Verb("surefoot.cli.adapt", "show", "print what a fit changed: was, is, interval, flag"),
    "adapt export": Verb("surefoot.cli.adapt", "export", "write an adaptation for MuJoCo, NumPy, ONNX, mjlab, Isaac Lab or training"),
}


def main() -> None:
    """Entry point of the `surefoot` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without '·', or a file name that is not UTF-8
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
        return _refuse(str(mistake))
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
    import tyro

    verb = VERBS[name]
    function: Callable[..., int | None] = getattr(importlib.import_module(verb.module), verb.function)
    return tyro.cli(function, prog=f"surefoot {name}", args=rest) or 0


def _refuse(sentence: str) -> int:
    print(f"surefoot: {sentence}", file=sys.stderr)
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
