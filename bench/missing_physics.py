"""Physics that the simulator has no part for: found, chosen and shown on robots with springs, bump stops
and dead bands.

  python bench/missing_physics.py                      # all pieces; what is done is kept, the same command continues
  python bench/missing_physics.py --pieces springs     # springs bends choices versus worn range full

`springs`, `bends`: virtual robots with other friction, inertia and delay than the simulator, and a spring or a torque
that is not linear; 32 episodes of 4 s, static parameters tied by type. Each family's held-out gap beside its floor, and
the torque over position beside the true one where the log has support (RMS of the difference over RMS of the truth).
`choices`: which family is chosen for ten mixed robots, 16 episodes. `versus`: the linear stage against separable CMA-ES
on the weights of the network and on the same linear terms, to the same held-out gap. `worn`: what of go2-worn closes.
`range`: fitted to a log with speeds up to 0.6 m/s, measured at 1 m/s. `full`: one spring at the size of a user's log
(64 episodes, joints not tied). Writes bench/results/missing_physics.json.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from results import RESULTS, commit, write_results
from weights import Weights

from surefoot.fit.cma import CmaSearch, CmaSettings
from surefoot.fit.family import STATIC, Family, FitSettings
from surefoot.fit.judgement import judge_fit
from surefoot.fit.ladder import JOINT, NETWORK, RUNGS, TYPE, climb
from surefoot.fit.problem import Problem
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit, split
from surefoot.gap import Case, measure, schedule_of
from surefoot.logs import RobotLog, record
from surefoot.report.added_figures import added
from surefoot.report.torque_words import torque_words
from surefoot.robot import Robot, load_robot
from surefoot.robot.legs import joint_types
from surefoot.sim.physics import Physics
from surefoot.sim.residual import TorqueCurve
from surefoot.sim.twin import Twin, load_twin

POLICY, SECONDS = "walk", 4.0
SHIFTED = {
    "armature_kgm2": 0.02,
    "dry_friction_nm": 0.4,
    "viscous_friction_nms": 0.2,
    "delay_s": 0.006,
    "torque_noise_nm": 0.5,
}


@dataclass(frozen=True)
class PlantedTorque:
    """A torque over position on some joints that the simulator does not have."""

    joints: tuple[str, ...]  # ends of names, or whole names
    position_rad: tuple[float, ...]
    torque_nm: tuple[float, ...]

    def twin(self, robot: Robot, name: str, hidden: dict[str, Any]) -> Twin:
        """The robot with it."""
        places = tuple(k for k, joint in enumerate(robot.contract.joints) if joint.endswith(self.joints))
        curve = TorqueCurve(places, self.position_rad, self.torque_nm)
        return Twin(name, Physics(robot, hidden, curves=(curve,)))


def spring(joints: tuple[str, ...], stiffness: float, rest: float) -> PlantedTorque:
    """Straight over any angle that a joint can take."""
    return PlantedTorque(joints, (rest - 4.0, rest + 4.0), (4.0 * stiffness, -4.0 * stiffness))


SPRINGS = {
    "calves 12 N·m/rad at -1.8": spring(("calf_joint",), 12.0, -1.8),
    "calves 30 N·m/rad at -1.5": spring(("calf_joint",), 30.0, -1.5),
    "calves 5 N·m/rad at -2.2": spring(("calf_joint",), 5.0, -2.2),
    "thighs 15 N·m/rad at 0.7": spring(("thigh_joint",), 15.0, 0.7),
    "one calf 20 N·m/rad at -1.7": spring(("FL_calf_joint",), 20.0, -1.7),
    "one thigh 12 N·m/rad at 0.6": spring(("RR_thigh_joint",), 12.0, 0.6),
}
BENDS = {
    "calves 20 N·m/rad past -1.7": PlantedTorque(("calf_joint",), (-2.7, -1.7, 0.0), (20.0, 0.0, 0.0)),
    "thighs 15 N·m/rad outside 0.75-1.05": PlantedTorque(
        ("thigh_joint",), (-1.25, 0.75, 1.05, 3.05), (30.0, 0.0, 0.0, -30.0)
    ),
}


def walked_case(log: RobotLog, robot: Robot) -> Case:
    """A log of the policy, with all of its rows."""
    return Case(robot, POLICY, log, schedule=schedule_of(log, robot))


def fit(
    log: RobotLog, robot: Robot, settings: FitSettings, rungs: tuple[Family, ...] = RUNGS
) -> tuple[FitResult, dict[str, FitResult]]:
    """The chosen family, and each that was tried."""
    walked, each = walked_case(log, robot), {}

    def one(asked: FitSettings, start: Mapping[str, float], base: Mapping[str, Any]) -> FitResult:
        started = time.perf_counter()
        found = Fit(walked, asked, None, start=start, base=base).run()
        held = found.held_after.gap if found.held_after else found.after.gap
        print(
            f"  {asked.family.name}: held out {held.total:.4f}, floor {held.total_floor:.4f},"
            f" {time.perf_counter() - started:.0f} s",
            flush=True,
        )
        each[asked.family.name] = found
        return found

    return climb(settings, one, rungs), each


def curve_error(result: FitResult, robot: Robot, case: PlantedTorque) -> dict[str, float]:
    """How far the torque over position is off, where the log has support, by group of joints that carry it;
    and what the others got.
    """
    found, elsewhere = {}, 0.0
    for over, _ in added(result, robot):
        inside = (over.x >= over.support[0]) & (over.x <= over.support[1])
        if over.label.endswith(case.joints) or any(joint.endswith(over.label) for joint in case.joints):
            truth = np.interp(over.x, case.position_rad, case.torque_nm)[inside]
            if over.label in joint_types(robot) and all(joint in robot.contract.joints for joint in case.joints):
                truth = truth / len(joint_types(robot)[over.label])  # of one leg only, spread over the type
            found[over.label] = float(np.sqrt(np.square(over.total[inside] - truth).mean() / np.square(truth).mean()))
        else:
            elsewhere = max(elsewhere, over.size)
    return {**found, "largest elsewhere, N·m": elsewhere}


def rows_of(result: FitResult) -> list[dict[str, Any]]:
    """The table of families."""
    return [{**vars(one), "times_floor": one.gap / one.floor} for one in result.tried]


def hidden_physics(name: str, case: PlantedTorque, rungs: tuple[Family, ...], seed: int) -> dict[str, Any]:
    """Family after family on one robot."""
    robot = load_robot("go2")
    log = record(case.twin(robot, name, SHIFTED), POLICY, rollouts=32, seconds=SECONDS, seed=700 + seed)
    started = time.perf_counter()
    result, each = fit(log, robot, FitSettings(tie="type", seed=seed), rungs)
    wall_s = time.perf_counter() - started
    held_before = result.held_before.gap if result.held_before else result.before.gap
    return {
        "commit": commit(),
        "held_out_before": held_before.total,
        "families": rows_of(result),
        "wall_clock_s": wall_s,
        "says_static": judge_fit(each["static"]).says,
        "curve_off": {family: curve_error(one, robot, case) for family, one in each.items() if family != "static"},
        "words": torque_words(result.adaptation.knobs, robot, result.knots),
    }


def choice(name: str, twin: Twin, wanted: str, seed: int) -> dict[str, Any]:
    """Which family is chosen, with a small log."""
    robot = twin.robot
    log = record(twin, POLICY, rollouts=16, seconds=SECONDS, seed=800 + seed)
    result, _ = fit(log, robot, FitSettings(tie="type", seed=seed))
    chosen = "nothing" if not result.steps else result.adaptation.family
    print(f"{name}: {chosen}, wanted {wanted}", flush=True)
    return {
        "commit": commit(),
        "wanted": wanted,
        "chosen": chosen,
        "right": chosen == wanted,
        "families": rows_of(result),
        "stopped": result.stopped,
    }


def mixed(robot: Robot) -> dict[str, tuple[Twin, str]]:
    """Ten robots: parameters shifted, springs, and nothing at all."""
    rng = np.random.default_rng(11)
    found: dict[str, tuple[Twin, str]] = {}
    for k in range(4):
        types = joint_types(robot)
        drawn: dict[str, Any] = {}
        for parameter, span in (
            ("armature_kgm2", (0.012, 0.05)),
            ("dry_friction_nm", (0.3, 1.2)),
            ("viscous_friction_nms", (0.1, 0.4)),
        ):
            values = np.zeros(robot.contract.n_joints)
            for joints in types.values():
                values[list(joints)] = rng.uniform(*span)
            drawn[parameter] = tuple(values)
        drawn |= {"delay_s": float(rng.uniform(0.0, 0.012)), "torque_noise_nm": float(rng.uniform(0.2, 1.0))}
        found[f"shifted {k}"] = Twin(f"shifted-{k}", Physics(robot, drawn)), "static"
    for name in (
        "calves 12 N·m/rad at -1.8",
        "thighs 15 N·m/rad at 0.7",
        "one calf 20 N·m/rad at -1.7",
        "calves 5 N·m/rad at -2.2",
    ):
        found[name] = SPRINGS[name].twin(robot, name, SHIFTED), "residual"
    found["nominal 0"] = Twin("nominal", Physics(robot, {})), "nothing"
    found["nominal 1"] = Twin("nominal", Physics(robot, {})), "nothing"
    return found


def versus(seed: int) -> dict[str, Any]:
    """On the calf spring, from the same static parameters: ours against separable CMA-ES, by held-out gap
    over evaluations.
    """
    robot = load_robot("go2")
    log = record(
        SPRINGS["calves 12 N·m/rad at -1.8"].twin(robot, "spring", SHIFTED),
        POLICY,
        rollouts=16,
        seconds=SECONDS,
        seed=760 + seed,
    )
    walked = walked_case(log, robot)
    fitted, held = split(walked.schedule, 0.25, seed)
    assert held is not None

    def judged(physics: Any, point: np.ndarray | None = None) -> float:
        return measure(walked.on(held), physics=physics, point=point, seed=5, runs=2, may_fall=True).gap.total

    fixed = {name: value for name, value in SHIFTED.items() if name != "torque_noise_nm"}
    found: dict[str, Any] = {"commit": commit()}
    ours = Fit(
        walked,
        FitSettings(("torque_noise_nm",), fixed, family=TYPE, held_out=0.25, seed=seed),
        None,
    )
    result = ours.run()
    knobs = ours.space
    found["before"] = judged(Physics(robot, dict(SHIFTED)))
    found["quantile, linear"] = [
        {
            "evaluations": step.evaluations,
            "simulated_s": step.simulated_s,
            "held_out": judged(
                knobs, np.array([k.coordinate(v) for k, v in zip(knobs.knobs, step.values, strict=True)])
            ),
        }
        for step in result.steps
    ]
    weights = Weights(robot, dict(SHIFTED))
    for name, family, n, bound, sigma in (
        ("separable CMA-ES, network", weights, weights.n, 4.0, 0.3),
        ("separable CMA-ES, linear", knobs, len(knobs.knobs), None, 1.0),
    ):
        low, high = (np.full(n, -bound), np.full(n, bound)) if bound else knobs.bounds
        search = CmaSearch(low, high, seed, CmaSettings(separable=True, sigma=sigma))
        problem = Problem(walked.on(fitted), family)  # type: ignore[arg-type]
        way = []
        while problem.effort.evaluations < 800:
            ask = search.ask()
            answer = problem.evaluate(ask.candidates, ask.seed)
            search.tell(ask, answer.residuals, answer.cost, answer.fallen)
            if search.iteration % 8 == 0:
                spent = problem.effort.evaluations - search.iteration  # its own mean is looked at for us only
                way.append({"evaluations": spent, "held_out": judged(family, search.at)})
                print(f"  {name}: {way[-1]}", flush=True)
        found[name] = way
    for name in ("separable CMA-ES, network", "separable CMA-ES, linear"):
        best = min(point["held_out"] for point in found[name])
        reached = next(point["evaluations"] for point in found[name] if point["held_out"] <= best)
        same = next((point["evaluations"] for point in found["quantile, linear"] if point["held_out"] <= best), None)
        found[f"{name}: best"] = {
            "held_out": best,
            "evaluations": reached,
            "quantile needs": same,
            "times_fewer": same and reached / same,
        }
    return found


def worn(seed: int) -> dict[str, Any]:
    """What of an old robot closes, and what stays."""
    robot = load_robot("go2")
    log = record(load_twin("go2-worn"), POLICY, rollouts=32, seconds=SECONDS, seed=740 + seed)
    result, _ = fit(log, robot, FitSettings(tie="type", seed=seed))
    gap, before = (result.held_after or result.after).gap, (result.held_before or result.before).gap
    worst = [(before.channels[i].name, float(before.distance[i]), float(gap.distance[i])) for i in before.worst[:8]]
    left = [
        (gap.channels[i].name, float(gap.distance[i]), float(gap.limit[i]))
        for i in gap.worst[:8]
        if gap.distance[i] > gap.limit[i]
    ]
    return {
        "commit": commit(),
        "families": rows_of(result),
        "held_out_before": before.total,
        "held_out_after": gap.total,
        "floor": gap.total_floor,
        "worst_before_and_after": worst,
        "still_above_their_limit": left,
        "verdict": judge_fit(result).says,
        "advice": judge_fit(result).advice,
        "words": torque_words(result.adaptation.knobs, robot, result.knots),
        "values": {knob.name: [knob.value, *knob.interval] for knob in result.adaptation.knobs},
    }


def out_of_range(name: str, case: PlantedTorque, seed: int) -> dict[str, Any]:
    """Fitted to slow walking, measured at the highest speed."""
    robot = load_robot("go2")
    twin = case.twin(robot, name, SHIFTED)
    slow = record(twin, POLICY, rollouts=32, seconds=SECONDS, seed=720 + seed, speed_m_s=(0.0, 0.6))
    fast = record(twin, POLICY, rollouts=16, seconds=SECONDS, seed=721 + seed, speed_m_s=(1.0, 1.0))
    result, each = fit(slow, robot, FitSettings(tie="type", seed=seed), (STATIC, TYPE, NETWORK))
    at_speed = walked_case(fast, robot)
    found: dict[str, Any] = {"commit": commit(), "families_at_0.6": rows_of(result)}
    changes = {"nominal": None} | {family: one.adaptation.physics(robot) for family, one in each.items()}
    for family, change in changes.items():
        gap = measure(at_speed, physics=change, seed=3, may_fall=True).gap
        found[f"at 1.0 m/s: {family}"] = {"gap": gap.total, "floor": gap.total_floor, "limit": gap.total_limit}
    return found


def full(seed: int) -> dict[str, Any]:
    """As a user fits it: 64 episodes, nothing tied, all defaults."""
    robot = load_robot("go2")
    case = SPRINGS["calves 12 N·m/rad at -1.8"]
    log = record(case.twin(robot, "spring", SHIFTED), POLICY, rollouts=64, seconds=SECONDS, seed=780 + seed)
    started = time.perf_counter()
    result, each = fit(log, robot, FitSettings(seed=seed))
    return {
        "commit": commit(),
        "wall_clock_s": time.perf_counter() - started,
        "families": rows_of(result),
        "curve_off": {family: curve_error(one, robot, case) for family, one in each.items() if family != "static"},
        "words": torque_words(result.adaptation.knobs, robot, result.knots),
    }


def main() -> None:
    """Measure what is missing, and write the file after each."""
    robot = load_robot("go2")
    jobs: dict[str, dict[str, Callable[[], dict[str, Any]]]] = {
        "springs": {
            name: partial(hidden_physics, name, case, (STATIC, TYPE, JOINT), 0) for name, case in SPRINGS.items()
        },
        "bends": {
            name: partial(hidden_physics, name, case, (STATIC, TYPE, NETWORK), 0) for name, case in BENDS.items()
        },
        "choices": {
            name: partial(choice, name, twin, wanted, k)
            for k, (name, (twin, wanted)) in enumerate(mixed(robot).items())
        },
        "versus": {"calves 12 N·m/rad at -1.8": lambda: versus(0)},
        "worn": {"go2-worn": lambda: worn(0)},
        "range": {
            "calves 12 N·m/rad at -1.8": lambda: out_of_range("spring", SPRINGS["calves 12 N·m/rad at -1.8"], 0),
        },
        "full": {"calves 12 N·m/rad at -1.8": lambda: full(0)},
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", nargs="+", default=list(jobs), choices=list(jobs))
    options = parser.parse_args()
    path = RESULTS / "missing_physics.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    kept = {piece: kept[piece] for piece in jobs if piece in kept}
    for piece in options.pieces:
        for name, job in jobs[piece].items():
            if name in kept.setdefault(piece, {}):
                continue
            print(f"{piece}: {name}", flush=True)
            kept[piece][name] = job()
            right = [row["right"] for row in kept.get("choices", {}).values()]
            write_results("missing_physics.json", {"right_choices": f"{sum(right)} of {len(right)}", **kept})


if __name__ == "__main__":
    main()
