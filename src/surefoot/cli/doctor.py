"""`surefoot doctor`."""

import json
from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.plain import say_plain
from surefoot.cli.words import way_out
from surefoot.console import Console, say
from surefoot.errors import PolicyError, nearest
from surefoot.files import check_place, path_of, write_text
from surefoot.logs.doctor import NEEDED_S, check_log
from surefoot.logs.robot_log import read_log
from surefoot.logs.time_unit import in_seconds
from surefoot.policy import OnnxPolicy
from surefoot.policy.agents import BUILT_IN, with_policy_posture
from surefoot.report.text import show_result
from surefoot.robot import Robot, load_robot

# Findings that an option mends, and of which verb, where it is another: the findings themselves name none.
MENDED_BY: dict[str, tuple[str, str | None]] = {
    "joint-names": ("robot", None),
    "other-contract": ("robot", None),
    "other-gains": ("robot", None),
    "posture": ("policy", None),
    "rate-said": ("robot", None),
    "time-unit": ("time_unit", "log import"),
}


def doctor(
    log: Annotated[Path, tyro.conf.Positional],
    robot: str = "go2",
    policy: str | None = None,
    needed_s: float = NEEDED_S,
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False,
    html: Path | None = None,
) -> int:
    """Find what is wrong with a log: clock, joints, signs, units, actions, falls, coverage. Worst first.

    Each finding says which joint and when, why it matters and how to fix it. The exit code is 0 for a usable log, 1
    with warnings, 2 for a log that cannot be used.

    Args:
        log: the Parquet file that `surefoot record` or `surefoot log import` wrote
        robot: a shipped robot or the path of a robot.yaml
        policy: path of the ONNX policy that the robot ran, or the name of one that ships with the robot:
            checks that it made these actions
        needed_s: how much usable time a fit should have, s
        as_json: print the diagnosis as JSON instead
        html: also write a page with plots
    """
    if html is not None:
        check_place(html, (".html", ".htm"), argument="html")
    described = load_robot(robot)
    content = read_log(log)
    loaded = None if policy is None else _policy(policy, described)
    described = described if loaded is None else with_policy_posture(described, loaded)
    report = check_log(content, described, loaded, needed_s=needed_s)
    if as_json:
        say_plain(json.dumps(report.to_dict(), indent=1))
    else:
        show_result(report, Console())
        for code in dict.fromkeys(finding.code for finding in report.findings if finding.code in MENDED_BY):
            say(Console(), f"to fix {code}: {way_out(*MENDED_BY[code]).strip(' ()')}")
    if html is not None:
        from surefoot.report.doctor_page import doctor_page

        content = in_seconds(content, described.contract.control_dt_s)  # as the doctor looked at it
        write_text(html, doctor_page(report, content, described, f"{log.name} on {described.name}"))
        if not as_json:
            say(Console(), f"wrote {html}")
    return report.exit_code


def _policy(name: str, robot: Robot) -> OnnxPolicy:
    """A policy by path, or by the name of one that ships with the robot."""
    shipped = {file.stem: file for file in sorted((robot.path.parent / "policies").glob("*.onnx"))}
    if name in BUILT_IN:
        raise PolicyError(
            f"{name!r} is built in and cannot be checked against a log; leave --policy out, or give an .onnx file"
        )
    path = shipped.get(name, path_of(name))
    if not path.exists() and path.suffix != ".onnx":
        raise PolicyError(
            f"no policy {name!r}{nearest(name, shipped) if shipped else ''}; give the path of an .onnx file"
        )
    return OnnxPolicy.load(path)
