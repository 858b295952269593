"""Rehearsals: what is planted, with which noise, and what the command says and refuses."""

import json

import numpy as np
import pytest

from surefoot.fit.family import FitSettings, make_space
from surefoot.fit.rehearse import Rehearsal, commands_to_rehearse, plant, rehearse, relative_errors
from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot

FEW = FitSettings(free=("dry_friction_nm", "delay_s"), tie="all", held_out=0.0)
LITTLE = ("--rehearse", "--rollouts", "6", "--seconds", "2", "--settle-s", "0.2", "--threads", "1")
HELD = ("--fix", "armature_kgm2=0.01", "viscous_friction_nms=0.1", "delay_s=0", "--tie", "all")


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
    return rehearse(schedule, go2, lambda n: make_agent("walk", go2, n), FEW, noise, seed=1, threads=1, settle_s=0.2)


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
        quiet = rehearse(schedule, go2, lambda n: make_agent("walk", go2, n), FEW, {}, seed=1, threads=1, settle_s=0.2)
        rough = [np.abs(np.diff(one.result.before.robot.samples[:, 0], n=3)).mean() for one in (found, quiet)]
        assert rough[0] > 1.05 * rough[1]


class TestCommand:
    def test_without_a_log(self, surefoot, here) -> None:
        code, out, error = surefoot("fit", *LITTLE, *HELD, "--torque-noise-nm", "0.5", "--policy", "walk", "--out", "r")
        assert (code, error) == (0, "")
        assert "a log like this would give" in out
        assert "intervals hold what was planted" in out
        content = json.loads((here / "r" / "rehearsal.json").read_text())
        assert {knob["parameter"] for knob in content["knobs"]} == {"dry_friction_nm", "torque_noise_nm"}
        assert content["provenance"]["noise"] == {"torque_noise_nm": 0.5}
        assert "<h1" in (here / "r" / "rehearsal.html").read_text()

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ((), "needs --policy"),
            (("--policy", "replay"), "give the log"),
            (("--policy", "walk", "--seconds", "inf"), "cannot be rehearsed"),
            (("--policy", "walk", "--rollouts", "0"), "cannot be rehearsed"),
            (("--policy", "walk", "--torque-noise-nm", "99"), "from 0 to"),
            (("--policy", "walk", "--torque-noise-nm", "1", "--fix", "torque_noise_nm=1"), "not both"),
            (("--policy", "walk", "--family", "residual"), "leave --family"),
        ],
    )
    def test_refused(self, surefoot, here, arguments, says) -> None:
        code, _, error = surefoot("fit", *LITTLE, *arguments, "--out", "r")
        assert code == 2
        assert error.count("\n") == 1
        assert says in error
        assert not list(here.iterdir())

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--per-joint", "--family", "static"), "--per-joint"),
            (("--torque-noise-nm", "1"), "for --rehearse"),
            (("--free", "motor_strength", "--fix", "motor_strength=0.9"), "both free and fixed"),
            (("--policy", "replay", "--search", "cma"), "leave --search out"),
        ],
    )
    def test_options_that_would_do_nothing(self, surefoot, here, arguments, says) -> None:
        code, _, error = surefoot("fit", "log.parquet", *arguments, "--out", "f")
        assert code == 2
        assert says in error
