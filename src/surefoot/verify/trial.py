"""One policy on several simulators at once, episode by episode: the same commands, starts and pushes everywhere.

Both this and `verify.evaluate` aggregate what the probes of `sim.probes` measure. Here each episode has a number of its
own, so that two policies can be compared episode by episode. Simulators that differ in parameters alone are one batch
of worlds; another time step, or something that a fit adds beside the parameters, needs another. Straight walks are a
batch of their own, since they are over sooner.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.errors import SurefootError
from surefoot.policy.agents import Agent
from surefoot.robot import Robot
from surefoot.sim.nonfinite import NonFinite, NonFiniteProbe, NonFiniteRecord, nonfinite
from surefoot.sim.physics import Physics
from surefoot.sim.probes import (
    AccelerationProbe,
    ActionChangeProbe,
    EffortProbe,
    FallProbe,
    PathProbe,
    TrackingProbe,
    world_means,
    world_sums,
)
from surefoot.sim.walk import Probe, Progress, Script, planar_push, rise_ticks, walk
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream
from surefoot.verify.evaluate import (
    DRIFT_S,
    EPISODE_S,
    GRAVITY_M_S2,
    HOLD_S,
    PUSH_EVERY_S,
    PUSH_M_S,
    SETTLE_S,
    START_SPREAD_RAD,
    directions_of,
    settled,
)

PATH_HZ = 5.0  # points of a path that is kept for drawing


@dataclass(frozen=True)
class Place:
    """A simulator to walk in, and how many episodes."""

    name: str
    physics: Physics
    episodes: int  # with random commands, and as many again with pushes
    straight_episodes: int  # in each direction


@dataclass(frozen=True, eq=False)
class Trial:
    """What one policy did in one simulator. Episode k of one policy meets the same command, start and noise
    as that of another.
    """

    directions: tuple[str, ...]
    fell: np.ndarray  # (episodes,)
    fell_pushed: np.ndarray  # (episodes,)
    fell_straight: np.ndarray  # (directions, straight_episodes)
    velocity_error_m_s: np.ndarray  # (episodes,) NaN where it fell before anything was counted
    turn_error_rad_s: np.ndarray
    power_w: np.ndarray  # (episodes,) positive mechanical power of the motors
    action_change: np.ndarray  # (episodes,) root mean square, per joint and tick
    joint_acceleration_rad_s2: np.ndarray  # (episodes,) root mean square
    cost_of_transport: float  # work / (weight × way), over all episodes with random commands
    commanded_m: np.ndarray  # (directions,) way that the command asks for
    way_m: np.ndarray  # (directions, straight_episodes) along the command; NaN where it fell
    lateral_m: np.ndarray  # across it, to the left positive
    path_m: np.ndarray  # (directions, straight_episodes, points, 2) along and across; NaN from a fall on
    nonfinite: NonFinite | None = None  # of a policy that gave actions which are no numbers

    @property
    def drift_m(self) -> np.ndarray:
        """Distance off the commanded line, summed over the directions, (straight_episodes,)."""
        return np.asarray(np.abs(self.lateral_m).sum(axis=0))

    @property
    def way_error_m(self) -> np.ndarray:
        """How far the way along the line is off the commanded one, summed likewise: who stands still does not drift."""
        return np.asarray(np.abs(self.way_m - self.commanded_m[:, None]).sum(axis=0))


def lines_of(robot: Robot) -> dict[str, tuple[float, float, float]]:
    """Full speed along each axis of the command range, without turning on the spot."""
    return {name: command for name, command in directions_of(robot).items() if command[0] or command[1]}


def drift_s_of(seconds: float) -> float:
    """How long a robot walks straight until its drift is read."""
    return min(DRIFT_S, seconds)


def run_trials(
    robot: Robot,
    places: Sequence[Place],
    make_agent: Callable[[int], Agent],
    *,
    seconds: float = EPISODE_S,
    seed: int = 0,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """Walk in all places, as many as possible in one batch; trials in the order of the places."""
    for place in places:
        if min(place.episodes, place.straight_episodes) < 1:
            raise SurefootError(
                f"{min(place.episodes, place.straight_episodes)} episodes measure nothing; run at least 1"
            )
    if not SETTLE_S + 0.2 <= seconds <= 600:
        raise SurefootError(
            f"episodes of {seconds:g} s cannot be measured; give a length from {SETTLE_S + 0.2:g} to 600 s"
        )
    batches: dict[
        tuple[float, int, int], list[int]
    ] = {}  # what a batch shares: the rate, and what is added to the model
    for i, place in enumerate(places):
        physics = place.physics
        shared = (
            physics.physics_hz or robot.physics_hz,
            id(physics.network),
            id(physics.curves) if physics.curves else 0,
        )
        batches.setdefault(shared, []).append(i)
    trials: dict[int, Trial] = {}
    for b, chosen in enumerate(batches.values()):
        batch = _Batch(robot, [places[i] for i in chosen], make_agent, seed, threads)
        random = _random_course(robot, batch.places, seconds, seed)
        straight = _straight_course(robot, batch.places, seconds, seed)
        total = random.ticks + straight.ticks

        def counting(before: int, total: int = total) -> Progress | None:
            return None if progress is None else lambda done, _: progress(before + done, len(batches) * total)

        random_walks = batch.walk_randomly(random, counting(b * total))
        straight_walks = batch.walk_straight(straight, counting(b * total + random.ticks))
        trials |= zip(chosen, _trials(batch, random, straight, random_walks, straight_walks), strict=True)
    return [trials[i] for i in range(len(places))]


@dataclass(frozen=True, eq=False)
class _Course:
    """What the worlds of one batch walk, rows of one place beside each other."""

    script: Script
    joints_rad: np.ndarray  # (n_worlds, n_joints) to start from
    start: np.ndarray  # (n_places + 1,) first row of each place, and the end

    @property
    def ticks(self) -> int:
        """Control ticks of an episode, the rise included."""
        return self.script.n_rise + self.script.n_ticks


def _starts(robot: Robot, places: Sequence[Place], seed: int) -> np.ndarray:
    """Joint positions to start from; drawn for the largest place, of which the others take the first:
    episode k is the same in all.
    """
    contract = robot.contract
    most = max(count for s in places for count in (s.episodes, s.straight_episodes))
    random = np.random.default_rng([seed, Stream.TRIAL, 1])
    joints = contract.pose_rad + random.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, (most, contract.n_joints))
    return np.clip(joints, *np.array(contract.position_limit_rad).T)


def _random_course(robot: Robot, places: Sequence[Place], seconds: float, seed: int) -> _Course:
    """Of each place the walks under random commands, then the same with pushes."""
    contract = robot.contract
    ticks, hold = (round(time_s * contract.control_hz) for time_s in (seconds, HOLD_S))
    push_ticks = round(min(PUSH_EVERY_S, seconds / 2) * contract.control_hz)  # short episodes are pushed too
    most = max(s.episodes for s in places)
    low, high = np.array(contract.command_range).T
    command = (
        np.random.default_rng([seed, Stream.TRIAL, 0])
        .uniform(low, high, (most, -(-ticks // hold), 3))
        .repeat(hold, axis=1)[:, :ticks]
    )
    push_rad = np.random.default_rng([seed, Stream.TRIAL, 2]).uniform(0, 2 * np.pi, (most, ticks // push_ticks))
    joints = _starts(robot, places, seed)
    start = np.concatenate([[0], np.cumsum([2 * s.episodes for s in places])])
    pushed = np.concatenate(
        [first + s.episodes + np.arange(s.episodes) for first, s in zip(start, places, strict=False)]
    )
    angle_rad = np.concatenate([push_rad[: s.episodes] for s in places])
    commands = np.concatenate([command[: s.episodes] for s in places for _ in range(2)])
    pushes = tuple(
        planar_push(k - 1, pushed, PUSH_M_S, angle_rad[:, i])
        for i, k in enumerate(range(push_ticks, ticks, push_ticks))  # none at the end: nobody sees what becomes of it
    )
    return _Course(
        script=Script(commands.swapaxes(0, 1), n_rise=rise_ticks(robot), pushes=pushes),
        joints_rad=np.concatenate([joints[: s.episodes] for s in places for _ in range(2)]),
        start=start,
    )


def _straight_course(robot: Robot, places: Sequence[Place], seconds: float, seed: int) -> _Course:
    """Of each place the straight walks of each direction; no longer than until the drift is read."""
    lines, joints = np.array(list(lines_of(robot).values())).reshape(-1, 3), _starts(robot, places, seed)
    ticks = round(drift_s_of(seconds) * robot.contract.control_hz)
    commands = np.concatenate([lines.repeat(s.straight_episodes, axis=0) for s in places])
    return _Course(
        script=Script(np.broadcast_to(commands, (ticks, *commands.shape)), n_rise=rise_ticks(robot)),
        joints_rad=np.concatenate([joints[: s.straight_episodes] for s in places for _ in lines] or [joints[:0]]),
        start=np.concatenate([[0], np.cumsum([len(lines) * s.straight_episodes for s in places])]),
    )


@dataclass(frozen=True, eq=False)
class _RandomWalks:
    """What one batch did under random commands, each (n_worlds,)."""

    fell: np.ndarray
    velocity_error_m_s: np.ndarray
    turn_error_rad_s: np.ndarray
    power_w: np.ndarray
    action_change: np.ndarray
    joint_acceleration_rad_s2: np.ndarray
    power_sum_w: np.ndarray  # over the ticks at which it is up
    speed_sum_m_s: np.ndarray
    finite: NonFiniteRecord


@dataclass(frozen=True, eq=False)
class _StraightWalks:
    """Where one batch went under constant commands; NaN from a fall on."""

    fell: np.ndarray  # (n_worlds,)
    path_m: np.ndarray  # (n_worlds, n_points, 2) forward and left of the start
    end_m: np.ndarray  # (n_worlds, 2)
    finite: NonFiniteRecord


@dataclass(frozen=True, eq=False)
class _Batch:
    """Places whose worlds are stepped together."""

    robot: Robot
    places: Sequence[Place]
    make_agent: Callable[[int], Agent]
    seed: int
    threads: int

    def walk_randomly(self, course: _Course, progress: Progress | None) -> _RandomWalks:
        """Walk a course of random commands."""
        posture = self.robot.posture
        tracking, falls, effort = TrackingProbe(posture), FallProbe(posture), EffortProbe()
        change, acceleration, finite = ActionChangeProbe(), AccelerationProbe(), NonFiniteProbe()
        self._walk(course, (tracking, falls, effort, change, acceleration, finite), progress)
        up, errors, spent = ~falls.result().down, tracking.result(), effort.result()
        counted = up & settled(up.shape[1], self.robot.contract.control_hz)
        return _RandomWalks(
            fell=falls.result().fell,
            velocity_error_m_s=world_means(errors.velocity_error_m_s, counted),
            turn_error_rad_s=world_means(errors.turn_error_rad_s, counted),
            power_w=world_means(spent.power_w, up),
            action_change=change.result().rms(up),
            joint_acceleration_rad_s2=acceleration.result().rms(up),
            power_sum_w=world_sums(spent.power_w, up),
            speed_sum_m_s=world_sums(spent.speed_m_s, up),
            finite=finite.result(),
        )

    def walk_straight(self, course: _Course, progress: Progress | None) -> _StraightWalks:
        """Walk a course of constant commands."""
        posture, ticks, n = self.robot.posture, course.script.n_ticks, len(course.joints_rad)
        every = max(1, round(self.robot.contract.control_hz / PATH_HZ))
        read = sorted({*range(every, ticks + 1, every), ticks})
        if not n:  # a robot whose command range has no straight walk
            nowhere, never = np.zeros((0, 1 + ticks // every, 2)), NonFiniteRecord(np.zeros(0, int), np.zeros((0, 3)))
            return _StraightWalks(np.zeros(0, dtype=bool), nowhere, np.zeros((0, 2)), never)
        falls, path, finite = FallProbe(posture), PathProbe(posture, read), NonFiniteProbe()
        self._walk(course, (falls, path, finite), progress)
        down = falls.result().down[:, np.array(read) - 1]
        position_m = np.where(down[..., None], np.nan, path.result().position_m)
        return _StraightWalks(
            fell=falls.result().fell,
            path_m=np.concatenate([np.zeros((n, 1, 2)), position_m[:, : ticks // every]], axis=1),
            end_m=position_m[:, -1],
            finite=finite.result(),
        )

    def _walk(self, course: _Course, probes: Sequence[Probe], progress: Progress | None) -> None:
        worlds, agent = self._worlds(course), self.make_agent(len(course.joints_rad))
        worlds.reset(joint_position_rad=course.joints_rad)
        agent.reset(None)
        walk(worlds, agent, course.script, probes, progress)

    def _worlds(self, course: _Course) -> Worlds:
        shared = self.places[0].physics  # in all that is not a parameter
        worlds = Worlds(
            self.robot,
            len(course.joints_rad),
            seed=self.seed,
            threads=self.threads,
            physics_hz=shared.physics_hz,
            torque_speed=any(place.physics.torque_speed for place in self.places),
        )
        replace(shared, parameters={}).apply(worlds)
        for first, end, place in zip(course.start, course.start[1:], self.places, strict=False):
            Physics(self.robot, place.physics.parameters).apply(worlds, np.arange(first, end))
        return worlds


def _trials(
    batch: _Batch, random: _Course, straight: _Course, walked: _RandomWalks, walked_straight: _StraightWalks
) -> list[Trial]:
    robot, lines = batch.robot, lines_of(batch.robot)
    ahead = np.array([command[:2] for command in lines.values()]).reshape(-1, 2)
    speed = np.linalg.norm(ahead, axis=1)
    ahead /= speed[:, None]
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    weight_n = robot.mass_kg * GRAVITY_M_S2
    trials = []
    for i, place in enumerate(batch.places):
        walks = random.start[i] + np.arange(place.episodes)
        both = random.start[i] + np.arange(2 * place.episodes)  # with the pushed ones
        rows = np.arange(straight.start[i], straight.start[i + 1]).reshape(len(lines), place.straight_episodes)
        path, end = walked_straight.path_m[rows], walked_straight.end_m[rows]
        work, way = walked.power_sum_w[walks].sum(), walked.speed_sum_m_s[walks].sum()  # both over the control period
        trials.append(
            Trial(
                directions=tuple(lines),
                fell=walked.fell[walks],
                fell_pushed=walked.fell[walks + place.episodes],
                fell_straight=walked_straight.fell[rows],
                velocity_error_m_s=walked.velocity_error_m_s[walks],
                turn_error_rad_s=walked.turn_error_rad_s[walks],
                power_w=walked.power_w[walks],
                action_change=walked.action_change[walks],
                joint_acceleration_rad_s2=walked.joint_acceleration_rad_s2[walks],
                cost_of_transport=float(work / max(weight_n * way, 1e-9)),
                commanded_m=speed * straight.script.n_ticks * robot.contract.control_dt_s,
                way_m=np.einsum("dsx,dx->ds", end, ahead),
                lateral_m=np.einsum("dsx,dx->ds", end, left),
                path_m=np.stack([np.einsum("dspx,dx->dsp", path, axis) for axis in (ahead, left)], axis=-1),
                nonfinite=nonfinite(
                    [(walked.finite, both), (walked_straight.finite, rows)], robot.contract.control_dt_s
                ),
            )
        )
    return trials
