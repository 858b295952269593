"""A robot as a table."""

import io
import math
import re
from pathlib import Path

import pytest
from rich.console import Console
from support.robot_files import ALL, tiny
from support.worlds import changed_go2

from surefoot.robot import Robot, load_robot
from surefoot.robot.table import describe, number


class TestShapes:
    def test_static_shapes_are_told(self, go2, tmp_path):
        box = (
            '<geom type="box" size="9 9 .1" pos="0 0 -.1"/><geom type="box" size="1 1 1" contype="0"'
            ' conaffinity="0"/></worldbody>'
        )
        robot = changed_go2(go2, tmp_path / "r", ("</worldbody>", box))
        assert (go2.static_geoms, robot.static_geoms) == (0, 1)
        console = Console(width=200)
        with console.capture() as captured:
            console.print(describe(robot))
        assert "the model brings 1 static shape of its own" in captured.get()


def printed(robot: Robot, width: int) -> str:
    file = io.StringIO()
    Console(width=width, file=file).print(describe(robot))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_table_holds_everything_at_any_width(folder: Path, width: int) -> None:
    robot = load_robot(folder)
    text = printed(robot, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    contract = robot.contract
    for i, joint in enumerate(contract.joints):
        expected = (
            contract.pose_rad[i],
            contract.kp_nm_per_rad[i],
            contract.kd_nms_per_rad[i],
            contract.torque_limit_nm[i],
            contract.velocity_limit_rad_s[i],
            *contract.position_limit_rad[i],
            contract.action_scale_rad[i],
        )
        assert [float(cell) for cell in rows[joint]] == list(expected)
    flat = " ".join(text.split())
    for part in (
        robot.hash,
        contract.hash,
        robot.base,
        *robot.feet,
        f"{robot.substeps()} substeps",
        f"{contract.observation_size} numbers",
        *(term.name for term in contract.observation),
    ):
        assert part in flat


def test_table_names_passive_joints_and_what_is_not_given(tmp_path: Path) -> None:
    text = printed(load_robot(tiny(tmp_path)), 100)
    assert re.search(r"passive +shoulder", text)
    assert re.search(r"symmetry +none given", text)
    assert re.search(r"IMU +none given", text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (-1.8, "-1.8"),
        (0.1 + 0.2, "~0.3"),
        (math.pi, "~3.14159"),
        (1e-7, "1e-07"),
        (1234567.0, "~1.23457e+06"),
        (0.0, "0"),
    ],
)
def test_rounded_numbers_are_marked(value: float, text: str) -> None:
    assert number(value) == text
