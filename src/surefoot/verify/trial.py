"""One policy on several simulators at once, episode by episode: the same commands, starts and pushes everywhere.

Definitions are those of `verify.evaluate`; what is kept here is one number for each episode, so that two policies can be
compared episode by episode. Simulators that differ in settings alone are one batch of worlds; another time step, or something
that a fit adds beside the settings, needs another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.policy.agents import Agent
from surefoot.robot import Robot, Sensors
from surefoot.sim.actuation import TORQUE_SPEED
from surefoot.sim.frames import in_heading_frame
from surefoot.sim.residual import Residual
from surefoot.sim.rollout import FALLEN_GRAVITY_Z
from surefoot.sim.sensing import gravity_in_base
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

AddedAction = Callable[[Sensors, np.ndarray], np.ndarray]

PATH_HZ = 10.0  # points of a path that is kept for drawing


@dataclass(frozen=True)
class Simulator:
    """A simulator to walk in: what differs from the robot's own values, and how many episodes."""

    name: str
    settings: Mapping[str, Any]  # as `Worlds.set` takes it
    episodes: int  # with random commands, and as many again with pushes
    straight_episodes: int  # in each direction
    physics_hz: float | None = None
    residual: Residual | None = None  # torque that no setting can say, as `Worlds.residual`
    action_delta: AddedAction | None = None  # likewise, as `Worlds.action_delta`


@dataclass(frozen=True, eq=False)
class Trial:
    """What one policy did in one simulator. Episode k of one policy meets the same command, start and noise as that of another."""

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
    simulators: Sequence[Simulator],
    make_agent: Callable[[int], Agent],
    *,
    seconds: float = EPISODE_S,
    seed: int = 0,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """Walk in all simulators, as many as possible in one batch; trials in the order of the simulators."""
    for simulator in simulators:
        if min(simulator.episodes, simulator.straight_episodes) < 1:
            raise SurefootError(f"{min(simulator.episodes, simulator.straight_episodes)} episodes measure nothing; run at least 1")
    if not SETTLE_S + 0.2 <= seconds <= 600:
        raise SurefootError(f"episodes of {seconds:g} s cannot be measured; give a length from {SETTLE_S + 0.2:g} to 600 s")
    batches: dict[tuple[float, int, int], list[int]] = {}
    for i, one in enumerate(simulators):
        batches.setdefault((one.physics_hz or robot.physics_hz, id(one.residual), id(one.action_delta)), []).append(i)
    found: dict[int, Trial] = {}
    for b, chosen in enumerate(batches.values()):

        def tick(done: int, total: int, b: int = b) -> None:
            if progress is not None:
                progress(b * total + done, len(batches) * total)

        batch = _Batch(robot, [simulators[i] for i in chosen], seconds, seed)
        found |= zip(chosen, batch.run(make_agent, seed, threads, tick), strict=True)
    return [found[i] for i in range(len(simulators))]


