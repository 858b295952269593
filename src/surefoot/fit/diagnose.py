"""What kind of gap it is: causes compete, each in the simulator.

Every cause is a small group of knobs (friction and inertia, springs, strength, floor, mass), tied over the legs. Delay
and noise belong to every robot, so they are free in all of them. One Plackett-Burman design gives the Jacobian of the
quantiles by every knob (see `surefoot.fit.linear`). One Gauss-Newton step with ridge and step cap (see
`surefoot.fit.quantile`) then solves each cause for what would explain the robot; that is simulated, and the best causes
take a second step from a Jacobian of their own. A cause is believed by the gap that it leaves, not by how plausible it
sounds.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from surefoot.adapt import SearchSpace, make_knobs, read_priors
from surefoot.fit.answers import keep_answer, recall_answer
from surefoot.fit.linear import design_around, gauss_newton_step, slopes
from surefoot.fit.metric import CURVATURE
from surefoot.fit.problem import Answer, Problem
from surefoot.gap.case import Case
from surefoot.gap.measure import Measured
from surefoot.journal import Journal
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.physics import Physics
from surefoot.sim.values import nominal
from surefoot.streams import Stream

Kind = Literal["numbers", "physics", "world"]
Sure = Literal["sure", "likely", "unsure"]


@dataclass(frozen=True)
class Suspect:
    """A cause that is tried."""

    key: str
    name: str
    kind: Kind
    parameters: tuple[str, ...]
    probes: tuple[
        float, ...
    ] = ()  # steps of its knobs that are also tried: what acts only beyond a threshold has no slope to follow


ADVICE: dict[Kind, str] = {
    "numbers": "numbers of the model are wrong: identify them",
    "physics": "physics is missing: no number of the model stands for it; it takes a torque of its own",
    "world": "the world is another: adapt to it, or train over its whole range (domain randomization)",
}
UNKNOWN = (
    "nothing that was tried explains most of it: look at the worst channels, and train over wider ranges meanwhile"
    " (the randomization 'seed')"
)
ALREADY_FREE = {"armature_kgm2", "dry_friction_nm", "viscous_friction_nms"}  # in a fit
COMMON = ("delay_s", "torque_noise_nm", "encoder_noise_rad", "velocity_noise_rad_s")
SUSPECTS = (
    Suspect("common", "delay and noise alone", "numbers", ()),
    Suspect(
        "friction",
        "friction and inertia of the joints",
        "numbers",
        ("armature_kgm2", "dry_friction_nm", "viscous_friction_nms"),
    ),
    Suspect("strength", "weak or saturating motors", "numbers", ("motor_strength",), (-1.0, -2.0, -3.0)),
    Suspect(
        "spring",
        "a torque that depends on position, such as a spring",
        "physics",
        ("spring_stiffness_nm_per_rad", "action_offset_rad"),
    ),
    Suspect("contact", "the floor", "world", ("floor_friction",), (-1.5, -2.5, -3.2)),
    Suspect("mass", "mass and balance of the base", "numbers", ("base_mass_kg", "base_com_offset_m")),
)
PIECES = 8  # of the log that are used
REACH = 0.6  # of a design, in steps of the priors
LENGTHS = (0.4, 0.8, 1.2)  # of the line search, in Gauss-Newton steps
STEP_CAP = 4.0  # steps of its prior that a knob may move at once
RIDGE = 0.01  # towards staying, in units of the residuals' scatter per coordinate
NOISE_RUNS = 4
LEADERS = 3  # suspects that are looked at once more
EXPECTED = 140  # evaluations, about
CLEAR = 0.85  # the second best closes less than this share of what the best does: sure
LEAST_STIFFNESS = 1.0  # N·m/rad: softer springs are not worth a word
HARDLY = 0.3  # a best cause that closes less than this share of the gap explains it badly
ENOUGH = 0.9  # a cause that leaves more than this share of what delay and noise leave adds nothing


@dataclass(frozen=True)
class Cause:
    """A cause and what it leaves."""

    name: str
    key: str
    kind: Kind
    explains: float  # share of the gap above its floor that it closes, 0 to 1
    cost: float  # the gap that remains with it
    values: tuple[tuple[str, float, float, str], ...]  # knob, nominal, found, unit
    evidence: str


@dataclass(frozen=True)
class Diagnosis:
    """What kind of gap it is, in words."""

    says: str
    sure: Sure
    causes: tuple[Cause, ...]  # best first
    where: str
    evaluations: int
    simulated_s: float
    advice: str = ""
    free: tuple[str, ...] = ()  # parameters that a fit should search beside the usual ones
    # of the simulator that explains the robot best, by the names of PARAMETERS
    settings: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Diagnosis":
        """From what `to_dict` gave, through JSON or not."""
        causes = tuple(
            Cause(**{**cause, "values": tuple(tuple(value) for value in cause["values"])})
            for cause in content["causes"]
        )
        return Diagnosis(**{**content, "causes": causes, "free": tuple(content["free"])})


def diagnose_gap(
    case: Case,
    measured: Measured,
    *,
    seed: int = 0,
    threads: int = 0,
    journal: Journal | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Diagnosis:
    """Let the causes compete; `progress` gets simulations done and to do."""
    gap = measured.gap
    if not gap.measurable:
        says = (
            f"no measurable gap: {gap.total:.3f} against a floor of {gap.total_floor:.3f} (up to {gap.total_limit:.3f}"
            " by chance)"
        )
        return Diagnosis(says, "sure", (), "nowhere", 0, 0.0)
    trial = _Trial(case, seed, threads, journal, progress)
    before, points = trial.run()
    return _words(before, points, _where(measured, case.robot), trial.problem, gap.total_floor)


@dataclass(frozen=True, eq=False)
class _Point:
    """Where a suspect stands."""

    at: np.ndarray  # (n_knobs,) normalized coordinates
    residual: np.ndarray
    cost: float


class _Trial:
    """The competition."""

    def __init__(
        self,
        case: Case,
        seed: int,
        threads: int,
        journal: Journal | None,
        progress: Callable[[int, int], None] | None,
    ):
        rng = np.random.default_rng([seed, Stream.DIAGNOSIS])
        robot, schedule = case.robot, case.schedule
        picked = schedule.pick(np.sort(rng.permutation(schedule.n)[:PIECES]))
        names = dict.fromkeys([*COMMON, *(name for suspect in SUSPECTS for name in suspect.parameters)])
        knobs = make_knobs(robot, tuple(names), "type", read_priors())
        self.space = SearchSpace(Physics(robot, _spring_rest(robot)), knobs)
        self.problem = Problem(case.on(picked), self.space, threads)
        self.low, self.high = self.space.bounds
        self.seed, self._journal, self._progress, self._asked = seed, journal, progress, 0
        self._scatter = np.zeros(0)

    def run(self) -> tuple[float, dict[str, _Point]]:
        """The cost at the start, and where each suspect ends."""
        runs = [self._evaluate(np.clip(np.zeros((1, len(self.low))), self.low, self.high)) for _ in range(NOISE_RUNS)]
        noise = np.array([run.residuals[0] for run in runs])
        self._scatter = _scatter(noise)
        start = _Point(
            np.clip(np.zeros(len(self.low)), self.low, self.high),
            noise.mean(axis=0),
            float(np.mean([run.cost[0] for run in runs])),
        )
        common = start
        for _ in range(2):
            common = self._advance(common, self._columns(SUSPECTS[0]))
        everything = np.arange(len(self.low))
        jacobian = self._jacobian(common.at, everything)
        points = {}
        for suspect in SUSPECTS[1:]:
            columns = self._columns(suspect)
            step = self._solve(jacobian, common, columns)
            tries = [common.at + length * step for length in LENGTHS] + [
                self._probe(common.at, suspect, far) for far in suspect.probes
            ]
            points[suspect.key] = self._best(common, tries)
        leaders = sorted(SUSPECTS[1:], key=lambda suspect: points[suspect.key].cost)[:LEADERS]
        for suspect in leaders:
            points[suspect.key] = self._advance(points[suspect.key], self._columns(suspect))
        return start.cost, {SUSPECTS[0].key: common, **points}

    def _advance(self, point: _Point, columns: np.ndarray) -> _Point:
        """One Gauss-Newton step with some knobs, from a Jacobian of its own."""
        step = self._solve(self._jacobian(point.at, columns), point, columns)
        return self._best(point, [point.at + length * step for length in LENGTHS])

    def _best(self, point: _Point, tries: list[np.ndarray]) -> _Point:
        answer = self._evaluate(np.array(tries))
        best = int(np.argmin(answer.cost * (1 + answer.fallen)))
        return (
            _Point(tries[best], answer.residuals[best], float(answer.cost[best]))
            if answer.cost[best] < point.cost
            else point
        )

    def _evaluate(self, candidates: np.ndarray) -> Answer:
        candidates, seed = np.clip(candidates, self.low, self.high), 1_000 * self.seed + self._asked
        question = candidates.tobytes() + repr(seed).encode()
        known = None if self._journal is None else recall_answer(self._journal, question)
        if known is not None:
            answer, _ = known
            self.problem.count(len(candidates))
        else:
            answer = self.problem.evaluate(candidates, seed)
            if self._journal is not None:
                keep_answer(self._journal, question, answer, 0.0)
        self._asked += 1
        if self._progress is not None:
            self._progress(min(self.problem.effort.evaluations, EXPECTED - 1), EXPECTED)
        return answer

    def _jacobian(self, at: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Of the residuals, (m, n_knobs), zero for the knobs that are not moved."""
        design = design_around(at[columns], self.low[columns], self.high[columns], REACH)
        runs = np.tile(at, (len(design), 1))
        runs[:, columns] = design
        jacobian = np.zeros((len(self._scatter), len(at)))
        jacobian[:, columns] = slopes(design, self._evaluate(runs).residuals)
        return jacobian

    def _columns(self, suspect: Suspect) -> np.ndarray:
        return np.array([k for k, knob in enumerate(self.space.knobs) if knob.parameter in COMMON + suspect.parameters])

    def _probe(self, at: np.ndarray, suspect: Suspect, far: float) -> np.ndarray:
        moved = at.copy()
        moved[[k for k, knob in enumerate(self.space.knobs) if knob.parameter in suspect.parameters]] += far
        return moved

    def _solve(self, jacobian: np.ndarray, point: _Point, columns: np.ndarray) -> np.ndarray:
        """The step that explains the residual best with some knobs alone."""
        weight = _weight(self._scatter, point.residual)
        low, high = (
            np.maximum(self.low - point.at, -STEP_CAP)[columns],
            np.minimum(self.high - point.at, STEP_CAP)[columns],
        )
        step = np.zeros(len(point.at))
        white, residual = jacobian[:, columns] * weight[:, None], point.residual * weight
        normal = white.T @ white + RIDGE**2 * len(residual) * np.eye(len(columns))
        step[columns] = gauss_newton_step(normal, white.T @ residual, low, high)
        return step


