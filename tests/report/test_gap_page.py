"""The page of a gap and its figures: the verdict, every joint and cost, the causes, and the next command."""

import dataclasses
import re

import numpy as np
import pytest
from support.diagnoses import FOUND
from support.pages import HOSTILE, checked
from support.walks import walked, whole_case

from surefoot.fit.diagnose import Diagnosis
from surefoot.gap import COSTS, Measured, measure, scores
from surefoot.gap.channels import PUBLISHED
from surefoot.logs import RobotLog
from surefoot.logs.doctor import check_log
from surefoot.report.gap_figures import joint_torques, torque_panels, typical_piece
from surefoot.report.gap_page import gap_page

NOTHING = Diagnosis("no measurable gap: 0.012 against a floor of 0.013", "sure", (), "nowhere", 0, 0.0)


@pytest.fixture(scope="module")
def log(robot) -> RobotLog:
    """A robot whose joints rub more than the simulator's."""
    return walked(robot, dry_friction_nm=0.6, delay_s=0.008)


@pytest.fixture(scope="module")
def measured(robot, log) -> Measured:
    return measure(whole_case(robot, log), threads=1, runs=3)


@pytest.fixture(scope="module")
def page(robot, log, measured) -> str:
    return gap_page(
        measured,
        FOUND,
        check_log(log, robot),
        log,
        robot,
        {"seed": 0, "command": "surefoot gap"},
        HOSTILE,
        scores(measured),
        follow="surefoot evaluate POLICY --twin SIMULATOR",
    )


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


class TestPage:
    def test_it_is_one_whole_file_that_asks_for_nothing(self, page) -> None:
        outline = checked(page)
        assert "<script" not in page
        assert len(page.encode()) < 1_500_000
        assert outline.headings.count("h2") >= 7

    def test_headline_floor_and_verdict(self, page, measured) -> None:
        said = text_of(page)
        assert "a measurable gap" in said
        assert "robot to itself" in said
        assert "simulator to itself" in said
        assert "measurable above" in said
        assert f"worst: {measured.gap.channels[measured.gap.worst[0]].name}" in said

    def test_every_joint_channel_and_cost_is_there(self, page, robot) -> None:
        said = text_of(page)
        for name in (*robot.contract.joints, *PUBLISHED, *COSTS):
            assert name in said

    def test_causes_and_the_next_command(self, page) -> None:
        said = text_of(page)
        assert "<code>surefoot evaluate POLICY --twin SIMULATOR</code>" in page
        assert "physics is missing" in page
        assert "spring[calf]: 0 → 11.7 N·m/rad" in said
        assert "delay_s" not in said  # what did not change is not worth a line
        assert "93 % of the gap; 0.02 × spread remain" in said
        assert "physics is missing" in said

    def test_without_diagnosis_doctor_and_scores(self, robot, log, measured) -> None:
        page = gap_page(measured, None, None, log, robot, {}, "t")
        checked(page)
        assert "No cause was looked for." in page
        assert "By other distances" not in page
        assert "What the doctor says" not in page

    def test_no_gap_reads_as_none(self, robot, log, measured) -> None:
        gap = dataclasses.replace(measured.gap, total=measured.gap.total_floor, distance=measured.gap.floor)
        page = gap_page(dataclasses.replace(measured, gap=gap), NOTHING, None, log, robot, {}, "t")
        checked(page)
        assert "no measurable gap" in page
        assert "a measurable gap" not in page.replace("no measurable gap", "")
        assert page.count('class="h"') >= len(gap.channels)  # every cell is hatched
        assert f"{len(gap.channels)} of {len(gap.channels)} lie within" in page

    def test_the_cost_that_decides_is_in_the_headline(self, robot, log, measured) -> None:
        found = scores(measured)
        within = tuple(dataclasses.replace(score, limit=score.value + 1) for score in found)
        page = gap_page(measured, None, None, log, robot, {}, "t", within, "mmd")
        assert "Gap by mmd" in page
        assert "no measurable gap" in page


class TestFigures:
    def test_the_typical_piece_is_neither_the_best_nor_the_worst(self, robot, log, measured) -> None:
        side = measured.robot
        shifted = side.samples.copy()
        shifted[side.piece == 3] += 50 * side.spread.astype(np.float32)
        assert typical_piece(dataclasses.replace(measured, robot=dataclasses.replace(side, samples=shifted))) != 3
        assert 0 <= typical_piece(measured) < 6

    def test_a_torque_panel_for_each_kind_of_joint_with_its_limits(self, robot, measured) -> None:
        panels = torque_panels(measured, robot)
        assert len(panels) == 3  # both robots have three joints a leg
        assert all('class="k3"' in panel for panel in panels)
        said = " ".join(panels)
        assert ("calf_joint" if robot.name == "go2" else "tibia") in said

    def test_torque_is_the_servo_s_law_with_the_target_before_and_never_across_pieces(
        self, robot, log, measured
    ) -> None:
        contract, schedule = robot.contract, measured.simulator.schedule
        speed, torque = joint_torques(measured, measured.robot.samples, robot)
        follows = schedule.counted[:, 1:] & schedule.counted[:, :-1]
        assert len(torque) == follows.sum()
        row = schedule.rows[0].start + int(np.argmax(follows[0])) + 1  # the first tick whose predecessor counts too
        target = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * log.action[row - 1]
        expected = (
            np.array(contract.kp_nm_per_rad) * (target - log.joint_position_rad[row])
            - np.array(contract.kd_nms_per_rad) * log.joint_velocity_rad_s[row]
        )
        np.testing.assert_allclose(torque[0], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(speed[0], log.joint_velocity_rad_s[row], rtol=1e-5)
