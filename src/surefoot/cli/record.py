"""`surefoot record`."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.progress import StageBar
from surefoot.console import Console, say
from surefoot.files import file_hash
from surefoot.pipeline.record import RecordOptions, claim_record, run_record
from surefoot.report.text import show_result
from surefoot.sim.twin import load_twin


def record_log(
    twin: str,
    out: Path,
    policy: str = "trot",
    options: Annotated[RecordOptions, tyro.conf.arg(name="")] = RecordOptions(),  # noqa: B008
) -> None:
    """Record the log that a virtual robot would write, under random velocity commands.

    The log holds time, command, joint position and velocity, action, gyro and gravity, as a real robot's would;
    the base's position and velocity stay hidden without --base. The same seed gives the same bytes.

    Args:
        twin: a shipped virtual robot (go2-identified, go2-spring, go2-worn, go2-slippery) or the path of a YAML file
        out: the Parquet file to write
        policy: path of an ONNX policy, the name of one that ships with the robot, or zero, random, trot, step
    """
    claim_record(out)
    console = Console()
    with StageBar(console) as bar:
        log = run_record(
            load_twin(twin),
            policy,
            options,
            out=out,
            progress=lambda done, total: bar.show("recording", done, total),
        )
    show_result(log, console)
    say(console, f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB, sha256 {file_hash(out)[:12]})")