def _scatter(runs: np.ndarray) -> np.ndarray:
    """Standard deviation of each residual over a few runs (runs, m), smoothed, since few runs say little of each."""
    scatter = runs.std(axis=0, ddof=1)
    smooth = np.convolve(np.pad(scatter, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return np.maximum(smooth, 0.2 * float(np.median(smooth)) + 1e-6)


def _weight(scatter: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """One over what a residual may be off by, (m,): its own scatter, and the curvature that a linear model
    cannot follow.
    """
    return 1.0 / np.sqrt(np.square(scatter) + np.square(CURVATURE * residual).mean())


def _spring_rest(robot: Robot) -> dict[str, Any]:
    """Springs that do not exist yet rest in the default pose, so that stiffness alone changes little else."""
    stiffness, rest = nominal("spring_stiffness_nm_per_rad", robot), nominal("spring_rest_rad", robot)
    return {"spring_rest_rad": np.where(stiffness > 0, rest, robot.contract.pose_rad)}


def _where(measured: Measured, robot: Robot) -> str:
    """Whether all legs are alike, by the gap of each leg's joints."""
    gap = measured.gap
    joints = robot.contract.joints
    excess = np.maximum(gap.distance - gap.floor, 0.0)
    per_joint = {
        joint: float(np.mean([e for e, c in zip(excess, gap.channels, strict=True) if c.where == joint]))
        for joint in joints
    }
    ordered = sorted(per_joint, key=lambda joint: -per_joint[joint])
    median = float(np.median(list(per_joint.values())))
    stand_out = [joint for joint in ordered if per_joint[joint] > 3 * median]
    if stand_out and len(stand_out) <= max(1, len(joints) // 6):
        return f"mostly at {', '.join(stand_out)}"
    return f"spread over the legs; largest at {', '.join(ordered[:3])}"


def _words(before: float, points: dict[str, _Point], where: str, problem: Problem, floor: float) -> Diagnosis:
    common = points["common"].cost
    causes = []
    for suspect in SUSPECTS:
        point = points[suspect.key]
        explains = float(np.clip((before - point.cost) / max(before - floor, 1e-9), 0.0, 1.0))
        values = tuple(
            (knob.name, knob.start, float(problem.space.values(point.at)[0][k]), knob.unit)
            for k, knob in enumerate(problem.space.knobs)
            if knob.parameter in COMMON + suspect.parameters
        )
        evidence = (
            f"With {suspect.name} free, the gap falls from {before:.3f} to {point.cost:.3f}; delay and noise alone"
            f" reach {common:.3f}."
        )
        if suspect.key == "spring":
            evidence += _springs(problem.space.at(point.at), problem.case.robot)
        causes.append(Cause(suspect.name, suspect.key, suspect.kind, explains, point.cost, values, evidence))
    causes.sort(key=lambda cause: cause.cost)
    if causes[0].cost > ENOUGH * common:  # the rest adds nothing to delay and noise
        causes.sort(key=lambda cause: cause.key != "common")
    best, second = causes[0], causes[1]
    gain, other = (max(before - cause.cost, 0.0) for cause in (best, second))
    sure: Sure = "unsure" if best.explains < HARDLY else "sure" if other < CLEAR * gain else "likely"
    advice = UNKNOWN if sure == "unsure" else ADVICE[best.kind]
    says = (
        f"{'it is' if sure == 'sure' else 'most likely it is'} {best.name}: that closes {best.explains:.0%} of the gap"
        f" ({second.name}: {second.explains:.0%})"
    )
    return Diagnosis(
        says,
        sure,
        tuple(causes),
        where,
        problem.effort.evaluations,
        problem.effort.simulated_s,
        advice,
        _free(best),
        problem.space.at(points[best.key].at).parameters,
    )


def _free(best: Cause) -> tuple[str, ...]:
    """What is to blame and not free in every fit; missing physics has a family of its own."""
    parameters = next(suspect.parameters for suspect in SUSPECTS if suspect.key == best.key)
    return () if best.kind == "physics" else tuple(name for name in parameters if name not in ALREADY_FREE)


def _springs(physics: Physics, robot: Robot) -> str:
    """Springs in words: stiffness, and the rest that it has together with the constant torque."""
    stiffness, offset = physics.value("spring_stiffness_nm_per_rad"), physics.value("action_offset_rad")
    rest = physics.value("spring_rest_rad") + np.array(robot.contract.kp_nm_per_rad) * offset / np.maximum(
        stiffness, 1e-9
    )
    springs = [
        f"{label} like a spring of {stiffness[list(joints)].mean():.1f} N·m/rad at rest at"
        f" {rest[list(joints)].mean():.2f} rad"
        for label, joints in joint_types(robot).items()
        if stiffness[list(joints)].mean() > LEAST_STIFFNESS
    ]
    return f" It looks at {'; at '.join(springs)}." if springs else ""
