"""The page of a log: small and whole, whatever was recorded."""

import dataclasses
import re
import time

import numpy as np
import pytest
from support.pages import HOSTILE, checked

from surefoot.errors import LogError
from surefoot.report.log_page import log_page
from surefoot.report.traces import joint_targets, liveliest

LARGEST_PAGE = 3_000_000  # bytes, of a 10-minute log at 500 Hz


class TestLogPage:
    def test_of_each_robot(self, log, robot) -> None:
        page = log_page(log, robot, f"A walk of {robot.name}")
        outline = checked(page)
        assert outline.headings.count("h2") >= 5
        for joint in log.joints:
            assert (
                page.count(f">{joint}") >= 2 + 3 * 2
            )  # traces of position and velocity; three distributions, wide and narrow
        assert f"A walk of {robot.name}" in page
        assert robot.hash in page
        assert len(page) < 500_000

    def test_without_a_robot_actions_are_shown_as_they_are(self, log) -> None:
        page = log_page(log, None, "t")
        checked(page)
        assert "<h3>Actions</h3>" in page
        assert "target" not in page
        assert "default pose" not in page

    def test_targets_follow_the_contract_by_name(self, log, robot) -> None:
        contract = robot.contract
        order = np.random.default_rng(0).permutation(contract.n_joints)
        shuffled = dataclasses.replace(
            log,
            joints=tuple(log.joints[i] for i in order),
            action=log.action[:, order].copy(),
            joint_position_rad=log.joint_position_rad[:, order],
        )
        shuffled.action[0, 0] = 1e9
        targets = joint_targets(shuffled, robot)
        expected = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * log.action
        np.testing.assert_allclose(targets[1:], expected[1:, order])
        first = order[0]
        assert targets[0, 0] == pytest.approx(
            contract.pose_rad[first] + contract.action_scale_rad[first] * contract.action_clip
        )

    def test_joints_that_the_robot_lacks(self, log, robot) -> None:
        one_known = dataclasses.replace(log, joints=(log.joints[0], *(f"other{i}" for i in range(1, len(log.joints)))))
        checked(log_page(one_known, robot, "t"))
        with pytest.raises(LogError, match=f"none of {robot.name}'s"):
            log_page(dataclasses.replace(log, joints=tuple(f"other{i}" for i in range(len(log.joints)))), robot, "t")

    def test_chosen_episodes(self, log, robot) -> None:
        page = log_page(log, robot, "t", episodes=[0, 2])
        assert "<h2>Episode 0</h2>" in page
        assert "<h2>Episode 2</h2>" in page
        assert "<h2>Episode 1</h2>" not in page
        with pytest.raises(LogError, match="no episode 77"):
            log_page(log, robot, "t", episodes=[77])

    def test_the_liveliest_seconds_are_shown(self, log) -> None:
        rows = log.episodes()[0]
        still = np.zeros_like(log.joint_velocity_rad_s)
        still[rows.start + 55 : rows.start + 70] = 3.0
        part = liveliest(dataclasses.replace(log, joint_velocity_rad_s=still), rows, 0.5)
        assert part.start <= rows.start + 55
        assert part.stop >= rows.start + 70
        assert part.stop - part.start == pytest.approx(25, abs=1)

    def test_everything_recorded_and_everything_broken(self, log, robot) -> None:
        n, joints = log.joint_position_rad.shape
        rng = np.random.default_rng(0)
        full = dataclasses.replace(
            log,
            torque_nm=rng.normal(0, 5, (n, joints)),
            motor_temperature_c=rng.uniform(30, 60, (n, joints)),
            battery_v=np.linspace(29, 27, n)[:, None],
            quaternion=np.tile([1.0, 0, 0, 0], (n, 1)),
            foot_contact=np.ones((n, 4)),
        )
        page = log_page(full, robot, "t")
        checked(page)
        for heading in ("Torque against speed", "hottest motor", "battery"):
            assert heading in page
        broken = dataclasses.replace(
            full,
            joints=(HOSTILE, *full.joints[1:]),
            metadata={
                "robot": HOSTILE,
                "control_hz": HOSTILE,
                "fallen_episodes": HOSTILE,
                HOSTILE: {"source": HOSTILE},
            },
            **{
                name: np.full_like(getattr(full, name), np.nan)
                for name in ("command", "joint_velocity_rad_s", "action", "torque_nm", "gravity", "battery_v")
            },
        )
        broken = dataclasses.replace(broken, joint_position_rad=np.full_like(log.joint_position_rad, np.inf))
        checked(log_page(broken, robot, HOSTILE))

    @pytest.mark.parametrize("times", ["nan", "constant", "backward", "one row each"])
    def test_clocks_that_are_wrong(self, log, robot, times) -> None:
        time_s = {
            "nan": np.full_like(log.time_s, np.nan),
            "constant": np.zeros_like(log.time_s),
            "backward": log.time_s[::-1].copy(),
            "one row each": log.time_s,
        }[times]
        episode = np.arange(len(time_s), dtype=np.int32) if times == "one row each" else log.episode
        checked(log_page(dataclasses.replace(log, time_s=time_s, episode=episode), robot, "t"))

    def test_missing_values_are_counted(self, log, robot) -> None:
        position = log.joint_position_rad.copy()
        position[3, 1] = np.nan
        position[4, 1] = np.inf
        tile = re.search(
            r'<li class="tile bad"><span class="name">Missing values</span><span class="value">(\d+)<',
            log_page(dataclasses.replace(log, joint_position_rad=position), robot, "t"),
        )
        assert tile.group(1) == "2"

    def test_ten_minutes_at_500_hz_stay_small_and_quick(self, log, robot) -> None:
        n = 300_000
        rng = np.random.default_rng(0)
        pick = np.arange(n) % len(log.time_s)

        def long(values: np.ndarray) -> np.ndarray:
            return values[pick] + rng.normal(0, 0.01, (n, values.shape[1]))

        names = ("command", "joint_position_rad", "joint_velocity_rad_s", "action", "gyro_rad_s", "gravity")
        whole = dataclasses.replace(
            log,
            episode=np.zeros(n, np.int32),
            time_s=np.arange(n) / 500,
            torque_nm=long(log.action),
            **{name: long(getattr(log, name)) for name in names},
        )
        began = time.perf_counter()
        page = log_page(whole, robot, "t")
        took = time.perf_counter() - began
        checked(page)
        assert len(page.encode()) < LARGEST_PAGE
        assert took < 60  # a few seconds where nothing else runs
