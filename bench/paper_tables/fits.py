"""What the tables share: virtual robots, their logs, fits under a budget, and how far parameters are off."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from recover import CASES, draw

from paper_tables.cells import Refused
from surefoot.fit.cma import CmaSettings
from surefoot.fit.family import Family, FitSettings
from surefoot.fit.ladder import climb
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit, MatchesByFalling
from surefoot.gap import Case, Gap
from surefoot.gap.schedule import Schedule
from surefoot.journal import Journal
from surefoot.logs import RobotLog, record
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

POLICY = "walk"
SECONDS = 4.0
COUNTED = (
    "armature_kgm2",
    "dry_friction_nm",
)  # what the published problem hides, and whose mean relative error it reports
PUBLISHED_FREE = (*COUNTED, "torque_noise_nm")  # and how much noise there is, which is not known either
TYPES = {"armature_kgm2": (0.015, 0.045), "dry_friction_nm": (0.3, 1.2), "viscous_friction_nms": (0.1, 0.4)}
CALF_SPRING = (12.0, -1.8)  # N·m/rad, rad at rest
USUAL_DATA_S = 8 * SECONDS  # of data, for which the budget of a table is meant
AIM_SEEDS = tuple(
    range(7000, 7008)
)  # of the noise under which an answer's cost is compared with that of the truth: none that a search met
NO_LIMIT = 10**9  # evaluations: simulated seconds are what is limited


def original(robot: Robot) -> Path:
    """The policy that the log was recorded with."""
    return robot.path.parent / "policies" / f"{POLICY}.onnx"


def hidden(robot: Robot, case: str, seed: int) -> Twin:
    """A robot of the published problem: armature and dry friction of every joint are hidden, beside the noise."""
    drawn = draw(robot, *CASES[case], seed)
    known = {name: drawn.physics.parameters[name] for name in PUBLISHED_FREE}
    return replace(drawn, name=f"hidden-{seed}", physics=Physics(robot, known))


def shifted(robot: Robot, seed: int, *, spring: bool = False, uneven: bool = False) -> Twin:
    """A robot whose joints differ from the simulator's, with delay and a little noise; with a spring on the last joint
    of each leg where asked for.

    They differ type by type, left as right; or, uneven, each by itself, which turns a robot off its way.
    """
    rng, n = np.random.default_rng([seed, 101]), robot.contract.n_joints
    drawn: dict[str, Any] = {}
    types = joint_types(robot)
    groups = [[joint] for joint in range(n)] if uneven else [list(places) for places in types.values()]
    for name, span in TYPES.items():
        values = np.zeros(n)
        for places in groups:
            values[places] = rng.uniform(*span)
        drawn[name] = tuple(values)
    drawn |= {"delay_s": float(rng.uniform(0.002, 0.012)), "torque_noise_nm": 0.5}
    if spring:
        stiffness, rest = np.zeros(n), np.zeros(n)
        last = list(list(types.values())[-1])
        stiffness[last], rest[last] = CALF_SPRING
        drawn |= {"spring_stiffness_nm_per_rad": tuple(stiffness), "spring_rest_rad": tuple(rest)}
    return Twin(f"{'spring' if spring else 'uneven' if uneven else 'shifted'}-{seed}", Physics(robot, drawn))


def walked(twin: Twin, rollouts: int, seed: int, seconds: float = SECONDS, policy: str = POLICY) -> RobotLog:
    """Its log, with the base as motion capture gives it: only match-s looks at that."""
    return record(twin, policy, rollouts=rollouts, seconds=seconds, seed=900 + seed, base=True)


def budgeted(simulated_s: float, **given: Any) -> FitSettings:
    """Settings of a search that ends with its simulated seconds, settled or not."""
    return FitSettings(most_evaluations=NO_LIMIT, most_simulated_s=simulated_s, **given)


def scaled(simulated_s: float, rollouts: int, seconds: float = SECONDS) -> float:
    """The budget of a search on so much data: a simulation of a log is as long as the log, and a search
    takes about as many of them.
    """
    return simulated_s * max(1.0, rollouts * seconds / USUAL_DATA_S)


def published(cost: str, simulated_s: float, **given: Any) -> FitSettings:
    """CMA-ES, which judges candidates by the cost alone: falls cost nothing, and an answer that falls is
    not refused.
    """
    return budgeted(simulated_s, search="cma", cost=cost, cma=CmaSettings(fall_cost=0.0), most_falling=1.0, **given)


def fitted(log: RobotLog, schedule: Schedule, robot: Robot, settings: FitSettings) -> FitResult:
    """One fit; one that matches by falling is refused."""
    try:
        return Fit(Case(robot, POLICY, log, schedule=schedule), settings, None).run()
    except MatchesByFalling as reason:
        raise Refused(str(reason)) from None


def climbed(
    log: RobotLog,
    schedule: Schedule,
    robot: Robot,
    settings: FitSettings,
    rungs: tuple[Family, ...],
    folder: Path,
    policy: str = POLICY,
) -> FitResult:
    """Family after family; every answer of the simulator is kept in `folder`, since fine-tuning comes after
    and may be stopped.
    """
    case = Case(robot, policy, log, schedule=schedule)
    identity: dict[str, object] = {"log": log.metadata, "settings": repr(settings)}

    def one(asked: FitSettings, start: Mapping[str, float], base: Mapping[str, Any]) -> FitResult:
        journal = Journal(folder / "journal" / asked.family.name.replace(" ", "-"), identity)
        return Fit(case, asked, journal, start=start, base=base).run()

    try:
        return climb(settings, one, rungs)
    except MatchesByFalling as reason:
        raise Refused(str(reason)) from None


def errors(result: FitResult, twin: Twin) -> dict[str, float]:
    """Mean relative error of each kind of parameter, of the published pair together, and of that pair
    before the fit.
    """
    joints = list(twin.robot.contract.joints)
    found: dict[str, float] = {}
    before: dict[str, float] = {}
    for name in COUNTED:
        true = np.broadcast_to(twin.physics.parameters[name], len(joints))
        each = [
            (knob.value, knob.start, true[joints.index(joint)])
            for knob in result.adaptation.knobs
            if knob.parameter == name
            for joint in knob.where
        ]
        value, start, actual = np.array(each).T
        found[name] = float((np.abs(value - actual) / actual).mean())
        before[name] = float((np.abs(start - actual) / actual).mean())
    return {
        "error": float(np.mean([found[name] for name in COUNTED])),
        "error_before": float(np.mean([before[name] for name in COUNTED])),
        "armature": found["armature_kgm2"],
        "dry_friction": found["dry_friction_nm"],
    }


def aimed(result: FitResult, twin: Twin, log: RobotLog, schedule: Schedule, settings: FitSettings) -> dict[str, float]:
    """The cost of the answer, of the hidden numbers, and of the counted ones among them with the rest of
    the answer, over the same noise.

    An answer that costs more than these is not the minimum of its cost. Costs in time prefer a robot without noise,
    which is why the last keeps the noise of the answer.
    """
    robot = twin.robot
    joints = list(robot.contract.joints)
    found = {knob.name: knob for knob in result.adaptation.knobs}
    fit = Fit(Case(robot, POLICY, log, schedule=schedule), settings, None)

    def candidate(hidden_ones: tuple[str, ...]) -> list[float]:
        coordinates = []
        for knob in fit.space.knobs:
            known = found[knob.name]
            value = known.value
            if known.parameter in hidden_ones:
                hidden_values = np.broadcast_to(twin.physics.parameters[known.parameter], len(joints))
                value = float(np.mean([hidden_values[joints.index(joint)] for joint in known.where]))
            coordinates.append(knob.coordinate(value))
        return coordinates

    candidates = np.array([candidate(()), candidate(tuple(twin.physics.parameters)), candidate(COUNTED)])
    costs = np.mean([fit.problem.evaluate(candidates, seed, residuals=False).cost for seed in AIM_SEEDS], axis=0)
    return dict(zip(("cost", "cost_of_truth", "cost_of_counted"), map(float, costs), strict=True))


def effort(result: FitResult) -> dict[str, Any]:
    """What a search took, over all families that were tried, which was chosen and why its search ended; an iteration
    that was cut is not counted.
    """
    if result.tried:
        simulated_s, evaluations = (
            sum(one.simulated_s for one in result.tried),
            sum(one.evaluations for one in result.tried),
        )
    else:
        simulated_s, evaluations = (
            (result.steps[-1].simulated_s, result.steps[-1].evaluations) if result.steps else (0.0, 0)
        )
    chosen = [one.family for one in result.tried if one.chosen]
    return {"simulated_s": simulated_s, "evaluations": evaluations, "stopped": result.stopped} | (
        {"family": chosen[0]} if chosen else {}
    )


def closed(result: FitResult) -> dict[str, float]:
    """The gap that is left, on held-out episodes where there are some, and the floor."""
    return left((result.held_before or result.before).gap, (result.held_after or result.after).gap)


def left(before: Gap, after: Gap) -> dict[str, float]:
    """Of the gaps of the same episodes before and after a fit, what a table shows."""
    return {
        "gap": after.total,
        "floor": after.total_floor,
        "robot_floor": after.robot_floor,
        "gap_before": before.total,
    }
