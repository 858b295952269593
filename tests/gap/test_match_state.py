"""match-s as a cost: scores that add up, however the segments are simulated, and searches that minimize them."""

import dataclasses
import json
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.policy_files import layers
from support.walks import whole_case

from surefoot.adapt import make_knobs
from surefoot.adapt.search_space import SearchSpace
from surefoot.errors import FitError, GapError
from surefoot.fit import run as fit_run
from surefoot.fit.cma import CmaSettings
from surefoot.fit.family import FitSettings
from surefoot.fit.problem import Problem
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit
from surefoot.gap import Case, Simulator, make_cost, robot_side, schedule_of
from surefoot.gap import match_state as module
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.match_state import HORIZONS, Matched, MatchState, match_state
from surefoot.gap.schedule import Schedule
from surefoot.journal import Journal
from surefoot.logs import RobotLog, read_log, record, write_log
from surefoot.policy.export_mlp import write_mlp
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds

SETTLE_S = 0.2
ONE = np.zeros((1, 0))  # the simulator as it is
ARMATURE_KGM2 = {"go2": 0.06, "hexapod": 0.02}  # several times the robot's own


@dataclasses.dataclass(frozen=True)
class Walk:
    """A log with the base's state, of a robot whose joints are all heavier than its simulator's."""

    robot: Robot
    log: RobotLog
    case: Case

    @property
    def schedule(self) -> Schedule:
        return self.case.schedule

    def match(self, horizon: int, log: RobotLog | None = None, threads: int = 1) -> MatchState:
        case = self.case if log is None else Case(self.robot, self.case.driver, log, schedule=self.schedule)
        return MatchState(case, horizon, threads=threads)

    def knob(self) -> SearchSpace:
        return SearchSpace(Physics(self.robot), make_knobs(self.robot, ("armature_kgm2",), "all"))


@pytest.fixture(scope="module")
def walk(robot, tmp_path_factory) -> Walk:
    """Of any robot: a made-up policy, which sways, and sees what it does."""
    path = tmp_path_factory.mktemp("policy") / "sways.onnx"
    write_mlp(path, robot.contract, [(0.4 * w, b) for w, b in layers(robot.contract, (8,), seed=2)], "tanh")
    log = record(
        Twin("heavy", Physics(robot, {"armature_kgm2": ARMATURE_KGM2[robot.name]})),
        str(path),
        rollouts=4,
        seconds=1.6,
        seed=3,
        threads=1,
        base=True,
    )
    return Walk(robot, log, Case(robot, path, log, schedule=schedule_of(log, robot, settle_s=SETTLE_S)))


