"""One policy on several simulators at once, episode by episode: the same commands, starts and pushes everywhere.

Definitions are those of `verify.evaluate`; what is kept here is one number for each episode, so that two policies can
be compared episode by episode. Simulators that differ in settings alone are one batch of worlds; another time step, or
something that a fit adds beside the settings, needs another. Straight walks are a batch of their own, since they are
over sooner.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surefoot.errors import SurefootError
from surefoot.policy.agents import Agent
from surefoot.robot import Robot
from surefoot.sim.falls import Falls
from surefoot.sim.frames import in_heading_frame, turned_back, yaw_of
from surefoot.sim.physics import Physics
from surefoot.sim.worlds import Worlds
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
)
from surefoot.verify.nonfinite import NonFinite, NonFiniteWatch, nonfinite

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
    found: dict[int, Trial] = {}
    for b, chosen in enumerate(batches.values()):
        alike = [places[i] for i in chosen]
        courses = _random_course(robot, alike, seconds, seed), _straight_course(robot, alike, seconds, seed)
        total, walked, done = sum(course.ticks for course in courses), [], 0
        for course in courses:

            def tick(k: int, before: int = b * total + done, total: int = total) -> None:
                if progress is not None:
                    progress(before + k, len(batches) * total)

            walked.append(_walk(robot, alike, course, make_agent, seed, threads, tick))
            done += course.ticks
        found |= zip(chosen, _trials(robot, alike, *courses, *walked), strict=True)
    return [found[i] for i in range(len(places))]


@dataclass(frozen=True, eq=False)
class _Course:
    """What the worlds of one batch walk, rows of one place beside each other."""

    command: np.ndarray  # (n, ticks, 3)
    joints_rad: np.ndarray  # (n, n_joints) to start from
    start: np.ndarray  # (n_places + 1,) first row of each place, and the end
    pushed: np.ndarray  # rows that are pushed
    push_rad: np.ndarray  # (n_pushed, pushes) direction of each push
    push_ticks: int  # from one push to the next

    @property
    def ticks(self) -> int:
        """Control ticks of an episode."""
        return self.command.shape[1]


@dataclass(frozen=True, eq=False)
class _Walked:
    """What one batch did; places are NaN from a fall on."""

    total: dict[str, np.ndarray]  # sums over the ticks that count, by name, (n,)
    down: np.ndarray  # (n,) at the end
    path_m: np.ndarray  # (n, points, 2) in the world
    end_m: np.ndarray  # (n, 2)
    watch: NonFiniteWatch


def _starts(robot: Robot, places: Sequence[Place], seed: int) -> np.ndarray:
    """Joint positions to start from; drawn for the largest place, of which the others take the first:
    episode k is the same in all.
    """
    contract = robot.contract
    most = max(count for s in places for count in (s.episodes, s.straight_episodes))
    random = np.random.default_rng([seed, 21, 1])
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
        np.random.default_rng([seed, 21, 0])
        .uniform(low, high, (most, -(-ticks // hold), 3))
        .repeat(hold, axis=1)[:, :ticks]
    )
    push_rad = np.random.default_rng([seed, 21, 2]).uniform(0, 2 * np.pi, (most, ticks // push_ticks))
    joints = _starts(robot, places, seed)
    start = np.concatenate([[0], np.cumsum([2 * s.episodes for s in places])])
    return _Course(
        command=np.concatenate([command[: s.episodes] for s in places for _ in range(2)]),
        joints_rad=np.concatenate([joints[: s.episodes] for s in places for _ in range(2)]),
        start=start,
        pushed=np.concatenate(
            [first + s.episodes + np.arange(s.episodes) for first, s in zip(start, places, strict=False)]
        ),
        push_rad=np.concatenate([push_rad[: s.episodes] for s in places]),
        push_ticks=push_ticks,
    )


def _straight_course(robot: Robot, places: Sequence[Place], seconds: float, seed: int) -> _Course:
    """Of each place the straight walks of each direction; no longer than until the drift is read."""
    lines, joints = np.array(list(lines_of(robot).values())).reshape(-1, 3), _starts(robot, places, seed)
    ticks = round(drift_s_of(seconds) * robot.contract.control_hz)
    commands = np.concatenate([lines.repeat(s.straight_episodes, axis=0) for s in places])
    return _Course(
        command=commands[:, None].repeat(ticks, axis=1),
        joints_rad=np.concatenate([joints[: s.straight_episodes] for s in places for _ in lines] or [joints[:0]]),
        start=np.concatenate([[0], np.cumsum([len(lines) * s.straight_episodes for s in places])]),
        pushed=np.zeros(0, dtype=int),
        push_rad=np.zeros((0, 0)),
        push_ticks=ticks,
    )


def _worlds(robot: Robot, places: Sequence[Place], course: _Course, seed: int, threads: int) -> Worlds:
    torque_speed = any(s.physics.torque_speed for s in places)
    shared = places[0].physics  # in all that is not a parameter
    made = Worlds(
        robot,
        len(course.command),
        seed=seed,
        threads=threads,
        physics_hz=shared.physics_hz,
        torque_speed=torque_speed,
    )
    replace(shared, parameters={}).apply(made)
    for first, end, place in zip(course.start, course.start[1:], places, strict=False):
        Physics(robot, place.physics.parameters).apply(made, np.arange(first, end))
    made.reset(joint_position_rad=course.joints_rad)
    return made


def _walk(
    robot: Robot,
    places: Sequence[Place],
    course: _Course,
    make_agent: Callable[[int], Agent],
    seed: int,
    threads: int,
    progress: Callable[[int], None],
) -> _Walked:
    contract, posture, n = robot.contract, robot.posture, len(course.command)
    total = {
        key: np.zeros(n)
        for key in ("velocity", "turn", "counted", "work", "way", "change", "acceleration", "up", "stepped")
    }
    every = max(1, round(contract.control_hz / PATH_HZ))
    place = np.full((n, 1 + course.ticks // every, 2), np.nan)
    place[:, 0] = 0.0
    down, here = np.zeros(n, dtype=bool), np.full((n, 2), np.nan)
    if not n:  # a robot whose command range has no straight walk
        return _Walked(total, down, place, here, NonFiniteWatch(0))
    hold, settle = (round(time_s * contract.control_hz) for time_s in (HOLD_S, SETTLE_S))
    worlds, agent = _worlds(robot, places, course, seed, threads), make_agent(n)
    agent.reset(None)
    action_before, velocity_before = np.zeros((n, contract.n_joints)), worlds.joint_velocity_rad_s
    falls, began, heading = Falls(posture, n, contract.control_dt_s), np.zeros((n, 3)), np.zeros(n)
    rise, watch = round(posture.rise_s * contract.control_hz), NonFiniteWatch(n)
    for k in range(-rise, course.ticks):  # told to stand, and not counted, while it may rise
        told = course.command[:, k] if k >= 0 else np.zeros((n, 3))
        action = agent.act(worlds.sensors, told)
        watch.look(action, told, k + rise)
        worlds.step(action)
        if k >= 0 and len(course.pushed) and (k + 1) % course.push_ticks == 0 and k + 1 < course.ticks:
            kick, angle = np.zeros((len(course.pushed), 6)), course.push_rad[:, (k + 1) // course.push_ticks - 1]
            kick[:, 0], kick[:, 1] = PUSH_M_S * np.cos(angle), PUSH_M_S * np.sin(angle)
            worlds.kick(kick, course.pushed)
        quaternion, base, joint_velocity = (
            posture.frame(worlds.base_quaternion),
            worlds.base_velocity,
            worlds.joint_velocity_rad_s,
        )
        down |= falls.look(worlds.base_quaternion, worlds.base_position_m[:, 2]) | ~worlds.alive
        if k < 0:
            began, heading = worlds.base_position_m, yaw_of(quaternion)
            continue
        up = ~down
        counted = up & (k % hold >= settle)
        planar = in_heading_frame(base[:, :3], quaternion)[:, :2]
        _add(total["velocity"], np.linalg.norm(course.command[:, k, :2] - planar, axis=1), counted)
        _add(total["turn"], np.abs(course.command[:, k, 2] - posture.turned(base[:, 3:])[:, 2]), counted)
        total["counted"] += counted
        _add(total["work"], np.maximum(worlds.torque_nm * joint_velocity, 0).sum(axis=1), up)
        _add(total["way"], np.linalg.norm(base[:, :2], axis=1), up)
        total["up"] += up
        if k:  # the first tick has no tick before it
            _add(total["change"], ((action - action_before) ** 2).mean(axis=1), up)
            _add(
                total["acceleration"],
                (((joint_velocity - velocity_before) / contract.control_dt_s) ** 2).mean(axis=1),
                up,
            )
            total["stepped"] += up
        action_before, velocity_before = action, joint_velocity
        here = np.where(up[:, None], turned_back(worlds.base_position_m - began, heading)[:, :2], np.nan)
        if (k + 1) % every == 0:
            place[:, (k + 1) // every] = here
        progress(k + 1)
    return _Walked(total, down, place, here, watch)


def _trials(
    robot: Robot, places: Sequence[Place], course: _Course, straight_course: _Course, walked: _Walked, straight: _Walked
) -> list[Trial]:
    lines = lines_of(robot)
    ahead = np.array([command[:2] for command in lines.values()]).reshape(-1, 2)
    speed = np.linalg.norm(ahead, axis=1)
    ahead /= speed[:, None]
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    weight_n = robot.mass_kg * GRAVITY_M_S2
    found = []
    for i, place in enumerate(places):
        walks = course.start[i] + np.arange(place.episodes)
        rows = np.arange(straight_course.start[i], straight_course.start[i + 1]).reshape(
            len(lines), place.straight_episodes
        )
        of = {key: values[walks] for key, values in walked.total.items()}
        path, end = straight.path_m[rows], straight.end_m[rows]
        found.append(
            Trial(
                directions=tuple(lines),
                fell=walked.down[walks],
                fell_pushed=walked.down[walks + place.episodes],
                fell_straight=straight.down[rows],
                velocity_error_m_s=_over(of["velocity"], of["counted"]),
                turn_error_rad_s=_over(of["turn"], of["counted"]),
                power_w=_over(of["work"], of["up"]),
                action_change=np.sqrt(_over(of["change"], of["stepped"])),
                joint_acceleration_rad_s2=np.sqrt(_over(of["acceleration"], of["stepped"])),
                cost_of_transport=float(of["work"].sum() / max(weight_n * of["way"].sum(), 1e-9)),
                commanded_m=speed * straight_course.ticks * robot.contract.control_dt_s,
                way_m=np.einsum("dsx,dx->ds", end, ahead),
                lateral_m=np.einsum("dsx,dx->ds", end, left),
                path_m=np.stack([np.einsum("dspx,dx->dsp", path, axis) for axis in (ahead, left)], axis=-1),
                nonfinite=nonfinite(
                    [(walked.watch, course.start[i] + np.arange(2 * place.episodes)), (straight.watch, rows)],
                    robot.contract.control_dt_s,
                ),
            )
        )
    return found


def _add(total: np.ndarray, values: np.ndarray, counted: np.ndarray) -> None:
    """Add what counts; a world that is down may hold anything."""
    total[counted] += values[counted]


def _over(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
