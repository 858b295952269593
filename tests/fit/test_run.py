"""A whole fit: what is held back, what is free, what is dropped, and that planted values are found. Small
logs, few knobs.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fits import SETTLE_S, make_fit, value_of, walked
from support.walks import whole_case

from surefoot.errors import FitError
from surefoot.fit import run as fit_run
from surefoot.fit.family import FitSettings, make_space
from surefoot.fit.problem import Problem
from surefoot.fit.quantile import QuantileSettings
from surefoot.fit.result import FitResult
from surefoot.fit.run import FitProgress, split
from surefoot.gap.schedule import Schedule
from surefoot.journal import Journal
from surefoot.logs import RobotLog

PLANTED: dict[str, dict[str, Any]] = {
    "go2": {"dry_friction_nm": 0.6, "delay_s": 0.01},
    "hexapod": {"dry_friction_nm": 0.2, "delay_s": 0.01},
}


@pytest.fixture(scope="module")
def log(robot) -> RobotLog:
    return walked(robot, **PLANTED[robot.name])


@pytest.fixture(scope="module")
def go2_log(go2) -> RobotLog:
    return walked(go2, **PLANTED["go2"])


@pytest.fixture(scope="module")
def sprung(go2) -> RobotLog:
    return walked(go2, spring_stiffness_nm_per_rad={"*_calf_joint": 15.0}, spring_rest_rad={"*_calf_joint": -1.8})


def schedule_from(episodes: list[int]) -> Schedule:
    n = len(episodes)
    rows = tuple(slice(10 * i, 10 * i + 10) for i in range(n))
    return Schedule(np.zeros((n, 10, 3)), np.zeros((n, 12)), np.ones((n, 10), bool), rows, np.array(episodes), 0.02)


class TestSplit:
    def test_whole_episodes_are_held_back(self):
        episodes = [e for e in range(10) for _ in range(3)]
        fitted, held = split(schedule_from(episodes), 0.2, seed=1)
        assert held is not None
        assert len(np.unique(held.episode)) == 2
        assert held.n == 6
        assert not set(held.episode) & set(fitted.episode)
        assert sorted([*fitted.rows, *held.rows], key=lambda rows: rows.start) == list(schedule_from(episodes).rows)

    @pytest.mark.parametrize("episodes", [[0] * 10, [0] * 4 + [1] * 6, [0, 0, 1, 1, 2, 2, 3, 3, 3, 3]])
    def test_of_few_long_walks_other_parts(self, episodes):
        fitted, held = split(schedule_from(episodes), 0.2, seed=1)
        assert held is not None
        assert (fitted.n, held.n) == (8, 2)
        assert not {rows.start for rows in held.rows} & {rows.start for rows in fitted.rows}

    @pytest.mark.parametrize(("episodes", "share"), [(list(range(3)), 0.2), (list(range(10)), 0.0), ([0, 0], 0.5)])
    def test_too_little_holds_nothing_back(self, episodes, share):
        schedule = schedule_from(episodes)
        fitted, held = split(schedule, share, seed=1)
        assert fitted is schedule
        assert held is None

    def test_of_a_few_episodes_two(self):
        fitted, held = split(schedule_from(list(range(6))), 0.2, seed=1)
        assert held is not None
        assert (fitted.n, held.n) == (4, 2)

    def test_the_seed_decides_which(self):
        schedule = schedule_from(list(range(30)))
        chosen = [tuple(split(schedule, 0.2, seed)[1].episode) for seed in (1, 1, 2)]
        assert chosen[0] == chosen[1] != chosen[2]


class TestGivingUp:
    """A spring that dry friction cannot stand for."""

    STALLS = QuantileSettings(
        levels=((1.0, 1.0),), improve=0.0, settled=0.0, polish_runs=2, polish_rounds=1, most_iterations=3
    )

    @pytest.mark.parametrize(
        ("give_up", "says", "iterations"), [(0.5, "given up after 1 iterations", 1), (1e6, "not settled", 4)]
    )
    def test_a_search_that_comes_no_nearer_ends_where_much_is_left(self, go2, sprung, give_up, says, iterations):
        result = make_fit(go2, sprung, quantile=self.STALLS, give_up=give_up).run()
        assert says in result.stopped
        assert len(result.steps) == iterations
        assert result.held_after is not None

    def test_a_search_that_gains_goes_on(self, go2, sprung):
        gains = dataclasses.replace(self.STALLS, improve=1e9)
        result = make_fit(go2, sprung, quantile=gains, give_up=0.0).run()
        assert "given up" not in result.stopped


class TestRecovers:
    def test_planted_friction_and_delay(self, robot, log):
        seen: list[FitProgress] = []
        result = make_fit(robot, log, ("dry_friction_nm", "delay_s"), progress=seen.append).run()
        for name, truth in PLANTED[robot.name].items():
            knob = next(knob for knob in result.adaptation.knobs if knob.name == name)
            low, high = knob.interval
            assert low <= knob.value <= high
            assert low - 0.05 * truth < truth < high + 0.05 * truth
            assert high - low < truth  # an interval that says something
            assert knob.flag == ""
            np.testing.assert_allclose(result.adaptation.settings[name], knob.value)
        assert result.before.gap.measurable
        assert result.after.gap.total < 0.6 * result.before.gap.total
        assert result.steps[-1].evaluations > result.steps[0].evaluations
        assert [step.iteration for step in result.steps] == list(range(1, len(result.steps) + 1))
        assert result.adaptation.robot_hash == robot.hash
        assert {progress.stage for progress in seen} >= {
            "measuring the gap",
            "searching",
            "polishing",
            "measuring what is left",
        }
        last = [progress for progress in seen if progress.evaluations][-1]
        assert last.moved[0][0] in PLANTED[robot.name]
        assert last.gap < last.start_gap
        plain = json.loads(
            json.dumps({**dataclasses.asdict(result.adaptation), "steps": [vars(step) for step in result.steps]})
        )  # no numpy in it
        assert plain["robot"] == robot.name


class TestNothingToDo:
    def test_a_log_of_the_simulator_itself_changes_nothing(self, robot):
        result = make_fit(robot, walked(robot), ("dry_friction_nm", "armature_kgm2")).run()
        assert result.stopped.startswith("no measurable gap")
        assert "nothing was changed" in result.stopped
        assert result.adaptation.settings == {}
        assert result.steps == ()
        assert result.after is result.before
        for knob in result.adaptation.knobs:
            assert knob.value == knob.start
            assert knob.interval == knob.bounds

    def test_what_was_fixed_stays_in_the_settings(self, go2):
        result = make_fit(
            go2, walked(go2, dry_friction_nm=0.6), ("dry_friction_nm", "delay_s"), fix={"dry_friction_nm": 0.6}
        ).run()
        assert result.stopped.startswith("no measurable gap")
        assert list(result.adaptation.settings) == ["dry_friction_nm"]
        np.testing.assert_allclose(result.adaptation.settings["dry_friction_nm"], 0.6)


class TestKnobsWithoutEffect:
    @pytest.fixture
    def priors(self, go2, tmp_path) -> Path:
        """A torque limit that no step of any search reaches."""
        (tmp_path / "priors.yaml").write_text(
            "torque_limit_nm: {start: 450, low: 400, high: 500, step: 1.05, log: true}"
        )
        return tmp_path / "priors.yaml"

    def test_are_named_and_dropped(self, go2, go2_log, priors):
        result = make_fit(
            go2, go2_log, ("torque_limit_nm", "dry_friction_nm"), priors=priors, most_evaluations=12
        ).run()
        assert "no effect on the simulated walk, so not fitted: torque_limit_nm" in result.remarks
        friction, limit = result.adaptation.knobs
        assert (friction.name, friction.flag) == ("dry_friction_nm", "")
        own = np.mean(go2.contract.torque_limit_nm)  # what the simulator keeps, not where the search would have begun
        assert (limit.name, limit.flag, limit.value) == ("torque_limit_nm", "no effect", pytest.approx(own))
        assert "torque_limit_nm" not in result.adaptation.settings
        assert result.correlation.shape == (2, 2)
        assert not result.correlation[1].any()
        assert "before it settled" in result.stopped

    def test_nothing_else_is_refused(self, go2, go2_log, priors):
        with pytest.raises(FitError, match="no parameter that is free changes"):
            make_fit(go2, go2_log, ("torque_limit_nm",), priors=priors).run()


class TestEffort:
    def test_a_search_that_may_hardly_begin_still_answers(self, go2, go2_log):
        result = make_fit(go2, go2_log, most_evaluations=1).run()
        assert "before it settled" in result.stopped
        assert np.isfinite(value_of(result, "dry_friction_nm"))

    def test_threads_change_no_bit(self, robot, log):
        """Else a run could not be continued with another number of them."""
        case = whole_case(robot, log, SETTLE_S)
        family = make_space(robot, FitSettings(free=("dry_friction_nm", "torque_noise_nm"), tie="all"))
        one, two = (
            Problem(case, family, threads).evaluate(
                np.array([[0.0, 0.0], [0.5, 1.0]]), 5, np.array([0, 2, 3]), influence_function=True
            )
            for threads in (1, 2)
        )
        for name in ("residuals", "cost", "fallen", "influence_function"):
            assert np.array_equal(getattr(one, name), getattr(two, name))

    def test_cma_counts_its_evaluations_and_has_intervals_too(self, go2, go2_log):
        fit = make_fit(go2, go2_log, search="cma", most_evaluations=20)
        result = fit.run()
        assert result.search == "cma"
        knob = result.adaptation.knobs[0]
        assert knob.interval[0] < knob.value < knob.interval[1]
        assert "before it settled" in result.stopped
        assert fit.problem.effort.evaluations < 40


class TestContinues:
    @pytest.fixture
    def asked(self, monkeypatch) -> list[object]:
        """What the simulator is asked for, while it answers."""
        given, evaluate = [], Problem.evaluate
        monkeypatch.setattr(
            Problem,
            "evaluate",
            lambda self, *asked, **options: given.append(asked) or evaluate(self, *asked, **options),
        )
        return given

    def test_told_again_it_simulates_only_what_is_not_known_and_ends_the_same(self, go2, go2_log, tmp_path, asked):
        def run() -> tuple[FitResult, str]:
            seen: list[FitProgress] = []
            asked.clear()
            result = make_fit(
                go2, go2_log, journal=Journal(tmp_path / "journal", {}), progress=seen.append, most_evaluations=14
            ).run()
            return result, repr(seen)

        (made, shown), n = run(), len(asked)
        assert n == len(list((tmp_path / "journal").glob("*.npz"))) > 3
        (again, shown_again), n = run(), len(asked)
        assert n == 0
        assert again.adaptation == made.adaptation
        assert again.steps == made.steps  # the wall-clock too: it is that of all starts together
        assert shown_again == shown
        (tmp_path / "journal" / "0002.npz").write_bytes(b"damaged")
        (mended, _), n = run(), len(asked)
        assert n == 1  # the answers after it are to the same questions
        assert mended.adaptation == made.adaptation


class TestFalls:
    def test_a_fitted_simulator_that_falls_where_the_robot_did_not_is_told(self, go2, go2_log, monkeypatch):
        measure = fit_run.measure

        def falling(*arguments: Any, **options: Any) -> object:
            found = measure(*arguments, **options)
            fallen = 0.4 if options["physics"].parameters else 0.0  # after the fit
            return dataclasses.replace(found, gap=dataclasses.replace(found.gap, fallen=fallen))

        monkeypatch.setattr(fit_run, "measure", falling)
        result = make_fit(go2, go2_log, most_evaluations=12).run()
        assert any(
            "falls in 40% of the episodes" in remark and "do not trust it" in remark for remark in result.remarks
        )
