"""A schedule: which ticks of a log are walked again, and which of them count."""

import dataclasses

import numpy as np
import pytest

from surefoot.errors import GapError
from surefoot.gap import Case, robot_side, schedule_of
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.schedule import EDGE_S


class TestSchedule:
    def test_episodes_are_pieces_and_settling_is_not_counted(self, robot, log) -> None:
        schedule = schedule_of(log, robot, settle_s=0.4)
        hz = robot.contract.control_hz
        assert schedule.n == 8
        assert list(schedule.episode) == list(range(8))
        settle, edge = round(0.4 * hz), round(EDGE_S * hz)
        assert not schedule.counted[:, :settle].any()
        assert schedule.counted[:, settle + edge : -edge].all()
        ramp = np.r_[schedule.counted[:, settle : settle + edge].mean(), schedule.counted[:, -edge:].mean()]
        assert ((ramp > 0.3) & (ramp < 0.7)).all()  # half of the ticks near the ends count
        np.testing.assert_array_equal(schedule.command[3], log.command[schedule.rows[3]])
        np.testing.assert_array_equal(
            schedule.start_rad[3].astype(np.float32), log.joint_position_rad[schedule.rows[3].start].astype(np.float32)
        )

    def test_a_replay_counts_every_tick_after_settling(self, robot, log) -> None:
        schedule = schedule_of(log, robot, settle_s=0.4, replay=True)
        assert schedule.counted[:, round(0.4 * robot.contract.control_hz) :].all()
        np.testing.assert_array_equal(schedule.replay[3], log.action[schedule.rows[3]])
        np.testing.assert_array_equal(schedule.pick(np.array([3])).replay[0], schedule.replay[3])

    def test_unusable_rows_and_gaps_in_time_split(self, robot, log) -> None:
        rows = log.episodes()
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[rows[0].start + 60] = False
        time_s = log.time_s.copy()
        time_s[rows[1].start + 55 : rows[1].stop] += 0.3
        schedule = schedule_of(dataclasses.replace(log, time_s=time_s), robot, usable)
        pieces = [
            (piece.start - rows[e].start, piece.stop - rows[e].start)
            for e, piece in zip(schedule.episode, schedule.rows, strict=True)
            if e < 2
        ]
        length = rows[0].stop - rows[0].start
        assert pieces == [(0, 60), (61, length), (0, 55), (55, length)]

    def test_short_pieces_are_left_out_and_padding_is_not_counted(self, robot, log) -> None:
        rows = log.episodes()
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[rows[0].start + 30 : rows[0].stop] = False  # 0.6 s: hardly more than settling
        usable[rows[1].start + 70 : rows[1].stop] = False
        schedule = schedule_of(log, robot, usable)
        assert list(schedule.episode) == list(range(1, 8))
        settle = round(0.5 * robot.contract.control_hz)
        assert not schedule.counted[0, 70:].any()
        assert 0.5 * (70 - settle) < schedule.counted[0].sum() <= 70 - settle
        np.testing.assert_array_equal(
            schedule.command[0, 70:], np.tile(log.command[rows[1].start + 69], (schedule.command.shape[1] - 70, 1))
        )
        side = robot_side(Case(robot, "zero", log, schedule=schedule), PUBLISHED)
        assert len(side.samples) == schedule.counted.sum()
        assert (side.piece == 0).sum() == schedule.counted[0].sum()
        first = int(np.argmax(schedule.counted[0]))
        n_joints = robot.contract.n_joints
        np.testing.assert_allclose(side.samples[0, :n_joints], log.joint_position_rad[rows[1].start + first], rtol=1e-6)

    def test_what_is_not_a_number_matters_only_in_usable_rows(self, robot, log) -> None:
        position = log.joint_position_rad.copy()
        position[5, 2] = np.nan
        ill = dataclasses.replace(log, joint_position_rad=position)
        with pytest.raises(GapError, match="joint_position_rad holds values that are not finite"):
            schedule_of(ill, robot)
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[:10] = False
        assert schedule_of(ill, robot, usable).n == 8

    def test_commands_that_were_made_up_are_refused_and_a_late_first_one_is_not(self, robot, log) -> None:
        said = {**log.metadata, "assumed": {"command": "zero for 0.3 s before the first command"}}
        assert schedule_of(dataclasses.replace(log, metadata=said), robot).n == 8
        with pytest.raises(GapError, match="no velocity commands"):
            schedule_of(dataclasses.replace(log, metadata=said, command=np.zeros_like(log.command)), robot)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"settle_s": -1.0}, "settle_s is -1"),
            ({"settle_s": float("nan")}, "settle_s is nan"),
            ({"settle_s": 2.45}, "no episode of the log has"),
            ({"settle_s": 2.0}, "s of the log can be compared"),
        ],
    )
    def test_settling_that_leaves_nothing(self, robot, log, change, says) -> None:
        with pytest.raises(GapError, match=says):
            schedule_of(log, robot, **change)

    def test_one_episode_is_not_enough(self, robot, log) -> None:
        usable = log.episode == 0
        with pytest.raises(GapError, match=r"only one episode.*compared with itself.*record more"):
            schedule_of(log, robot, usable)

    def test_joints_in_another_order_are_refused(self, robot, log) -> None:
        with pytest.raises(GapError, match="another order"):
            schedule_of(dataclasses.replace(log, joints=log.joints[::-1]), robot)

    def test_another_rate_is_refused(self, robot, log) -> None:
        with pytest.raises(GapError, match=r"a row every 4\d ms.*acts every 20 ms"):
            schedule_of(dataclasses.replace(log, time_s=2.2 * log.time_s), robot)

    def test_picked_pieces_keep_their_rows(self, robot, log) -> None:
        schedule = schedule_of(log, robot)
        picked = schedule.pick(np.array([5, 2]))
        assert list(picked.episode) == [5, 2]
        assert picked.rows == (schedule.rows[5], schedule.rows[2])
