"""What each cost sees of a known parameter error, under torque noise and with clocks that do not agree.

  python bench/cost_curves.py         # a few minutes on two cores

The robot is a Go2 with the identified friction and inertia, recorded for 24 episodes of 4 s with torque noise of 0, 2.5
and 5 N·m, with and without recordings that start 0.02 to 0.1 s late. The simulator has the same physics and the same
level of noise, other draws and other starts, and one thing wrong: dry friction or armature of all joints, times 0.5 to
2. At the factor 1 the simulator is the robot, so the cost there is its floor; curves are drawn as multiples of it, and
a curve that stays near 1 does not see the error. Bands are the scatter over three seeds of the simulator. Writes
bench/results/cost_curves.json and cost_curves.html.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from results import RESULTS, provenance, write_results

from surefoot.files import write_text
from surefoot.gap import COSTS, Case, Simulator, make_cost, robot_side, schedule_of
from surefoot.gap.channels import PUBLISHED
from surefoot.logs import record
from surefoot.report import Page
from surefoot.report.charts import ADAPTED, PANEL, ROBOT, SIMULATOR, Bar, Key, Level, Series, bars, line_chart
from surefoot.sim import Worlds, load_twin
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

NOISE_NM = (0.0, 2.5, 5.0)
SHIFTS_S = ((0.0, 0.0), (0.02, 0.1))
FACTORS = (0.5, 0.63, 0.8, 1.0, 1.25, 1.6, 2.0)
PARAMETERS = {"dry_friction_nm": "dry friction", "armature_kgm2": "armature"}
TRUTH = int(np.argmin(np.abs(np.array(FACTORS) - 1)))
UPRIGHT = -0.5  # gravity along the base's z axis
LOOKS = (ROBOT, SIMULATOR, ADAPTED)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Candidates (n, parameters): factors on the truth of a virtual robot."""

    twin: Twin
    torque_speed: bool = False

    def apply(self, worlds: Worlds, candidates: np.ndarray, pieces: int) -> None:
        """All of the robot's physics, and the factors on top."""
        self.twin.physics.apply(worlds)
        for k, name in enumerate(PARAMETERS):
            hidden = np.array(self.twin.physics.parameters[name])
            worlds.set(name, np.repeat(candidates[:, k : k + 1], pieces, axis=0) * hidden)


def curves(noise_nm: float, shift_s: tuple[float, float], rollouts: int, seconds: float, seeds: int) -> dict[str, Any]:
    """Costs (seeds, factors) by parameter and cost, for one robot."""
    shipped = load_twin("go2-identified")
    names = ("armature_kgm2", "dry_friction_nm", "viscous_friction_nms")
    hidden = {name: shipped.physics.parameters[name] for name in names} | {"torque_noise_nm": noise_nm}
    twin = Twin(shipped.name, Physics(shipped.robot, hidden), time_shift_s=shift_s)
    robot = twin.robot
    log = record(twin, "walk", rollouts=rollouts, seconds=seconds, seed=90_001)
    assert log.gravity is not None
    schedule = schedule_of(log, robot, log.gravity[:, 2] < UPRIGHT)
    case = Case(robot, "walk", log, schedule=schedule)
    simulator = Simulator(case.driver, schedule, PUBLISHED)
    side = robot_side(case, PUBLISHED)
    costs = {name: make_cost(name, side) for name in COSTS}
    candidates = np.ones((len(PARAMETERS) * len(FACTORS), len(PARAMETERS)))
    for k in range(len(PARAMETERS)):
        candidates[k * len(FACTORS) : (k + 1) * len(FACTORS), k] = FACTORS
    found: dict[str, dict[str, list[list[float]]]] = {name: {cost: [] for cost in COSTS} for name in PARAMETERS}
    fallen = []
    for seed in range(seeds):
        run = simulator.run(Scaled(twin), candidates, seed)
        fallen.append(float(run.fallen.mean()))
        for cost, score in costs.items():
            values = score(run)
            for k, name in enumerate(PARAMETERS):
                found[name][cost].append([float(value) for value in values[k * len(FACTORS) : (k + 1) * len(FACTORS)]])
    fell = log.metadata["fallen_episodes"]
    return {
        "noise_nm": noise_nm,
        "shift_s": list(shift_s),
        "robot_fell": fell,
        "simulator_fell": float(np.mean(fallen)),
        "costs": found,
    }


