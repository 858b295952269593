"""`surefoot fit --rehearse`: what it says, and what it refuses."""

import json

import pytest

LITTLE = ("--rehearse", "--rollouts", "6", "--seconds", "2", "--settle-s", "0.2", "--threads", "1")
HELD = ("--fix", "armature_kgm2=0.01", "viscous_friction_nms=0.1", "delay_s=0", "--tie", "all")


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
            (("--per-joint", "--family", "static"), "per_joint is about the missing torque"),
            (("--torque-noise-nm", "1"), "for --rehearse"),
            (("--free", "motor_strength", "--fix", "motor_strength=0.9"), "both free and fixed"),
            (("--policy", "replay", "--search", "cma"), "leave the search at 'quantile' (option --search)"),
        ],
    )
    def test_options_that_would_do_nothing(self, surefoot, here, arguments, says) -> None:
        code, _, error = surefoot("fit", "log.parquet", *arguments, "--out", "f")
        assert code == 2
        assert says in error
