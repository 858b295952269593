"""A whole fit: hold episodes back, see that every knob does something, search, polish, and say how far the answer may be off.

Everything that takes long goes through the journal, so that the same call continues after a kill and ends in the same numbers.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from surefoot.adapt import Adaptation, Fitted, Flag, Knob, Static, make_knobs, read_priors
from surefoot.errors import FitError
from surefoot.fit.advice import flag_of
from surefoot.fit.cma import CmaSearch, CmaSettings
from surefoot.fit.intervals import Uncertainty
from surefoot.fit.journal import Journal
from surefoot.fit.problem import Answer, Problem
from surefoot.fit.quantile import Ask, QuantileSearch, QuantileSettings
from surefoot.fit.result import FitResult, Step, Traces
from surefoot.gap import measure
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.measure import Measured
from surefoot.gap.schedule import Schedule
from surefoot.logs import RobotLog
from surefoot.policy.agents import Agent
from surefoot.robot import Robot
from surefoot.sim.floor import Flat
from surefoot.sim.parameters import PARAMETERS, names_of, nominal, resolve
from surefoot.sim.scene import build_scene

WALKING = ("armature_kgm2", "dry_friction_nm", "viscous_friction_nms", "delay_s", "torque_noise_nm")  # what a walk can tell
STAND = ("armature_kgm2", "dry_friction_nm", "viscous_friction_nms", "delay_s")  # and legs in the air, which nothing shakes
MISSING_TORQUE = ("residual_constant_nm", "residual_position_nm_per_rad", "residual_error_nm_per_rad")  # beyond what friction stands for
PROBE_PIECES = 4
FEW_EPISODES = 5  # with fewer, parts of them stand for episodes
FEWEST_HELD = 2  # pieces: a floor needs the robot against itself
FEWEST_PIECES = 4  # of a design
MEAN_DEVIATION = 0.8  # of a normal distribution, in standard deviations
MOSTLY_FALLING = 0.5
FALLING = 0.1  # share of pieces that fall in the simulator and not on the robot, which is worth a word
SearchName = Literal["quantile", "cma"]
Shared = Literal["none", "type", "joint"]


@dataclass(frozen=True)
class FitSettings:
    """What is searched, and how."""

    free: tuple[str, ...] = WALKING
    fix: dict[str, Any] = field(default_factory=dict)  # parameter -> value, as Worlds.set takes it
    tie: str = "none"
    torque: Shared = (
        "none"  # whether a torque that the model has no part for is searched too: one for each type of joint, or for each joint
    )
    priors: Path | None = None
    search: SearchName = "quantile"
    cost: str = "wasserstein"  # of CMA-ES
    held_out: float = 0.2  # share of the episodes
    seed: int = 0
    most_evaluations: int = 2000
    quantile: QuantileSettings = field(default_factory=QuantileSettings)
    cma: CmaSettings = field(default_factory=CmaSettings)


@dataclass(frozen=True)
class Progress:
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


class Search(Protocol):
    """What a search must be able to do."""

    iteration: int
    path: list[np.ndarray]
    costs: list[float]

    @property
    def at(self) -> np.ndarray:
        """The present estimate, in turns."""
        ...

    @property
    def done(self) -> str | None:
        """Why it ended; None while it goes on."""
        ...

    def ask(self) -> Ask:
        """What to evaluate next."""
        ...

    def tell(self, ask: Ask, residuals: np.ndarray, cost: np.ndarray, fallen: np.ndarray, influence: np.ndarray | None = None) -> None:
        """Take in what was asked for."""
        ...


def make_family(robot: Robot, settings: FitSettings) -> Static:
    """The knobs that are free, without what is fixed."""
    scene = build_scene(robot, Flat(), None, torque_speed=False)
    for name, value in settings.fix.items():
        resolve(name, value, robot, scene, 1, FitError)
    priors = read_priors(settings.priors)
    made = make_knobs(robot, settings.free, settings.tie, priors)
    if settings.torque != "none":
        named = tuple(name for name in MISSING_TORQUE if name not in settings.free)
        made += make_knobs(robot, named, "type" if settings.torque == "type" else "none", priors)
    found = []
    for knob in made:
        held = settings.fix.get(knob.parameter)
        if isinstance(held, dict):  # some joints are held, the others stay free
            names = names_of(knob.parameter, robot, scene.model)
            knob = replace(knob, entries=tuple(k for k in knob.entries if not any(fnmatchcase(names[k], pattern) for pattern in held)))
        if held is None or (isinstance(held, dict) and knob.entries):
            found.append(knob)
    if not found:
        raise FitError("everything is fixed; leave at least one parameter free")
    return Static(robot, tuple(found), dict(settings.fix))


def split(schedule: Schedule, share: float, seed: int) -> tuple[Schedule, Schedule | None]:
    """Pieces to fit, and pieces of other episodes to hold back; of one long walk, other parts of it."""
    episodes = np.unique(schedule.episode)
    group = schedule.episode if len(episodes) >= FEW_EPISODES else np.arange(schedule.n)
    groups = np.random.default_rng([seed, 59]).permutation(np.unique(group))
    held = np.isin(group, groups[: max(FEWEST_HELD, round(share * len(groups))) if share > 0 else 0])
    if held.sum() < FEWEST_HELD or (~held).sum() < FEWEST_HELD:
        return schedule, None
    return schedule.pick(np.flatnonzero(~held)), schedule.pick(np.flatnonzero(held))


class Fit:
    """One fit; `run` does it all."""

    def __init__(
        self, log: RobotLog, schedule: Schedule, robot: Robot, make_agent: Callable[[int], Agent], settings: FitSettings, journal: Journal | None,
        *, threads: int = 0, progress: Callable[[Progress], None] | None = None, start: Mapping[str, float] | None = None,
    ):  # fmt: skip
        """`start` gives values to begin the search at, by the names of knobs."""
        self.log, self.robot, self.make_agent, self.settings, self.threads = log, robot, make_agent, settings, threads
        self.fitted, self.held = split(schedule, settings.held_out, settings.seed)
        self.family = make_family(robot, settings)
        self.problem = Problem(log, robot, make_agent, self.family, self.fitted, threads, cost=settings.cost)
        self.remarks: list[str] = []
        self.steps: list[Step] = []
        self.wall_s = 0.0
        self._journal, self._show, self._start_gap, self._start = journal, progress, float("nan"), start or {}

    def run(self) -> FitResult:
        """Do it."""
        if self.held is None and self.settings.held_out > 0:
            self.remarks.append(
                "the log is too short to hold episodes back: nothing says how the fit does on commands that it has not seen"
            )
        before, held_before = self._measure(None, "measuring the gap"), self._measure_held(None)
        self._start_gap = before.gap.total
        if not before.gap.measurable and not self.problem.aligned:
            stopped = f"no measurable gap: {before.gap.total:.4f} against a floor of {before.gap.total_floor:.4f}; nothing was changed"
            n = len(self.family.knobs)
            unknown = Uncertainty(np.full(n, np.inf), np.full(n, np.inf), np.eye(n), np.zeros(n))
            return self._result(np.zeros(n), unknown, (before, before), (held_before, held_before), stopped, changed=False)
        silent = self._drop_silent()
        search = self._search()
        at, sure = search.at, self._uncertainty(search)
        after = self._measure(at, "measuring what is left")
        held_after = self._measure_held(at)
        if after.gap.fallen > MOSTLY_FALLING:
            raise FitError(
                f"the best simulator found falls in {after.gap.fallen:.0%} of the episodes and the robot did not: it matches by falling, and is refused; "
                "free fewer parameters, or tighten their bounds with --priors"
            )
        if after.gap.fallen > FALLING + before.gap.fallen:
            self.remarks.append(
                f"the fitted simulator falls in {after.gap.fallen:.0%} of the episodes and the robot did not: it may match by falling; do not trust it for training"
            )
        stopped = search.done or f"stopped after {self.problem.effort.evaluations} evaluations, before it settled"
        return self._result(at, sure, (before, after), (held_before, held_after), stopped, silent=silent)

    # Stages

    def _drop_silent(self) -> tuple[Knob, ...]:
        """Turn each knob by itself; those that change nothing at all are taken out of the search."""
        low, high = self.family.bounds
        start = np.clip(np.zeros(len(low)), low, high)
        turned = np.where(start + 1.0 <= high, start + 1.0, np.maximum(start - 1.0, low))
        candidates = np.vstack([start, start + np.diag(turned - start)])
        pieces = None if self.problem.aligned or self.fitted.n <= PROBE_PIECES else np.arange(PROBE_PIECES)
        answer = self._answer(Ask("look", candidates, self.settings.seed), pieces)
        if self.problem.aligned or self.settings.cost != "wasserstein":
            self._start_gap = float(answer.cost[0])
        silent = (answer.residuals[1:] == answer.residuals[0]).all(axis=1)
        if silent.all():
            raise FitError("no parameter that is free changes what the robot does in the simulator; free others")
        dropped = tuple(knob for knob, quiet in zip(self.family.knobs, silent, strict=True) if quiet)
        if dropped:
            self.remarks.append(f"no effect on the simulated walk, so not fitted: {', '.join(knob.name for knob in dropped)}")
            self.family = Static(self.robot, tuple(knob for knob in self.family.knobs if knob not in dropped), self.family.fixed)
            effort = self.problem.effort
            self.problem = Problem(self.log, self.robot, self.make_agent, self.family, self.fitted, self.threads, cost=self.settings.cost)
            self.problem.effort = effort
        return dropped

    def _search(self) -> Search:
        low, high = self.family.bounds
        settings = self.settings
        search: Search = (
            CmaSearch(low, high, settings.seed, settings.cma, self._begin())
            if settings.search == "cma"
            else QuantileSearch(low, high, self._kinds(), settings.seed, settings.quantile, self._begin())
        )
        while search.done is None and self.problem.effort.evaluations < settings.most_evaluations:
            before = search.iteration
            self._advance(search)
            if search.iteration > before:
                self._note(search)
        return search

    def _advance(self, search: Search) -> None:
        ask = search.ask()
        pieces = self._pick(ask)
        answer = self._answer(ask, pieces)
        search.tell(ask, answer.residuals, answer.cost, answer.fallen, self._by_episode(answer.influence, pieces))
        self._tell(search)

    def _uncertainty(self, search: Search) -> Uncertainty:
        """Of the answer; where the search has no slopes of its own, they are taken there."""
        low, high = self.family.bounds
        if not (isinstance(search, QuantileSearch) and search.learned):
            looked = QuantileSearch(low, high, self._kinds(), self.settings.seed, self.settings.quantile, search.at)
            looked.level = len(self.settings.quantile.levels) - 1
            while not looked.designed:
                self._advance(looked)
            return looked.uncertainty()
        return search.uncertainty()

    def _measure(self, at: np.ndarray | None, stage: str, schedule: Schedule | None = None) -> Measured:
        if self._show is not None:
            self._show(Progress(stage, gap=self._start_gap, start_gap=self._start_gap, wall_s=self.wall_s))
        change = Static(self.robot, (), self.family.fixed) if at is None else self.family
        candidate = np.zeros(0) if at is None else at
        return measure(
            self.log, schedule or self.fitted, self.robot, self.make_agent, change=change, candidate=candidate, seed=self.settings.seed + 7,
            threads=self.threads, may_fall=at is not None or schedule is not None,
        )  # fmt: skip

    def _measure_held(self, at: np.ndarray | None) -> Measured | None:
        return None if self.held is None else self._measure(at, "measuring on episodes that were held back", self.held)

    # Asking

    def _pick(self, ask: Ask) -> np.ndarray | None:
        """Pieces for a share of them, others for every question."""
        n = self.fitted.n
        count = n if self.problem.aligned else min(n, max(FEWEST_PIECES, round(ask.share * n)))
        return None if count == n else np.sort(np.random.default_rng([ask.seed, 61]).permutation(n)[:count])

    def _answer(self, ask: Ask, pieces: np.ndarray | None) -> Answer:
        """From the journal where it is known, else from the simulator."""
        question = b"".join(
            (ask.candidates.tobytes(), repr((ask.seed, ask.influence)).encode(), b"" if pieces is None else pieces.tobytes())
        )
        known = None if self._journal is None else self._journal.recall(question)
        if known is not None:
            answer, wall_s = known
            schedule = self.fitted if pieces is None else self.fitted.pick(pieces)
            self.problem.effort.evaluations += len(ask.candidates)
            self.problem.effort.simulated_s += len(ask.candidates) * schedule.seconds
        else:
            started = time.perf_counter()
            answer = self.problem.evaluate(ask.candidates, ask.seed, pieces, influence=ask.influence)
            wall_s = time.perf_counter() - started
            if self._journal is not None:
                self._journal.keep(question, answer, wall_s)
        self.wall_s += wall_s
        return answer

    def _begin(self) -> np.ndarray:
        return np.array([knob.turns(self._start.get(knob.name, knob.origin)) for knob in self.family.knobs])

    def _by_episode(self, influence: np.ndarray | None, pieces: np.ndarray | None) -> np.ndarray | None:
        """Influence of whole episodes, where there are enough of them: parts of one walk are not independent."""
        if influence is None or len(np.unique(self.fitted.episode)) < FEW_EPISODES:
            return influence
        of = self.fitted.episode if pieces is None else self.fitted.episode[pieces]
        return np.stack([influence[of == one].sum(axis=0) for one in np.unique(of)])

    def _kinds(self) -> np.ndarray:
        return np.array([channel.kind for channel in self.problem.channels])

    # Telling

    def _note(self, search: Search) -> None:
        values = tuple(float(value) for value in self.family.values(search.path[-1])[0])
        effort = self.problem.effort
        self.steps.append(Step(search.iteration, search.costs[-1], effort.evaluations, effort.simulated_s, self.wall_s, values))

    def _tell(self, search: Search) -> None:
        if self._show is None:
            return
        effort, knobs = self.problem.effort, self.family.knobs
        values, turns = self.family.values(search.at)[0], np.abs(search.at)
        moved = tuple((knobs[k].name, knobs[k].start, float(values[k]), knobs[k].unit) for k in np.argsort(-turns)[:6])
        gap = search.costs[-1] if search.costs else self._start_gap
        floor, stage = float("nan"), "searching"
        remaining = self.wall_s * (self.settings.most_evaluations / max(effort.evaluations, 1) - 1)  # of CMA-ES, at most
        if isinstance(search, QuantileSearch):
            floor, remaining = self._floor(search), search.remaining(self.wall_s)
            stage = "polishing" if search.polishing else "searching"
        self._show(
            Progress(
                stage, search.iteration, gap, self._start_gap, floor, effort.evaluations, effort.simulated_s, self.wall_s, remaining, moved
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
        self, at: np.ndarray, sure: Uncertainty, gaps: tuple[Measured, Measured], held: tuple[Measured | None, Measured | None], stopped: str,
        *, silent: tuple[Knob, ...] = (), changed: bool = True,
    ) -> FitResult:  # fmt: skip
        joints = self.robot.contract.joints
        own = _own_values(self.robot, (*self.family.knobs, *silent))
        values = self.family.values(at)[0] if changed else np.array([own[knob.name] for knob in self.family.knobs])
        found = []
        for k, knob in enumerate(self.family.knobs):
            ends = sorted(float(knob.value(at[k] + side * sure.half_width[k])) for side in (-1.0, 1.0))
            flag, note = flag_of(knob, float(at[k]), float(sure.half_width[k]), float(sure.told[k]))
            found.append(_fitted(knob, joints, own[knob.name], float(values[k]), (ends[0], ends[1]), flag, note))
        for knob in silent:
            note = "turning it does not change the simulated walk at all"
            found.append(_fitted(knob, joints, own[knob.name], own[knob.name], (knob.low, knob.high), "no effect", note))
        settings = self.family.settings(at) if changed else Static(self.robot, (), self.family.fixed).settings(np.zeros(0))
        adaptation = Adaptation(
            self.robot.name, self.robot.hash, "static" if self.settings.torque == "none" else "residual", tuple(found), settings
        )
        correlation = np.zeros((len(found), len(found)))
        n = len(self.family.knobs)
        correlation[:n, :n] = sure.correlation
        traces = None
        if self.problem.aligned:
            traces = _traces(*gaps), None if held[0] is None or held[1] is None else _traces(held[0], held[1])
        return FitResult(
            adaptation, self.settings.search, tuple(self.steps), *gaps, *held, correlation=correlation, stopped=stopped, traces=traces,
            remarks=tuple(self.remarks), cost="position error" if self.problem.aligned else self.settings.cost,
        )  # fmt: skip


def _traces(before: Measured, after: Measured) -> Traces:
    picked = np.array([channel.kind == "position" for channel in before.robot.channels])
    off = [(measured.runs[0].samples[0] - measured.robot.samples)[:, picked] for measured in (before, after)]
    return Traces(*(float(np.sqrt(np.square(one).mean())) for one in off))


def _own_values(robot: Robot, knobs: tuple[Knob, ...]) -> dict[str, float]:
    """What the robot's own simulator has, by the names of knobs; where a search begins may be elsewhere."""
    scene = build_scene(robot, Flat(), None, torque_speed=False)
    found = {}
    for knob in knobs:
        own = nominal(knob.parameter, robot, scene)
        found[knob.name] = float(np.mean(own[list(knob.entries)] if own.ndim else own))
    return found


def _fitted(
    knob: Knob, joints: tuple[str, ...], start: float, value: float, interval: tuple[float, float], flag: Flag, note: str
) -> Fitted:
    names = tuple("xyz") if PARAMETERS[knob.parameter].per == "axis" else joints
    where = tuple(names[k] for k in knob.entries)
    return Fitted(knob.name, knob.parameter, where, knob.unit, start, value, interval, (knob.low, knob.high), flag, note)