class TestScores:
    @pytest.mark.parametrize("horizon", HORIZONS.values())
    def test_lowest_at_the_truth(self, walk, horizon):
        family = walk.knob()
        truth = family.knobs[0].coordinate(ARMATURE_KGM2[walk.robot.name])
        found = walk.match(horizon)(family, np.linspace(0.0, 2 * truth, 5)[:, None], seed=1)
        assert np.argmin(found.cost) == 2
        assert found.cost[2] < 0.2 * found.cost[0]

    def test_a_delay_is_seen_within_one_tick(self, walk):
        """What was on its way to the motors is part of where a segment starts."""
        late, policy = Twin("late", Physics(walk.robot, {"delay_s": 0.01})), walk.case.policy.name
        log = record(late, policy, rollouts=4, seconds=1.6, seed=3, threads=1, base=True)
        family = SearchSpace(Physics(walk.robot), make_knobs(walk.robot, ("delay_s",), "all"))
        coordinates = np.array([[family.knobs[0].coordinate(delay_s)] for delay_s in (0.0, 0.005, 0.01, 0.015)])
        found = walk.match(1, log)(family, coordinates, seed=1)
        assert np.argmin(found.cost) == 2
        assert found.cost[2] < 0.5 * found.cost[0]

    @pytest.mark.parametrize("horizon", [1, 0])
    def test_pieces_add_up(self, walk, horizon):
        match = walk.match(horizon)
        parts = [np.array([0, 2]), np.array([1, 3])]
        whole, *some = (match(None, ONE, 1, pieces).cost[0] for pieces in (None, *parts))
        assert whole**2 == pytest.approx(np.mean(np.square(some)))  # alike in length
        assert abs(some[0] - some[1]) > 1e-3 * whole
        assert match.seconds() == pytest.approx(sum(match.seconds(pieces) for pieces in parts))

    def test_how_many_worlds_run_at_once_does_not_matter(self, walk, monkeypatch):
        family, candidates = walk.knob(), np.array([[0.0], [1.0], [2.0]])
        made: list[int] = []
        init = Worlds.__init__
        monkeypatch.setattr(
            Worlds, "__init__", lambda self, robot, n, **rest: made.append(n) or init(self, robot, n, **rest)
        )
        at_once = walk.match(1)(family, candidates, 1)
        assert len(made) == 1
        monkeypatch.setattr(module, "MOST_WORLDS", 100)  # the last turn is not full
        in_turns = walk.match(1)(family, candidates, 1)
        assert len(made) == 2
        assert made[1] <= 100 < made[0]
        np.testing.assert_allclose(in_turns.cost, at_once.cost, rtol=1e-12)
        assert np.array_equal(in_turns.fallen, at_once.fallen)

    def test_threads_change_no_bit(self, walk):
        noisy = Physics(walk.robot, {"torque_noise_nm": 0.5})
        one, two = (walk.match(20, threads=threads)(noisy, ONE, 4) for threads in (1, 2))
        assert np.array_equal(one.cost, two.cost)

    def test_noise_is_shared_by_candidates_and_new_with_the_seed(self, walk):
        match, noisy = walk.match(1), Physics(walk.robot, {"torque_noise_nm": 0.5})
        same = match(noisy, np.zeros((2, 0)), 4).cost
        assert same[0] == same[1]
        assert match(noisy, ONE, 5).cost[0] != same[0]

    def test_small_turns_in_single_precision(self, walk):
        """As a file keeps them: the angle between nearly equal orientations must not drown in rounding."""
        rng = np.random.default_rng(1)
        one = rng.normal(size=(500, 4))
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        axis = rng.normal(size=(500, 3))
        turn = np.column_stack(
            [np.full(500, np.cos(0.5e-3)), np.sin(0.5e-3) * axis / np.linalg.norm(axis, axis=1, keepdims=True)]
        )  # 1 mrad
        w, x, y, z = turn.T
        left = np.stack([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]]).transpose(2, 0, 1)
        other = np.einsum("nij,nj->ni", left, one)
        np.testing.assert_allclose(module._angle(one, other), 1e-3, rtol=1e-9)
        np.testing.assert_allclose(module._angle(one, -other), 1e-3, rtol=1e-9)
        rounded = dataclasses.replace(walk.log, quaternion=walk.log.quaternion.astype(np.float32))
        assert walk.match(1, rounded)(None, ONE, 1).cost[0] == pytest.approx(
            walk.match(1)(None, ONE, 1).cost[0], rel=1e-4
        )

    def test_a_short_last_piece(self, walk):
        schedule = walk.schedule
        last = schedule.rows[-1]
        cut = slice(last.start, last.start + 30)
        log = dataclasses.replace(
            walk.log, **{name: getattr(walk.log, name)[: cut.stop] for name in columns_of(walk.log)}
        )
        shorter = dataclasses.replace(schedule, rows=(*schedule.rows[:-1], cut))
        match = MatchState(Case(walk.robot, walk.case.driver, log, schedule=shorter), 0, threads=1)
        assert np.isfinite(match(None, ONE, 1).cost).all()
        assert match.seconds() == pytest.approx(walk.match(0).seconds())  # it runs along


