"""Rehearsals: what is planted, with which noise, and what is found of it."""

import numpy as np
import pytest

from surefoot.fit.family import FitSettings, make_space
from surefoot.fit.rehearse import Rehearsal, commands_to_rehearse, plant, rehearse, relative_errors
from surefoot.policy.driver import make_driver
from surefoot.robot import load_robot

FEW = FitSettings(free=("dry_friction_nm", "delay_s"), tie="all", held_out=0.0)


class TestPlant:
    def test_never_on_a_bound_and_noise_as_given(self, robot) -> None:
        family = make_space(robot, FitSettings())
        low, high = family.bounds
        for seed in range(20):
            coordinates = plant(family, {"torque_noise_nm": 2.5}, np.random.default_rng(seed))
            assert ((coordinates > low) & (coordinates < high)).all()
            assert family.values(coordinates)[0][-1] == pytest.approx(2.5)

    def test_commands_fill_the_schedule(self, robot) -> None:
        schedule = commands_to_rehearse(robot, 5, 2.0, seed=1)
        assert schedule.command.shape == (5, round(2.0 * robot.contract.control_hz), 3)
        assert np.abs(schedule.command).max() > 0
        assert not np.array_equal(schedule.command, commands_to_rehearse(robot, 5, 2.0, seed=2).command)


@pytest.fixture(scope="module")
def found() -> Rehearsal:
    go2 = load_robot("go2")
    schedule = commands_to_rehearse(go2, 6, 2.0, seed=3, settle_s=0.2)
    noise = {"torque_noise_nm": 0.5, "encoder_noise_rad": 0.002}
    return rehearse(make_driver("walk", go2), schedule, FEW, noise, seed=1, threads=1, settle_s=0.2)


class TestRehearse:
    def test_finds_about_what_was_planted(self, found) -> None:
        assert {knob.name for knob in found.estimates} == {"dry_friction_nm", "delay_s"}
        for knob in found.estimates:
            half = (knob.interval[1] - knob.interval[0]) / 2
            assert abs(knob.value - found.planted[knob.name]) < 4 * half
        assert set(relative_errors(found)) == {"dry_friction_nm", "delay_s"}

    def test_noise_that_is_no_knob_is_there(self, found, go2) -> None:
        """Standing still, the planted robot's encoders shake."""
        schedule = commands_to_rehearse(go2, 6, 2.0, seed=3, settle_s=0.2)
        quiet = rehearse(make_driver("walk", go2), schedule, FEW, {}, seed=1, threads=1, settle_s=0.2)
        rough = [np.abs(np.diff(one.result.before.robot.samples[:, 0], n=3)).mean() for one in (found, quiet)]
        assert rough[0] > 1.05 * rough[1]
