"""The gap and its floor.

The gap is the distance between robot and simulator under the same commands. Two floors say what it would be if the
simulator were the robot: the simulator against itself, with other starts and other noise (each run in turn plays the
robot), and the robot against itself, by splitting its episodes at random. The halves of a split have different commands
and half the samples, which alone makes them differ; the simulator, split in the same way, tells by how much, and the
robot's figure is corrected by that ratio.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.gap.case import Case
from surefoot.gap.channels import PUBLISHED, Channel, Kind, channels_of
from surefoot.gap.costs import RobotSamples, Wasserstein
from surefoot.gap.distance import sort_channels, w1_sorted, wasserstein
from surefoot.gap.schedule import Schedule, kinds_in, robot_samples, spread_of
from surefoot.gap.simulate import ONE, Candidates, Simulated, Simulator, refuse_falling
from surefoot.journal import Journal
from surefoot.sim.physics import Physics
from surefoot.streams import Stream

RUNS = 6  # of the simulator, each with its own starts and noise
SPLITS = 20  # of the robot's episodes
RESAMPLES = 40  # of the robot's episodes, for the interval of the gap
SIGMAS = 3.0  # of the simulator's own scatter: a gap above the floor by less is not measurable


@dataclass(frozen=True, eq=False)
class Gap:
    """Distances in units of the robot's own spread in each channel."""

    channels: tuple[Channel, ...]
    spread: np.ndarray  # (n_channels,) in the channel's own unit
    distance: np.ndarray  # (n_channels,) robot to simulator, mean over the runs
    floor: np.ndarray  # (n_channels,) simulator to itself
    limit: np.ndarray  # (n_channels,) what the simulator's own scatter explains
    total: float
    interval: tuple[float, float]  # 90 % of the total, over episodes
    total_floor: float
    robot_floor: float  # robot to itself, corrected for commands and count
    total_limit: float
    pieces: int
    seconds: float  # compared, after settling
    fallen: float  # share of the simulated pieces that fell

    @property
    def measurable(self) -> bool:
        """Whether there is a gap at all."""
        return self.total > self.total_limit

    @property
    def worst(self) -> list[int]:
        """Channels by distance above their limit, largest first."""
        return [int(i) for i in np.argsort(-(self.distance - self.limit))]

    def matrix(self) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
        """Places, kinds, and distances and limits as (places, kinds); NaN where there is no such channel."""
        places = list(dict.fromkeys(channel.where for channel in self.channels))
        kinds = list(dict.fromkeys(str(channel.kind) for channel in self.channels))
        distance, limit = (np.full((len(places), len(kinds)), np.nan) for _ in range(2))
        for i, channel in enumerate(self.channels):
            at = places.index(channel.where), kinds.index(channel.kind)
            distance[at], limit[at] = self.distance[i], self.limit[i]
        return places, kinds, distance, limit

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "total": self.total,
            "interval": list(self.interval),
            "floor": self.total_floor,
            "robot_floor": self.robot_floor,
            "limit": self.total_limit,
            "measurable": self.measurable,
            "pieces": self.pieces,
            "seconds": self.seconds,
            "fallen": self.fallen,
            "channels": [
                {
                    "where": c.where,
                    "kind": c.kind,
                    "distance": float(d),
                    "floor": float(f),
                    "limit": float(m),
                    "spread": float(s),
                }
                for c, d, f, m, s in zip(self.channels, self.distance, self.floor, self.limit, self.spread, strict=True)
            ],
        }

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Gap":
        """From what `to_dict` gave, through JSON or not."""
        rows = content["channels"]
        columns = {key: np.array([row[key] for row in rows]) for key in ("spread", "distance", "floor", "limit")}
        low, high = content["interval"]
        return Gap(
            channels=tuple(Channel(row["where"], row["kind"]) for row in rows),
            **columns,
            total=content["total"],
            interval=(low, high),
            total_floor=content["floor"],
            robot_floor=content["robot_floor"],
            total_limit=content["limit"],
            pieces=content["pieces"],
            seconds=content["seconds"],
            fallen=content["fallen"],
        )


@dataclass(frozen=True, eq=False)
class Measured:
    """A gap and what it was computed from."""

    gap: Gap
    robot: RobotSamples
    runs: tuple[Simulated, ...]
    simulator: Simulator


def robot_side(case: Case, kinds: tuple[Kind, ...]) -> RobotSamples:
    """The robot's samples of the pieces of a case, with their spread."""
    contract = case.robot.contract
    parts = robot_samples(case.log, case.schedule, contract, kinds)
    samples = np.concatenate(parts)
    piece = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    channels = channels_of(contract, kinds)
    return RobotSamples(samples, piece, channels, spread_of(samples, channels))