class TestFalls:
    def test_a_robot_that_drops_where_the_log_did_not(self, walk):
        """One that rolls over, with its mass beside its feet; within a tick nothing can fall."""
        lopsided = Physics(walk.robot, {"base_com_offset_m": [0.0, 0.5, 0.0]})
        assert walk.match(0)(lopsided, ONE, 1).fallen[0] == 1.0
        assert walk.match(0)(None, ONE, 1).fallen[0] == 0.0
        assert walk.match(1)(lopsided, ONE, 1).fallen[0] == 0.0

    def test_worlds_that_become_unstable(self, walk):
        wild = Physics(walk.robot, {"torque_noise_nm": 400.0})
        assert walk.match(1)(wild, ONE, 1).fallen[0] > 0.01


class TestWhatIsNotKnown:
    def test_rows_that_motion_capture_lost_are_left_out(self, walk):
        position = walk.log.base_position_m.astype(float).copy()
        first = walk.schedule.rows[0]
        position[first.start + 20 : first.start + 30] = np.nan
        holed = dataclasses.replace(walk.log, base_position_m=position)
        full, less = walk.match(1), walk.match(1, holed)
        assert less.seconds() == pytest.approx(
            full.seconds() - 11 * walk.schedule.dt_s
        )  # into each of ten rows, and out of the last
        assert less(None, ONE, 1).cost[0] == pytest.approx(full(None, ONE, 1).cost[0], rel=0.1)
        assert walk.match(0, holed).seconds() == pytest.approx(0.75 * walk.match(0).seconds())

    def test_nothing_left_is_refused(self, walk):
        blind = dataclasses.replace(walk.log, base_velocity=np.full_like(walk.log.base_velocity, np.nan))
        with pytest.raises(GapError, match="no piece of the log is long enough"):
            walk.match(1, blind)
        with pytest.raises(GapError, match="no piece of the log is long enough"):
            walk.match(10_000)

    def test_it_does_not_score_samples(self, walk):
        with pytest.raises(GapError, match="match-s-1 runs simulations of its own"):
            make_cost("match-s-1", robot_side(walk.case, PUBLISHED))


class TestProblem:
    @staticmethod
    def problem(walk: Walk, cost: str) -> Problem:
        return Problem(walk.case, walk.knob(), 1, cost=cost)

    def test_the_cost_alone_is_that_of_match_s(self, walk, monkeypatch):
        monkeypatch.setattr(Simulator, "run", refuse)
        candidates, pieces = np.array([[0.0], [1.0]]), np.array([0, 3])
        answer = self.problem(walk, "match-s-20").evaluate(candidates, 7, pieces, residuals=False)
        expected: Matched = walk.match(20)(walk.knob(), candidates, 7, pieces)
        assert np.array_equal(answer.cost, expected.cost)
        assert answer.residuals.shape == (2, 0)
        assert answer.influence_function is None

    def test_residuals_alone_are_those_of_rollouts(self, walk, monkeypatch):
        candidates = np.array([[0.0], [1.0]])
        usual = self.problem(walk, "wasserstein").evaluate(candidates, 7, influence_function=True)
        monkeypatch.setattr(MatchState, "__call__", refuse)
        answer = self.problem(walk, "match-s-1").evaluate(candidates, 7, influence_function=True)
        assert np.array_equal(answer.residuals, usual.residuals)
        assert np.array_equal(answer.influence_function, usual.influence_function)
        assert np.isnan(answer.cost).all()

    @pytest.mark.parametrize("cost", ["wasserstein", "match-o", "mmd"])
    def test_other_costs_are_the_same_without_residuals(self, walk, cost):
        problem, candidates = self.problem(walk, cost), np.array([[0.0], [1.0]])
        full, bare = (problem.evaluate(candidates, 7, residuals=wanted) for wanted in (True, False))
        assert np.array_equal(full.cost, bare.cost)
        assert full.residuals.shape[1] > bare.residuals.shape[1] == 0

    @pytest.mark.parametrize(
        ("cost", "residuals"), [("match-s-1", False), ("match-s-20", False), ("match-s", False), ("match-s", True)]
    )
    def test_simulated_seconds_are_counted_truthfully(self, walk, monkeypatch, cost, residuals):
        stepped: list[float] = []
        step = Worlds.step
        monkeypatch.setattr(
            Worlds, "step", lambda self, action: stepped.append(self.n * self.control_dt_s) or step(self, action)
        )
        problem = self.problem(walk, cost)
        for pieces in (None, np.array([1, 2])):
            problem.evaluate(np.array([[0.0], [1.0]]), 7, pieces, residuals=residuals)
        assert problem.effort.simulated_s == pytest.approx(sum(stepped))
        assert problem.effort.evaluations == 4
        recalled = self.problem(walk, cost)
        for pieces in (None, np.array([1, 2])):
            recalled.count(2, pieces, residuals=residuals)
        assert recalled.effort.simulated_s == problem.effort.simulated_s


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "says"),
        [
            ({"cost": "match-s-1"}, "to minimize match-s-1, give the search 'cma'"),
            ({"most_simulated_s": 0.0}, "most_simulated_s is 0"),
            ({"most_simulated_s": float("nan")}, "most_simulated_s is nan"),
        ],
    )
    def test_what_cannot_be_searched_is_refused(self, settings, says):
        with pytest.raises(FitError, match=says):
            FitSettings(**settings)

    def test_a_cost_that_there_is_not(self):
        with pytest.raises(GapError, match=r"unknown cost 'match-s-2'.*match-s-20"):
            FitSettings(search="cma", cost="match-s-2")


