"""How fast and how exact the Wasserstein distance of many channels is, beside scipy and POT, and what share
of a search it takes.

  python bench/distance.py            # needs scipy and POT: pip install scipy pot

12,800 samples (64 episodes of 4 s at 50 Hz) × 36 channels (position, velocity and action of 12 joints). The three are
timed in turns in one process, on the same samples and one thread each (scipy's dot products on a second one that has to
wait for a busy core would make it look several times slower); the figure is the ratio of the fastest of each, which a
busy machine disturbs least. Exactness is the largest difference to scipy in double precision, for equal and for unequal
counts. The share is the time to score a population of 32 candidates by the default cost over the time of the rollouts
that it scores: a few candidates are rolled out, with the shipped policy in the loop, and their time is scaled to 32.
Writes bench/results/distance.json.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from results import write_results

from surefoot.gap import Case, Simulated, Simulator, make_cost, robot_side, schedule_of
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.distance import wasserstein
from surefoot.logs import record
from surefoot.sim import load_twin

try:
    import ot
    from scipy.stats import wasserstein_distance
except ImportError as missing:
    sys.exit(
        f"this benchmark compares with scipy and POT, and {missing.name} is not installed; `pip install scipy pot` adds"
        " both"
    )

SAMPLES, CHANNELS = 12_800, 36
POPULATION, EPISODES, SECONDS = 32, 64, 4.0
Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]


def scipy_loop(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One channel after the other, as its users do it."""
    return np.array([wasserstein_distance(a[:, i], b[:, i]) for i in range(a.shape[1])])


def pot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All channels in one call."""
    return np.asarray(ot.wasserstein_1d(a, b, p=1))


def samples(n: int, seed: int, dtype: type) -> np.ndarray:
    """Two-humped values, as a gait gives them."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, CHANNELS)) + 2.0 * (rng.random((n, CHANNELS)) < 0.4)).astype(dtype)


def speed(dtype: type, repeats: int) -> dict[str, Any]:
    """Times of the three, in turns."""
    ways: dict[str, Distance] = {"surefoot": wasserstein, "scipy": scipy_loop, "pot": pot}
    a, b = samples(SAMPLES, 0, dtype), samples(SAMPLES, 1, dtype)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            way(a, b)
            times[name].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in times.items()}
    return {
        "fastest_ms": {name: round(1e3 * value, 2) for name, value in best.items()},
        "median_ms": {name: round(1e3 * float(np.median(values)), 2) for name, values in times.items()},
        "times_faster_than": {name: round(best[name] / best["surefoot"], 1) for name in ("scipy", "pot")},
    }


def exactness() -> dict[str, float]:
    """Largest difference to scipy over the channels, in double precision."""
    a = samples(SAMPLES, 2, float)
    counts = {"equal counts": SAMPLES, "unequal counts": SAMPLES - 1, "half as many": SAMPLES // 2, "far fewer": 777}
    found = {}
    for name, n in counts.items():
        b = samples(n, 3, float)
        found[name] = float(np.abs(wasserstein(a, b) - scipy_loop(a, b)).max())
    return found


def share(candidates: int, repeats: int) -> dict[str, Any]:
    """Time to score a population over the time to simulate it."""
    twin = load_twin("go2-identified")
    robot = twin.robot
    log = record(twin, "walk", rollouts=EPISODES, seconds=SECONDS)
    schedule = schedule_of(log, robot, settle_s=0.0)
    case = Case(robot, "walk", log, schedule=schedule)
    simulator = Simulator(case.driver, schedule, PUBLISHED)
    cost = make_cost("wasserstein", robot_side(case, PUBLISHED))
    rolled, scored = [], []
    for k in range(repeats):
        start = time.perf_counter()
        run = simulator.run(None, np.zeros((candidates, 0)), seed=k)
        rolled.append((time.perf_counter() - start) * POPULATION / candidates)
        population = Simulated(
            np.resize(run.samples, (POPULATION, *run.samples.shape[1:])), run.piece, np.resize(run.fallen, POPULATION)
        )
        start = time.perf_counter()
        cost(population)
        scored.append(time.perf_counter() - start)
    return {
        "population": POPULATION,
        "pieces": schedule.n,
        "ticks": schedule.command.shape[1],
        "channels": CHANNELS,
        "physics_hz": robot.physics_hz,
        "rollouts_s": round(float(np.median(rolled)), 2),
        "rollouts_are": f"the time of {candidates} candidates, times {POPULATION / candidates:g}",
        "scoring_s": round(float(np.median(scored)), 3),
        "share_percent": round(100 * float(np.median(scored) / np.median(rolled)), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--candidates", type=int, default=4, help="that are rolled out to measure the share")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    exact = exactness()
    fast = {
        "single precision, as samples are": speed(np.float32, arguments.repeats),
        "double precision": speed(np.float64, arguments.repeats),
    }
    for name, found in fast.items():
        print(f"{name}: {found['fastest_ms']} ms, times faster than {found['times_faster_than']}")
    print("largest difference to scipy:", exact)
    part = share(arguments.candidates, 3)
    print(
        f"scoring {POPULATION} candidates: {part['scoring_s']} s beside {part['rollouts_s']} s of rollouts,"
        f" {part['share_percent']} %"
    )
    single = fast["single precision, as samples are"]["times_faster_than"]
    content = {
        "samples": SAMPLES,
        "channels": CHANNELS,
        "speed": fast,
        "largest_difference_to_scipy": exact,
        "share": part,
        "asked": {
            "10 times faster than both": min(single.values()) >= 10,
            "1e-9 in double precision": max(exact.values()) <= 1e-9,
            "less than 5 percent of the rollouts": part["share_percent"] < 5,
        },
        "compared_with": {name: version(name) for name in ("scipy", "pot")},
    }
    write_results("distance.json", content, arguments.out)


if __name__ == "__main__":
    main()