def summary(condition: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Where each curve is lowest, how much it rises, and whether that is more than its scatter at the truth."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, by_cost in condition["costs"].items():
        found[name] = {}
        for cost, rows in by_cost.items():
            values = np.array(rows)
            mean = values.mean(axis=0)
            ends = 0.5 * (mean[0] + mean[-1])
            scatter = float(values.std(axis=0, ddof=1).mean()) if len(values) > 1 else float("nan")
            found[name][cost] = {
                "lowest_at": FACTORS[int(mean.argmin())],
                "floor": round(float(mean[TRUTH]), 5),
                "ends_over_floor": round(float(ends / mean[TRUTH]), 2),
                "ends_above_floor_in_scatters": round(float((ends - mean[TRUTH]) / scatter), 1),
            }
    return found


def page(conditions: list[dict[str, Any]]) -> str:
    """The curves to look at."""
    made = Page(
        "What each cost sees of a known error",
        "Go2, 24 episodes of 4 s; the simulator is the robot with one thing wrong",
    )
    made.text(
        "A cost at the true value is its floor, drawn as 1. A curve that rises steeply to both sides finds the"
        " parameter; one that stays near its floor does not see it, and one that is lowest elsewhere is misled. Bands:"
        " scatter over seeds of the simulator."
    )
    made.section("How far a factor of two stands out")
    for name, title in PARAMETERS.items():
        made.figure(
            partial(_stands_out, conditions, name, title),
            "Mean of both ends (0.5 and 2) over the floor, with late recordings.",
        )
    keys = [Key(f"torque noise {noise:g} N·m", look) for noise, look in zip(NOISE_NM, LOOKS, strict=True)]
    for name, title in PARAMETERS.items():
        made.section(title.capitalize())
        for shift in SHIFTS_S:
            made.subsection(
                "Recordings start on time"
                if not any(shift)
                else f"Recordings start {shift[0]:g} to {shift[1]:g} s late"
            )
            chosen = [condition for condition in conditions if condition["shift_s"] == list(shift)]
            made.panels(
                [_panel(chosen, name, cost) for cost in COSTS],
                f"Cost over its floor, against {title} as a multiple of the truth.",
                keys,
            )
    made.provenance(provenance())
    return made.render()


def _panel(conditions: list[dict[str, Any]], name: str, cost: str) -> str:
    lines = []
    for condition, look in zip(conditions, LOOKS, strict=True):
        values = np.array(condition["costs"][name][cost])
        values = values / values[:, TRUTH].mean()
        middle, scatter = values.mean(axis=0), values.std(axis=0)
        lines.append(Series("", np.log2(FACTORS), middle, look, middle - scatter, middle + scatter))
    return line_chart(
        lines, "log₂ of the factor", "cost / floor", title=cost, levels=[Level(1.0, "floor")], width=PANEL, height=120
    )


def _stands_out(conditions: list[dict[str, Any]], name: str, title: str, width: int) -> str:
    late = [condition for condition in conditions if any(condition["shift_s"])]
    rows = [
        Bar(f"{cost}, {condition['noise_nm']:g} N·m", summary(condition)[name][cost]["ends_over_floor"], look=look)
        for cost in COSTS
        for condition, look in zip(late, LOOKS, strict=True)
    ]
    return bars(rows, "ends / floor", title=title, floor=1.0, floor_label="sees nothing", width=width, row_px=16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "cost_curves.json")
    arguments = parser.parse_args()
    conditions = []
    for shift in SHIFTS_S:
        for noise in NOISE_NM:
            condition = curves(noise, shift, arguments.rollouts, arguments.seconds, arguments.seeds)
            condition["summary"] = summary(condition)
            conditions.append(condition)
            print(
                f"noise {noise:g} N·m, late by {shift[0]:g} to {shift[1]:g} s, fell {condition['robot_fell']} and"
                f" {condition['simulator_fell']:.1%}"
            )
            for name in PARAMETERS:
                told = (
                    f"{cost} {s['ends_over_floor']} at {s['lowest_at']}"
                    for cost, s in condition["summary"][name].items()
                )
                print(f"  {name}: {', '.join(told)}", flush=True)
    content = {
        "rollouts": arguments.rollouts,
        "seconds": arguments.seconds,
        "seeds": arguments.seeds,
        "factors": FACTORS,
        "conditions": conditions,
    }
    write_results("cost_curves.json", content, arguments.out)
    write_text(arguments.out.with_suffix(".html"), page(conditions))


if __name__ == "__main__":
    main()