# Fits, on a robot that walks.

CALVES = "armature_kgm2[*_calf_joint]"
HEAVY_KGM2 = 0.04


@pytest.fixture(scope="module")
def heavy(go2) -> RobotLog:
    parameters = {"armature_kgm2": {"*_calf_joint": HEAVY_KGM2}}
    return record(
        Twin("heavy", Physics(go2, parameters)), "walk", rollouts=4, seconds=2.0, seed=3, threads=1, base=True
    )


def make_fit(robot: Robot, log: RobotLog, journal: Journal | None = None, **settings: Any) -> Fit:
    usual: dict[str, Any] = {
        "free": (CALVES,),
        "tie": "all",
        "held_out": 0.0,
        "search": "cma",
        "cost": "match-s-1",
        "cma": CmaSettings(population=4),
    }
    asked = FitSettings(**(usual | settings))
    return Fit(whole_case(robot, log, SETTLE_S), asked, journal, threads=1)


def off(result: FitResult) -> tuple[float, float]:
    """How far the armature is from the truth before and after, as logarithms of the factor."""
    (knob,) = result.adaptation.knobs
    return abs(np.log(knob.start / HEAVY_KGM2)), abs(np.log(knob.value / HEAVY_KGM2))


@pytest.fixture
def measured_twice(monkeypatch) -> None:
    """Gaps from two runs instead of six, which nothing here looks at closely."""
    monkeypatch.setattr(fit_run, "measure", partial(fit_run.measure, runs=2))