class _Batch:
    """Worlds of several simulators: of each first the walks, then the pushed walks, then the straight ones by direction."""

    def __init__(self, robot: Robot, simulators: Sequence[Simulator], seconds: float, seed: int) -> None:
        contract = robot.contract
        self.robot, self.simulators, self.lines = robot, simulators, lines_of(robot)
        self.ticks, self.drift_ticks = (round(time_s * contract.control_hz) for time_s in (seconds, drift_s_of(seconds)))
        self.hold, self.settle = round(HOLD_S * contract.control_hz), round(SETTLE_S * contract.control_hz)
        self.push_ticks = round(min(PUSH_EVERY_S, seconds / 2) * contract.control_hz)  # short episodes are pushed too
        sizes = [2 * s.episodes + len(self.lines) * s.straight_episodes for s in simulators]
        self.start, self.n = np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sum(sizes))
        # Drawn for the largest simulator, of which the others take the first: episode k is the same in all of them.
        most = max(s.episodes for s in simulators)
        many = max(most, *(s.straight_episodes for s in simulators))
        low, high = np.array(contract.command_range).T
        random = [np.random.default_rng([seed, 21, stream]) for stream in range(3)]
        drawn = random[0].uniform(low, high, (most, -(-self.ticks // self.hold), 3)).repeat(self.hold, axis=1)[:, : self.ticks]
        joints = contract.pose_rad + random[1].uniform(-START_SPREAD_RAD, START_SPREAD_RAD, (many, contract.n_joints))
        angles = random[2].uniform(0, 2 * np.pi, (most, self.ticks // self.push_ticks))
        self.command, self.joints = np.zeros((self.n, self.ticks, 3)), np.zeros((self.n, contract.n_joints))
        self.walks, self.pushed, self.straight = [], [], []
        self.angles = np.concatenate([angles[: s.episodes] for s in simulators])
        for start, s in zip(self.start, simulators, strict=True):
            walks = start + np.arange(s.episodes)
            straight = start + 2 * s.episodes + np.arange(len(self.lines) * s.straight_episodes).reshape(-1, s.straight_episodes)
            for rows in (walks, walks + s.episodes):
                self.command[rows], self.joints[rows] = drawn[: s.episodes], joints[: s.episodes]
            for rows, value in zip(straight, self.lines.values(), strict=True):
                self.command[rows], self.joints[rows] = value, joints[: s.straight_episodes]
            self.walks.append(walks)
            self.pushed.append(walks + s.episodes)
            self.straight.append(straight)
        self.joints = np.clip(self.joints, *np.array(contract.position_limit_rad).T)

    def worlds(self, seed: int, threads: int) -> Worlds:
        torque_speed = any(TORQUE_SPEED & set(s.settings) for s in self.simulators)
        alike = self.simulators[0]  # in all that is not a setting
        made = Worlds(self.robot, self.n, seed=seed, threads=threads, physics_hz=alike.physics_hz, torque_speed=torque_speed)
        made.residual, made.action_delta = alike.residual, alike.action_delta
        for start, end, simulator in zip(self.start, [*self.start[1:], self.n], self.simulators, strict=True):
            for name, value in simulator.settings.items():
                made.set(name, value, np.arange(start, end))
        made.reset(joint_position_rad=self.joints)
        return made

    def run(self, make_agent: Callable[[int], Agent], seed: int, threads: int, progress: Callable[[int, int], None]) -> list[Trial]:
        worlds, agent = self.worlds(seed, threads), make_agent(self.n)
        agent.reset(None)
        contract, n = self.robot.contract, self.n
        every = max(1, round(contract.control_hz / PATH_HZ))
        total = {key: np.zeros(n) for key in ("velocity", "turn", "counted", "work", "way", "change", "acceleration", "up", "stepped")}
        place = np.full((n, 1 + self.drift_ticks // every, 2), np.nan)
        place[:, 0] = 0.0
        ends = np.full((n, 2), np.nan)
        down, pushed = np.zeros(n, dtype=bool), np.concatenate(self.pushed)
        action_before, velocity_before = np.zeros((n, contract.n_joints)), worlds.joint_velocity_rad_s
        for k in range(self.ticks):
            action = agent.act(worlds.sensors, self.command[:, k])
            worlds.step(action)
            if (k + 1) % self.push_ticks == 0 and k + 1 < self.ticks:
                kick, angle = np.zeros((len(pushed), 6)), self.angles[:, (k + 1) // self.push_ticks - 1]
                kick[:, 0], kick[:, 1] = PUSH_M_S * np.cos(angle), PUSH_M_S * np.sin(angle)
                worlds.kick(kick, pushed)
            quaternion, base, joint_velocity = worlds.base_quaternion, worlds.base_velocity, worlds.joint_velocity_rad_s
            down |= (gravity_in_base(quaternion)[:, 2] > FALLEN_GRAVITY_Z) | ~worlds.alive
            up = ~down
            counted = up & (k % self.hold >= self.settle)
            planar = in_heading_frame(base[:, :3], quaternion)[:, :2]
            _add(total["velocity"], np.linalg.norm(self.command[:, k, :2] - planar, axis=1), counted)
            _add(total["turn"], np.abs(self.command[:, k, 2] - base[:, 5]), counted)
            total["counted"] += counted
            _add(total["work"], np.maximum(worlds.torque_nm * joint_velocity, 0).sum(axis=1), up)
            _add(total["way"], np.linalg.norm(base[:, :2], axis=1), up)
            total["up"] += up
            if k:  # the first tick has no tick before it
                _add(total["change"], ((action - action_before) ** 2).mean(axis=1), up)
                _add(total["acceleration"], (((joint_velocity - velocity_before) / contract.control_dt_s) ** 2).mean(axis=1), up)
                total["stepped"] += up
            action_before, velocity_before = action, joint_velocity
            here = np.where(up[:, None], worlds.base_position_m[:, :2], np.nan)
            if (k + 1) % every == 0 and k + 1 <= self.drift_ticks:
                place[:, (k + 1) // every] = here
            if k + 1 == self.drift_ticks:
                ends, down_then = here, down.copy()
            progress(k + 1, self.ticks)
        return [self._trial(i, total, down, down_then, ends, place) for i in range(len(self.simulators))]

    def _trial(
        self, i: int, total: dict[str, np.ndarray], down: np.ndarray, down_then: np.ndarray, ends: np.ndarray, place: np.ndarray
    ) -> Trial:
        walks, straight = self.walks[i], self.straight[i]
        of = {key: values[walks] for key, values in total.items()}
        ahead = np.array([command[:2] for command in self.lines.values()]).reshape(-1, 2)
        speed = np.linalg.norm(ahead, axis=1)
        ahead /= speed[:, None]
        left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
        path = np.stack([np.einsum("dspx,dx->dsp", place[straight], axis) for axis in (ahead, left)], axis=-1)
        weight_n = self.robot.mass_kg * GRAVITY_M_S2
        return Trial(
            directions=tuple(self.lines), fell=down[walks], fell_pushed=down[self.pushed[i]], fell_straight=down_then[straight],
            velocity_error_m_s=_over(of["velocity"], of["counted"]), turn_error_rad_s=_over(of["turn"], of["counted"]),
            power_w=_over(of["work"], of["up"]), action_change=np.sqrt(_over(of["change"], of["stepped"])),
            joint_acceleration_rad_s2=np.sqrt(_over(of["acceleration"], of["stepped"])),
            cost_of_transport=float(of["work"].sum() / max(weight_n * of["way"].sum(), 1e-9)),
            commanded_m=speed * self.drift_ticks * self.robot.contract.control_dt_s,
            way_m=np.einsum("dsx,dx->ds", ends[straight], ahead), lateral_m=np.einsum("dsx,dx->ds", ends[straight], left), path_m=path,
        )  # fmt: skip


def _add(total: np.ndarray, values: np.ndarray, counted: np.ndarray) -> None:
    """Add what counts; a world that is down may hold anything."""
    total[counted] += values[counted]


def _over(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
