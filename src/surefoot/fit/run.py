"""A whole fit: hold episodes back, see that every knob does something, search, polish, and say how far the
answer may be off.

Every answer that the search gets goes through the journal, so that the same call continues after a kill and ends in the
same numbers. The gaps before and after are measured again: they take as long as a few answers, and their samples would
fill the journal with many times its size.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.adapt import Adaptation, CurvedSpace, Knob, Knot, SearchSpace, with_curves
from surefoot.adapt.curves import groups_of, limit_of
from surefoot.errors import FitError
from surefoot.fit.answers import keep_answer, recall_answer
from surefoot.fit.distill import distill
from surefoot.fit.estimates import estimates, knots_of, own_values, traces_of
from surefoot.fit.family import WORDS, FitSettings, make_space
from surefoot.fit.intervals import Uncertainty
from surefoot.fit.problem import Answer, Problem
from surefoot.fit.quantile import Ask, QuantileSearch
from surefoot.fit.result import FitResult, SearchIteration
from surefoot.fit.search import Search, make_search
from surefoot.gap import measure
from surefoot.gap.case import Case
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.measure import Measured, robot_side
from surefoot.gap.schedule import Schedule
from surefoot.journal import Journal
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import INPUTS
from surefoot.streams import Stream

PROBE_PIECES = 4
FEW_EPISODES = 5  # with fewer, parts of them stand for episodes
FEWEST_HELD = 2  # pieces: a floor needs the robot against itself
FEWEST_PIECES = 4  # of a design
MEAN_DEVIATION = 0.8  # of a normal distribution, in standard deviations
FALLING = 0.1  # share of pieces that fall in the simulator and not on the robot, which is worth a word


@dataclass(frozen=True)
class FitProgress:
    """Where a fit stands, for the screen."""

    stage: str
    iteration: int = 0
    gap: float = float("nan")
    start_gap: float = float("nan")
    floor: float = float("nan")  # what chance alone would leave, as far as is known
    evaluations: int = 0
    simulated_s: float = 0.0
    wall_s: float = 0.0
    remaining_s: float = float("nan")
    moved: tuple[tuple[str, float, float, str], ...] = ()  # knob, start, value, unit; what moved most first


def split(schedule: Schedule, share: float, seed: int) -> tuple[Schedule, Schedule | None]:
    """Pieces to fit, and pieces of other episodes to hold back; of one long walk, other parts of it."""
    episodes = np.unique(schedule.episode)
    group = schedule.episode if len(episodes) >= FEW_EPISODES else np.arange(schedule.n)
    groups = np.random.default_rng([seed, Stream.HELD_OUT]).permutation(np.unique(group))
    held = np.isin(group, groups[: max(FEWEST_HELD, round(share * len(groups))) if share > 0 else 0])
    if held.sum() < FEWEST_HELD or (~held).sum() < FEWEST_HELD:
        return schedule, None
    return schedule.pick(np.flatnonzero(~held)), schedule.pick(np.flatnonzero(held))


class MatchesByFalling(FitError):
    """The best that a family found falls where the robot did not; a richer one may do better."""


class Fit:
    """One fit; `run` does it all."""

    def __init__(
        self,
        case: Case,
        settings: FitSettings,
        journal: Journal | None,
        *,
        threads: int = 0,
        progress: Callable[[FitProgress], None] | None = None,
        start: Mapping[str, float] | None = None,
        base: Mapping[str, Any] | None = None,
        before: tuple[Measured, Measured | None] | None = None,
    ):
        """`start` gives values to begin the search at, by the names of knobs; `base` what candidates have
        beside them; `before` the gaps before the fit, fitted and held out, where another family has measured them.
        """
        self.robot, self.settings, self.threads = case.robot, settings, threads
        self.fitted, held = split(case.schedule, settings.held_out, settings.seed)
        self.case, self.held_case = case.on(self.fitted), None if held is None else case.on(held)
        robot = case.robot
        space: SearchSpace = make_space(robot, settings)
        self._own = space.base  # as it was before the fit
        self._base = dict(base or {})
        self.space = replace(space, base=replace(space.base, parameters={**space.base.parameters, **self._base}))
        if settings.family.adds is not None and settings.family.curved:
            seen = robot_side(self.case, INPUTS).samples.reshape(-1, len(INPUTS), robot.contract.n_joints)
            self._seen: dict[str, np.ndarray] = {name: seen[:, k] for k, name in enumerate(INPUTS)}
            self.space = with_curves(self.space, self._seen, settings.family.adds, per_joint=settings.family.per_joint)
        self.problem = self._problem()
        self.remarks: list[str] = []
        self.steps: list[SearchIteration] = []
        self.wall_s = 0.0
        self._gave_up = False
        self._journal, self._show, self._start_gap, self._start = journal, progress, float("nan"), start or {}
        self._before = before

    def run(self) -> FitResult:
        """Do it."""
        if self.held_case is None and self.settings.held_out > 0:
            self.remarks.append(
                "the log is too short to hold episodes back: nothing says how the fit does on commands that it has not"
                " seen"
            )
        before, held_before = self._before or (
            self._measure(self._own, "measuring the gap"),
            self._measure_held(self._own),
        )
        self._start_gap = before.gap.total
        if not before.gap.measurable and not self.problem.aligned:
            stopped = (
                f"no measurable gap: {before.gap.total:.4f} against a floor of {before.gap.total_floor:.4f}; nothing"
                " was changed"
            )
            n = len(self.space.knobs)
            unknown = Uncertainty(np.full(n, np.inf), np.full(n, np.inf), np.eye(n), np.zeros(n))
            return self._result(np.zeros(n), unknown, (before, before), (held_before, held_before), stopped, self._own)
        silent = self._drop_silent()
        search, stopped = self._search()
        at, sure = search.at, self._uncertainty(search)
        physics = self._settle(at)
        after = self._measure(physics, "measuring what is left")
        held_after = self._measure_held(physics)
        if after.gap.fallen > self.settings.most_falling:
            raise MatchesByFalling(
                f"the best simulator found falls in {after.gap.fallen:.0%} of the episodes and the robot did not: it"
                " matches by falling, and is refused; free fewer parameters, or tighten their bounds in the priors",
                argument="priors",
            )
        if after.gap.fallen > FALLING + before.gap.fallen:
            self.remarks.append(
                f"the fitted simulator falls in {after.gap.fallen:.0%} of the episodes and the robot did not: it may"
                " match by falling; do not trust it for training"
            )
        return self._result(at, sure, (before, after), (held_before, held_after), stopped, physics, silent=silent)

    # Stages

    def _problem(self) -> Problem:
        settings = self.settings
        return Problem(
            self.case,
            self.space,
            self.threads,
            cost=settings.cost,
            kinds=settings.kinds,
        )

    def _drop_silent(self) -> tuple[Knob, ...]:
        """Move each knob by itself; those that change nothing at all are taken out of the search."""
        low, high = self.space.bounds
        start = np.clip(np.zeros(len(low)), low, high)
        moved = np.where(start + 1.0 <= high, start + 1.0, np.maximum(start - 1.0, low))
        candidates = np.vstack([start, start + np.diag(moved - start)])
        pieces = None if self.problem.aligned or self.fitted.n <= PROBE_PIECES else np.arange(PROBE_PIECES)
        answer = self._answer(Ask("look", candidates, self.settings.seed), pieces)
        if self.problem.aligned or self.settings.cost != "wasserstein":
            self._start_gap = float(answer.cost[0])  # of match-s not known before the search asks for it
        silent = (answer.residuals[1:] == answer.residuals[0]).all(axis=1)
        # A simulator that lacks what a curve is for may not even come where the robot was: knots stay.
        silent &= [not isinstance(knob, Knot) for knob in self.space.knobs]
        if silent.all():
            raise FitError("no parameter that is free changes what the robot does in the simulator; free others")
        dropped = tuple(knob for knob, quiet in zip(self.space.knobs, silent, strict=True) if quiet)
        if dropped:
            self.remarks.append(
                f"no effect on the simulated walk, so not fitted: {', '.join(knob.name for knob in dropped)}"
            )
            self.space = self.space.without(dropped)
            effort = self.problem.effort
            self.problem = self._problem()
            self.problem.effort = effort
        return dropped

    def _search(self) -> tuple[Search, str]:
        """The finished search, and why it ended."""
        low, high = self.space.bounds
        search = make_search(self.settings, low, high, self._kinds(), self._begin())
        while (stopped := search.done or self._spent()) is None:
            before = search.iteration
            self._advance(search)
            if search.iteration > before:
                self._note(search)
                if stopped := self._hopeless(search):
                    self._gave_up = True
                    break
        if self.steps:  # what was asked for after the last iteration was spent as well
            effort = self.problem.effort
            self.steps[-1] = replace(
                self.steps[-1], evaluations=effort.evaluations, simulated_s=effort.simulated_s, wall_s=self.wall_s
            )
        return search, stopped

    def _spent(self) -> str | None:
        """Why nothing more may be searched; None while it may."""
        effort, settings = self.problem.effort, self.settings
        if effort.evaluations >= settings.most_evaluations:
            return f"stopped after {effort.evaluations} evaluations, before it settled"
        if settings.most_simulated_s is not None and effort.simulated_s >= settings.most_simulated_s:
            return f"stopped after {effort.simulated_s:,.0f} simulated s, before it settled"
        return None

    def _hopeless(self, search: Search) -> str:
        """Why to leave the rest to a richer family, as it comes no nearer and is far from episodes that it
        has not seen; empty else.
        """
        factor = self.settings.give_up
        if factor is None or self.held_case is None or not isinstance(search, QuantileSearch) or not search.stalled:
            return ""
        left = self._measure_held(self.space.at(search.at))
        assert left is not None
        if left.gap.total <= factor * left.gap.total_limit:
            return ""
        return (
            f"given up after {search.iteration} iterations: it came no nearer, with {left.gap.total:.3f} left on"
            " held-out episodes"
        )

    def _advance(self, search: Search) -> None:
        ask = search.ask()
        pieces = self._pick(ask)
        answer = self._answer(ask, pieces)
        search.tell(
            ask, answer.residuals, answer.cost, answer.fallen, self._by_episode(answer.influence_function, pieces)
        )
        self._tell(search)

    def _uncertainty(self, search: Search) -> Uncertainty:
        """Of the answer; where the search has no slopes of its own, they are taken there."""
        low, high = self.space.bounds
        if not (isinstance(search, QuantileSearch) and search.learned):
            looked = QuantileSearch(low, high, self._kinds(), self.settings.seed, self.settings.quantile, search.at)
            looked.level = len(self.settings.quantile.levels) - 1
            while not looked.designed:
                self._advance(looked)
            return looked.uncertainty()
        return search.uncertainty()

    def _settle(self, at: np.ndarray) -> Physics:
        """The answer as a physics; curves become a network."""
        if not isinstance(self.space, CurvedSpace):
            return self.space.at(at)
        return replace(self.space.static_part.at(at[self.space.is_static]), network=self._network(self.space, at))

    def _network(self, space: CurvedSpace, at: np.ndarray) -> Network:
        """One that says what the curves say."""
        if self._show is not None:
            self._show(
                FitProgress("teaching the network", gap=self._start_gap, start_gap=self._start_gap, wall_s=self.wall_s)
            )
        groups = []
        for joints in groups_of(self.robot, self.settings.family.per_joint).values():
            seen = np.stack([self._seen[name][:, list(joints)].ravel() for name in INPUTS], axis=1)
            limit = limit_of(self.robot, joints, space.adds)
            layers, _ = distill(
                space.curve_of(at, joints[0]), seen[np.isfinite(seen).all(axis=1)], limit, self.settings.seed
            )
            groups.append(JointGroup(tuple(self.robot.contract.joints[k] for k in joints), layers, limit))
        return Network(space.adds, tuple(groups))

    def _measure(self, physics: Physics, stage: str, case: Case | None = None) -> Measured:
        if self._show is not None:
            self._show(FitProgress(stage, gap=self._start_gap, start_gap=self._start_gap, wall_s=self.wall_s))
        return measure(
            case or self.case,
            physics=physics,
            seed=self.settings.seed + 7,
            threads=self.threads,
            may_fall=physics is not self._own or case is not None,
        )

    def _measure_held(self, physics: Physics) -> Measured | None:
        return (
            None
            if self.held_case is None
            else self._measure(physics, "measuring on episodes that were held back", self.held_case)
        )

    # Asking

    def _pick(self, ask: Ask) -> np.ndarray | None:
        """Pieces for a share of them, others for every question."""
        n = self.fitted.n
        count = n if self.problem.aligned else min(n, max(FEWEST_PIECES, round(ask.share * n)))
        return None if count == n else np.sort(np.random.default_rng([ask.seed, Stream.PIECES]).permutation(n)[:count])

    def _answer(self, ask: Ask, pieces: np.ndarray | None) -> Answer:
        """From the journal where it is known, else from the simulator."""
        residuals = ask.kind != "population"  # CMA-ES reads the cost and falls alone
        wanted = repr((ask.seed, residuals, ask.influence_function, self._base)).encode()
        question = b"".join((ask.candidates.tobytes(), wanted, b"" if pieces is None else pieces.tobytes()))
        known = None if self._journal is None else recall_answer(self._journal, question)
        if known is not None:
            answer, wall_s = known
            self.problem.count(len(ask.candidates), pieces, residuals=residuals)
        else:
            started = time.perf_counter()
            answer = self.problem.evaluate(
                ask.candidates,
                ask.seed,
                pieces,
                residuals=residuals,
                influence_function=ask.influence_function,
            )
            wall_s = time.perf_counter() - started
            if self._journal is not None:
                keep_answer(self._journal, question, answer, wall_s)
        self.wall_s += wall_s
        return answer

    def _begin(self) -> np.ndarray:
        return np.array([knob.coordinate(self._start.get(knob.name, knob.origin)) for knob in self.space.knobs])

    def _by_episode(self, influence_function: np.ndarray | None, pieces: np.ndarray | None) -> np.ndarray | None:
        """Of whole episodes, where there are enough of them: parts of one walk are not independent."""
        if influence_function is None or len(np.unique(self.fitted.episode)) < FEW_EPISODES:
            return influence_function
        episodes = self.fitted.episode if pieces is None else self.fitted.episode[pieces]
        return np.stack([influence_function[episodes == episode].sum(axis=0) for episode in np.unique(episodes)])

    def _kinds(self) -> np.ndarray:
        return np.array([channel.kind for channel in self.problem.channels])

    # Telling

    def _note(self, search: Search) -> None:
        values = tuple(float(value) for value in self.space.values(search.path[-1])[0])
        effort = self.problem.effort
        self.steps.append(
            SearchIteration(
                search.iteration, search.costs[-1], effort.evaluations, effort.simulated_s, self.wall_s, values
            )
        )

    def _tell(self, search: Search) -> None:
        if self._show is None:
            return
        if np.isnan(self._start_gap) and search.costs:
            self._start_gap = search.costs[0]
        effort, knobs = self.problem.effort, self.space.knobs
        values, moved_by = self.space.values(search.at)[0], np.abs(search.at)
        moved = tuple(
            (knobs[k].name, knobs[k].start, float(values[k]), knobs[k].unit) for k in np.argsort(-moved_by)[:6]
        )
        gap = search.costs[-1] if search.costs else self._start_gap
        floor, stage = float("nan"), "searching"
        most_s = np.inf if self.settings.most_simulated_s is None else self.settings.most_simulated_s
        ahead = (
            min(self.settings.most_evaluations / max(effort.evaluations, 1), most_s / max(effort.simulated_s, 1e-9)) - 1
        )
        remaining = self.wall_s * ahead  # at most
        if isinstance(search, QuantileSearch):
            floor, remaining = self._floor(search), float(np.minimum(remaining, search.remaining(self.wall_s)))
            stage = "polishing" if search.polishing else "searching"
        self._show(
            FitProgress(
                stage,
                search.iteration,
                gap,
                self._start_gap,
                floor,
                effort.evaluations,
                effort.simulated_s,
                self.wall_s,
                remaining,
                moved,
            )
        )

    def _floor(self, search: QuantileSearch) -> float:
        """The gap that chance alone would leave, from the scatter of the published channels."""
        if search.metric is None:
            return float("nan")
        kinds = self._kinds()
        if self.problem.aligned:
            return float("nan")  # open loop: chance leaves nothing
        scatter = search.metric.scatter.reshape(len(kinds), -1)[np.isin(kinds, PUBLISHED)]
        return MEAN_DEVIATION * float(scatter.mean())

    def _result(
        self,
        at: np.ndarray,
        sure: Uncertainty,
        gaps: tuple[Measured, Measured],
        held: tuple[Measured | None, Measured | None],
        stopped: str,
        physics: Physics,
        *,
        silent: tuple[Knob, ...] = (),
    ) -> FitResult:
        family, moved = self.settings.family, physics is not self._own
        static = [k for k, knob in enumerate(self.space.knobs) if not isinstance(knob, Knot)]
        own = own_values(self.robot, (*(self.space.knobs[k] for k in static), *silent))
        fitted = estimates(self.space, at, sure, own, silent, moved=moved)
        knots = knots_of(self.space, at, sure) if moved else ()
        settings = {name: physics.value(name).tolist() for name in physics.parameters}
        adaptation = Adaptation(
            self.robot.name,
            self.robot.hash,
            "static" if family.adds is None else WORDS[family.adds],
            fitted,
            settings,
            physics.network,
        )
        correlation = np.zeros((len(fitted), len(fitted)))
        correlation[: len(static), : len(static)] = sure.correlation[np.ix_(static, static)]
        traces = None
        if self.problem.aligned:
            traces = traces_of(*gaps), None if held[0] is None or held[1] is None else traces_of(held[0], held[1])
        still = tuple(own[knob.name] for knob in silent)
        steps = tuple(replace(step, values=(*(step.values[k] for k in static), *still)) for step in self.steps)
        return FitResult(
            adaptation,
            self.settings.search,
            steps,
            *gaps,
            *held,
            correlation=correlation,
            stopped=stopped,
            traces=traces,
            remarks=tuple(self.remarks),
            cost="position error" if self.problem.aligned else self.settings.cost,
            knots=knots,
            gave_up=self._gave_up,
        )