@pytest.mark.usefixtures("measured_twice")
class TestFit:
    @pytest.mark.parametrize("cost", ["match-s-1", "match-s-20"])
    def test_brings_the_armature_near_to_the_truth(self, go2, heavy, cost):
        result = make_fit(go2, heavy, cost=cost, most_simulated_s=180.0).run()
        before, after = off(result)
        assert after < 0.3 * before
        assert result.steps[-1].cost < 0.5 * result.steps[0].cost
        assert (result.search, result.cost) == ("cma", cost)
        (knob,) = result.adaptation.knobs
        assert knob.interval[0] < knob.value < knob.interval[1]  # from rollouts, at its answer
        assert result.after.gap.total < result.before.gap.total

    def test_only_intervals_and_the_first_look_are_rollouts(self, go2, heavy, monkeypatch):
        asked: list[tuple[str, int]] = []
        run, match = Simulator.run, MatchState.__call__
        monkeypatch.setattr(
            "surefoot.fit.problem.Simulator.run",
            lambda self, change, *rest: asked.append(("rollouts", len(rest[0]))) or run(self, change, *rest),
        )
        monkeypatch.setattr(
            MatchState, "__call__", lambda self, *rest: asked.append(("match-s", len(rest[1]))) or match(self, *rest)
        )
        fit = make_fit(go2, heavy, most_evaluations=8)
        fit._measure = lambda *_: pytest.fail("not asked for")  # type: ignore[method-assign]
        fit._drop_silent()
        fit._search()
        assert [name for name, _ in asked] == ["rollouts", "match-s", "match-s"]

    @pytest.mark.parametrize(
        ("settings", "largest_s"),
        [
            ({"cost": "match-s-1"}, 5 * 8.0),
            ({"cost": "mmd"}, 5 * 8.0),
            ({"search": "quantile", "cost": "wasserstein"}, 4 * 8.0),
        ],
    )
    def test_simulated_time_ends_any_search(self, go2, heavy, settings, largest_s):
        budget_s = 60.0
        fit = make_fit(go2, heavy, most_simulated_s=budget_s, **settings)
        search, stopped = fit._search()
        used_s = fit.problem.effort.simulated_s
        assert stopped == f"stopped after {used_s:,.0f} simulated s, before it settled"
        assert budget_s <= used_s < budget_s + largest_s
        assert search.iteration > 0

    def test_separable(self, go2, heavy):
        fit = make_fit(go2, heavy, free=("armature_kgm2",), tie="type", search="sep-cma", most_evaluations=1)
        search: Any = fit._search()[0]
        assert type(search._cma).__name__ == "SepCMA"
        plain: Any = make_fit(go2, heavy, free=("armature_kgm2",), tie="type", most_evaluations=1)._search()[0]
        assert type(plain._cma).__name__ == "CMA"

    def test_stopped_and_continued_it_ends_in_the_same_numbers(self, go2, heavy, tmp_path, monkeypatch):
        def run() -> FitResult:
            return make_fit(go2, heavy, Journal(tmp_path / "journal", {}), most_evaluations=7).run()

        whole = run()
        files = sorted((tmp_path / "journal").glob("*.npz"))
        files[1].unlink()  # the population
        asked, evaluate = [], Problem.evaluate
        monkeypatch.setattr(
            Problem, "evaluate", lambda self, *rest, **given: asked.append(given) or evaluate(self, *rest, **given)
        )
        again = run()
        assert asked == [{"residuals": False, "influence_function": False}]  # what was not known, and nothing after it
        assert again.adaptation == whole.adaptation
        assert [dataclasses.replace(step, wall_s=0.0) for step in again.steps] == [
            dataclasses.replace(s, wall_s=0.0) for s in whole.steps
        ]


class TestCommand:
    FIT = (
        "fit",
        "log.parquet",
        "--out",
        "fit",
        "--settle-s",
        str(SETTLE_S),
        "--threads",
        "1",
        "--family",
        "static",
        "--held-out",
        "0",
        "--tie",
        "all",
        "--fix",
        "dry_friction_nm=0.2",
        "viscous_friction_nms=0",
        "torque_noise_nm=0",
        "delay_s=0",
    )

    @pytest.mark.usefixtures("measured_twice")
    def test_a_whole_fit(self, surefoot, here, go2):
        log = record(
            Twin("heavy", Physics(go2, {"armature_kgm2": HEAVY_KGM2})),
            "walk",
            rollouts=4,
            seconds=2.0,
            seed=3,
            threads=1,
            base=True,
        )
        write_log(log, here / "log.parquet")
        options = ("--search", "cma", "--cost", "match-s-1", "--most-simulated-s", "60")
        code, out, error = surefoot(*self.FIT, *options)
        assert (code, error) == (0, "")
        figures = json.loads((here / "fit" / "fit.json").read_text())
        assert (figures["search"], figures["cost"], figures["provenance"]["most_simulated_s"]) == (
            "cma",
            "match-s-1",
            60.0,
        )
        assert "--search cma --cost match-s-1" in figures["provenance"]["command"]
        assert "--most-simulated-s 60.0" in figures["provenance"]["command"]
        assert re.search(r"stopped after \d\d simulated s", out)
        code, _, error = surefoot(*self.FIT, *options[:-1], "70")
        assert code == 2
        assert "other settings (most_simulated_s)" in error

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (
                ("--search", "cma", "--cost", "match-s-1"),
                ("does not hold quaternion, base_position_m, base_velocity", "with its base", "option --cost"),
            ),
            (("--cost", "match-s-20"), ("to minimize match-s-20, give the search 'cma' (option --search)",)),
            (("--most-simulated-s", "-1"), ("most_simulated_s is -1", "above 0 s")),
            (("--search", "cma", "--cost", "match-s", "--rehearse"), ("match-s needs the base's state", "--cost")),
        ],
    )
    def test_refusals(self, surefoot, here, heavy, arguments, says):
        write_log(
            dataclasses.replace(heavy, quaternion=None, base_position_m=None, base_velocity=None), here / "log.parquet"
        )
        code, _, error = surefoot(*self.FIT, *arguments)
        assert code == 2
        assert re.fullmatch(r"surefoot: [^\n]+\n", error)
        assert all(part in error for part in says)
        assert not (here / "fit").exists()

    def test_a_clock_is_refused_at_once(self, surefoot, here, heavy):
        write_log(heavy, here / "log.parquet")
        code, _, error = surefoot(*self.FIT, "--policy", "trot", "--search", "cma", "--cost", "match-s-1")
        assert code == 2
        assert "trot cannot: it takes a policy" in error
        assert not (here / "fit").exists()