def measure(
    case: Case,
    *,
    physics: Physics | Candidates | None = None,
    point: np.ndarray | None = None,
    kinds: tuple[Kind, ...] = PUBLISHED,
    seed: int = 0,
    threads: int = 0,
    runs: int = RUNS,
    may_fall: bool = False,
    journal: Journal | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Run the simulator several times under the log's commands, and compare; one that mostly falls is
    refused unless it may.

    `physics` is what is simulated, or a space of which `point` is. With a journal, a run that was killed continues with
    the runs that are missing.
    """
    kinds, schedule = kinds_in(case.log, kinds), case.schedule
    side = robot_side(case, kinds)
    simulator = Simulator(case.driver, schedule, kinds, threads)
    points = ONE if point is None else np.asarray(point)[None]
    ticks = schedule.command.shape[1]
    simulated = []
    for run in range(runs):

        def tick(done: int, _: int, run: int = run) -> None:
            if progress is not None:
                progress(run * ticks + done, runs * ticks)

        simulated.append(_run(simulator, physics, points, seed + 1000 * run, tick, journal))
        if not may_fall:
            refuse_falling(float(simulated[0].fallen[0]), case.robot, "the policy")
    gap = _gap(side, simulated, schedule, np.random.default_rng([seed, Stream.NOISE_FLOOR]))
    return Measured(gap, side, tuple(simulated), simulator)


def _run(
    simulator: Simulator,
    physics: Physics | Candidates | None,
    points: np.ndarray,
    seed: int,
    tick: Callable[[int, int], None],
    journal: Journal | None,
) -> Simulated:
    """One run of the simulator, from the journal where it is known."""
    question = b"run" + repr(seed).encode() + points.tobytes()
    known = None if journal is None else journal.recall(question, "samples", "piece", "fallen")
    if known is not None:
        return Simulated(known["samples"], known["piece"], known["fallen"])
    run = simulator.run(physics, points, seed, tick)
    if journal is not None:
        journal.keep(question, {"samples": run.samples, "piece": run.piece, "fallen": run.fallen})
    return run


def _gap(side: RobotSamples, runs: list[Simulated], schedule: Schedule, rng: np.random.Generator) -> Gap:
    cost = Wasserstein(side)
    to_robot = np.stack([cost.per_channel(run)[0] for run in runs])
    played = _each_plays_the_robot(runs, side)
    limit, total_limit = (
        value.mean(axis=0) + SIGMAS * value.std(axis=0, ddof=1) for value in (played, played.mean(axis=1))
    )
    robot_floor = (
        _split(side.samples, side, rng) / max(_split(runs[0].samples[0], side, rng), 1e-12) * float(played.mean())
    )
    return Gap(
        channels=side.channels,
        spread=side.spread,
        distance=to_robot.mean(axis=0),
        floor=played.mean(axis=0),
        limit=limit,
        total=float(to_robot.mean()),
        interval=_interval(side, runs, float(to_robot.mean()), rng),
        total_floor=float(played.mean()),
        robot_floor=robot_floor,
        total_limit=float(total_limit),
        pieces=schedule.n,
        seconds=len(side.samples) * schedule.dt_s,
        fallen=float(np.mean([run.fallen[0] for run in runs])),
    )


def _each_plays_the_robot(runs: list[Simulated], side: RobotSamples) -> np.ndarray:
    """Mean distance of each run to all others, (runs, n_channels)."""
    n = len(runs)
    rows = [sort_channels(run.samples[0]) for run in runs]
    pair = np.zeros((n, n, len(side.channels)))
    for i in range(n):
        for j in range(i):
            pair[i, j] = pair[j, i] = w1_sorted(rows[i], rows[j]) / side.spread
    return pair.sum(axis=1) / (n - 1)


def _split(samples: np.ndarray, side: RobotSamples, rng: np.random.Generator) -> float:
    """Mean distance between random halves of the episodes."""
    pieces = int(side.piece[-1]) + 1
    distances = []
    for _ in range(SPLITS):
        half = np.zeros(pieces, dtype=bool)
        half[rng.permutation(pieces)[: pieces // 2]] = True
        rows = half[side.piece]
        distances.append(float((wasserstein(samples[rows], samples[~rows]) / side.spread).mean()))
    return float(np.mean(distances))


def _interval(side: RobotSamples, runs: list[Simulated], total: float, rng: np.random.Generator) -> tuple[float, float]:
    """90 % of the total, by drawing episodes anew on both sides alike.

    Drawing with replacement thins the samples, which by itself makes distances larger; the spread of the draws is used,
    around the gap that all episodes give.
    """
    pieces = int(side.piece[-1]) + 1
    where = [np.flatnonzero(side.piece == i) for i in range(pieces)]
    drawn = []
    for k in range(RESAMPLES):
        rows = np.concatenate([where[i] for i in rng.integers(0, pieces, pieces)])
        simulated = runs[k % len(runs)].samples[0]
        drawn.append(float((wasserstein(side.samples[rows], simulated[rows]) / side.spread).mean()))
    low, high = np.quantile(np.array(drawn) - np.mean(drawn), (0.05, 0.95))
    return max(total + float(low), 0.0), total + float(high)