def refuse(*_: object, **__: Any) -> None:
    raise AssertionError("simulated what was not asked for")


def columns_of(log: RobotLog) -> tuple[str, ...]:
    """Names of what has a value for each row."""
    return tuple(
        field.name
        for field in dataclasses.fields(log)
        if isinstance(getattr(log, field.name), np.ndarray) and field.name != "joints"
    )


class TestMatchState:
    """match-s, on logs that say where the base was."""

    @pytest.fixture(scope="class")
    @staticmethod
    def setting(go2):
        logs = {
            name: record(Twin("t", Physics(go2, parameters)), "walk", rollouts=3, seconds=2.5, seed=2, base=True)
            for name, parameters in (("nominal", {}), ("heavy", {"base_mass_kg": 12.0}))
        }
        return {name: whole_case(go2, log) for name, log in logs.items()}

    @pytest.mark.parametrize("horizon", [1, 20, 0])
    def test_the_true_simulator_repeats_what_was_recorded(self, go2, setting, horizon):
        right, wrong = (match_state(setting[name], horizon)[0] for name in ("nominal", "heavy"))
        assert right < (
            0.05 if horizon else 0.5
        )  # contacts are not quite what they were: the solver's warm start is not in the state
        assert wrong > 2 * right

    def test_candidates_are_scored_by_themselves(self, go2, setting):
        family = SearchSpace(Physics(go2), make_knobs(go2, ("base_mass_kg",)))
        coordinates = np.array([[0.0], [family.knobs[0].coordinate(12.0)]])
        costs = match_state(setting["heavy"], 20, family, coordinates)
        assert costs[1] < 0.5 * costs[0]

    def test_a_joint_log_is_refused_with_the_reason(self, go2, setting):
        bare = dataclasses.replace(setting["nominal"].log, base_position_m=None)
        with pytest.raises(GapError, match=r"does not hold base_position_m.*wasserstein"):
            match_state(whole_case(go2, bare), 1)

    def test_a_clock_cannot_start_in_the_middle(self, go2, setting):
        case = setting["nominal"]
        with pytest.raises(GapError, match="takes a policy"):
            match_state(Case(go2, "trot", case.log, schedule=case.schedule), 1)

    def test_the_base_comes_back_from_a_file(self, setting, tmp_path):
        log = setting["nominal"].log
        write_log(log, tmp_path / "log.parquet")
        again = read_log(tmp_path / "log.parquet")
        np.testing.assert_allclose(again.base_position_m, log.base_position_m, atol=1e-5)
        np.testing.assert_allclose(again.base_velocity, log.base_velocity, atol=1e-5)
