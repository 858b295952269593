"""The environment: `Worlds` under velocity commands with rewards, falls and resets, in the form that PPO reads."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict

from surefoot.learn.mirror import Signed, mirror_feet, mirror_joints
from surefoot.learn.randomize import Draws
from surefoot.learn.rewards import LASTING_S, Motion
from surefoot.learn.rise import way_up
from surefoot.learn.starts import LIBRARY, RISING, UPRIGHT, Kinds, Starts, make_starts
from surefoot.learn.task import Task, draw_commands
from surefoot.policy.observation import Observer
from surefoot.robot import Robot
from surefoot.robot.load import foot_geoms, upright
from surefoot.robot.targets import clip_actions
from surefoot.sim.falls import Falls
from surefoot.sim.frames import in_heading_frame
from surefoot.sim.sensing import gravity_in_base
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream

ON_ITS_SIDE = 0.7  # gravity along the left axis, for a robot that has to rise
# after rising, that an episode goes on which began lower: what follows is learned by those that begin upright
BALANCED_S = 1.0
BEYOND = 0.5  # gravity along the forward axis, away from where it rose from, likewise: beyond its posture by 30°


@dataclass
class Tally:
    """What happened since it was last read."""

    steps: int = 0
    falls: int = 0
    unstable: int = 0
    velocity_error: float = 0.0  # sums over steps of robots that are told to move or stand
    turn_error: float = 0.0
    reward: float = 0.0
    physics_s: float = 0.0
    by_reward: dict[str, float] = field(default_factory=dict)


class WalkEnv:
    """n robots that are told where to walk. Follows the interface of rsl-rl's VecEnv."""

    def __init__(self, robot: Robot, task: Task, n: int, seed: int = 0, threads: int = 0, draws: Draws | None = None):
        """`draws` gives the worlds their parameters, in place of the task's randomization; pushes stay the task's."""
        self.robot, self.task = robot, task
        self._draws = task.randomization if draws is None else draws
        self.num_envs, self.num_actions = n, robot.contract.n_driven
        self.device = "cpu"
        self.cfg: dict[str, Any] = {}
        self.dt_s = robot.contract.control_dt_s
        self.max_episode_length = round(task.episode_s / self.dt_s)
        self.tally = Tally()
        self._rng = np.random.default_rng([seed, Stream.ENVIRONMENT])
        self.worlds = Worlds(
            robot,
            n,
            threads=threads,
            seed=seed,
            physics_hz=task.substeps * robot.contract.control_hz,
            feet=True,
            torque_speed=self._draws.torque_speed,
        )
        self._drawn = self._draws.draw(self.worlds, self._rng)
        self._observer = Observer(robot.contract, n)
        nj, nf = robot.contract.n_joints, len(robot.feet)
        self._pose = np.array(robot.contract.pose_rad)
        posture = task.posture
        self._posture_pose = np.array(posture.pose_rad) if posture.pose_rad else self._pose
        self._posture_height_m = posture.height_m or robot.trunk_height_m
        self._standing_foot = np.array([not posture.feet or foot in posture.feet for foot in robot.feet])
        self._falls = Falls(posture, n, self.dt_s)
        if not posture.level:
            self._starts = self._make_starts(seed)
            self._kinds = Kinds(task.starts, n)
            self._risen_s = np.zeros(n)  # since each rose
        self._limits = np.array(robot.contract.position_limit_rad)
        self._torque_limit = np.array(robot.contract.torque_limit_nm)
        self._command = np.zeros((n, 3))
        self._lasting_error = np.zeros((n, 3))
        self._hold_s = np.zeros(n)
        self._push_s = self._rng.uniform(0, task.randomization.push_every_s, n)
        self._action, self._last_action = np.zeros((n, nj)), np.zeros((n, nj))
        self._joint_velocity = np.zeros((n, nj))
        self._contact, self._air_s = np.ones((n, nf), dtype=bool), np.zeros((n, nf))
        self._episode = self._rng.integers(0, self.max_episode_length, n)  # so that not all time out at once
        self._reset(np.arange(n))
        self._obs = self._observe()

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps since the last reset of each robot."""
        return torch.from_numpy(self._episode)

    @property
    def command(self) -> np.ndarray:
        """What each robot is told now, (n, 3)."""
        return self._command

    @property
    def fresh(self) -> np.ndarray:
        """Which robots have not moved since their last reset, (n,)."""
        return self._episode == 0

    def get_observations(self) -> TensorDict:
        """The observations of this tick: `actor` as the contract lays it out, `critic` with what only a
        simulator knows.
        """
        return self._obs

    def mirror_parts(self) -> list[Signed]:
        """How the blocks that `_observe` adds for the critic look in a mirror, in the same order."""
        joints, signs = mirror_joints(self.robot)
        level = np.array([1.0, 0.0, 0.0, 0.0])
        feet = mirror_feet(foot_places(self.robot), np.zeros(3), level)
        vector = np.arange(3)
        blocks = [
            (vector, np.array([1.0, -1.0, 1.0])),
            (vector, np.array([-1.0, 1.0, -1.0])),
            (vector, np.array([1.0, -1.0, 1.0])),
            (np.arange(1), np.ones(1)),
            (feet, np.ones(len(feet))),
            (feet, np.ones(len(feet))),
            (joints, signs),
            (joints, signs),
            (joints, signs),
        ]
        if not self.task.posture.level:
            blocks.append((np.arange(1), np.ones(1)))
        return blocks + self._draws.mirror(self.worlds, (joints, signs))

    def redraw(self) -> None:
        """Give the robots new parameters; each takes part from now on."""
        self._drawn = self._draws.draw(self.worlds, self._rng)

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """One control period: observations, rewards, dones, and which dones are time-outs."""
        contract = self.robot.contract
        before_last = self._last_action
        action = np.zeros_like(self._action)
        action[:, contract.driven_index] = actions.numpy().astype(float)
        self._last_action, self._action = self._action, clip_actions(contract, action)
        started = time.perf_counter()
        self.worlds.step(self._action)
        self.tally.physics_s += time.perf_counter() - started
        self._episode += 1
        motion = self._motion(before_last)
        fallen = self._fallen(motion)
        unstable = ~self.worlds.alive
        reward = self._reward(motion) - self.task.fall_cost * (fallen | unstable)
        late = (self._episode >= self.max_episode_length) & ~fallen & ~unstable
        if not self.task.posture.level:
            late |= self._has_shown_all() & ~fallen & ~unstable
        done = fallen | late | unstable
        self._count(motion, reward, fallen, unstable)
        self._advance_commands()
        if done.any():
            self._reset(np.flatnonzero(done))
        self._obs = self._observe()
        extras = {"time_outs": torch.from_numpy(late.astype(np.float32))}
        return self._obs, torch.from_numpy(reward.astype(np.float32)), torch.from_numpy(done.astype(np.int64)), extras

    def _has_shown_all(self) -> np.ndarray:
        """Who may begin anew without a fall, (n,): who did not rise in its time, and who has risen and
        begun to balance.

        To rise takes a second, and an episode lasts twenty: of robots that went on from there, hardly a
        sample would be of rising.
        """
        self._risen_s += self.dt_s * self._falls.risen
        slow = ~self._falls.risen & (self._falls.age_s >= self.task.posture.rise_s)
        return slow | ((self._risen_s >= BALANCED_S) & (self._kinds.kind != UPRIGHT))

    def _fallen(self, motion: Motion) -> np.ndarray:
        """Who is down, (n,): sooner than anyone who only looks on would say so, since what follows teaches nothing."""
        low = motion.height_m < self.task.fallen_height * self.robot.trunk_height_m
        if self.task.posture.level:
            return (motion.gravity[:, 2] > self.task.fallen_gravity_z) | low
        down = self._falls.look(self.worlds.base_quaternion, motion.height_m) & self._falls.risen
        over = (
            -np.sign(self.task.posture.pitch_rad) * motion.gravity[:, 0]
        )  # a nose that rises tips over backward, one that dips forward
        return down | low | (np.abs(motion.gravity[:, 1]) > ON_ITS_SIDE) | (over > BEYOND)

    def _motion(self, before_last: np.ndarray) -> Motion:
        worlds, posture = self.worlds, self.task.posture
        joint_velocity = worlds.joint_velocity_rad_s
        contact = worlds.foot_contact
        base, quaternion = self._base()
        self._air_s += self.dt_s
        velocity = in_heading_frame(base[:, :3], quaternion)
        error = self._command - np.column_stack([velocity[:, :2], base[:, 5]])
        self._lasting_error = self._lasting_error + self.dt_s / LASTING_S * (error - self._lasting_error)
        motion = Motion(
            command=self._command,
            velocity=velocity,
            angular_velocity=base[:, 3:],
            lasting_error=self._lasting_error,
            gravity=gravity_in_base(quaternion),
            height_m=worlds.trunk_height_m,
            nominal_height_m=self._posture_height_m,
            joint_position=worlds.joint_position_rad,
            joint_velocity=joint_velocity,
            joint_acceleration=(joint_velocity - self._joint_velocity) / self.dt_s,
            pose=self._posture_pose,
            position_limit=self._limits,
            torque=worlds.torque_nm,
            torque_limit=self._torque_limit,
            action=self._action,
            last_action=self._last_action,
            before_last_action=before_last,
            foot_contact=contact,
            foot_landed=contact & ~self._contact,
            foot_air_s=self._air_s.copy(),
            foot_velocity=worlds.foot_velocity_m_s,
            body_contact=worlds.body_contact,
            standing_foot=self._standing_foot,
            rises=not posture.level,
        )
        self._air_s[contact] = 0.0
        self._contact, self._joint_velocity = contact, joint_velocity
        return motion

    def _base(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocity (n, 6) and quaternion (n, 4) of the frame that is level in the task's posture."""
        base, posture = self.worlds.base_velocity, self.task.posture
        if not posture.level:
            base[:, 3:] = posture.turned(base[:, 3:])
        return base, posture.frame(self.worlds.base_quaternion)

    def _reward(self, motion: Motion) -> np.ndarray:
        total = np.zeros(self.num_envs)
        for reward in self.task.rewards:
            part = reward.weight * self.dt_s * reward.of(motion, self.num_envs)
            total += part
            self.tally.by_reward[reward.name] = self.tally.by_reward.get(reward.name, 0.0) + float(part.sum())
        return total

    def _count(self, motion: Motion, reward: np.ndarray, fallen: np.ndarray, unstable: np.ndarray) -> None:
        tally = self.tally
        tally.steps += self.num_envs
        tally.falls += int(fallen.sum())
        tally.unstable += int(unstable.sum())
        tally.velocity_error += float(np.linalg.norm(motion.command[:, :2] - motion.velocity[:, :2], axis=1).sum())
        tally.turn_error += float(np.abs(motion.command[:, 2] - motion.angular_velocity[:, 2]).sum())
        tally.reward += float(reward.sum())

    def _advance_commands(self) -> None:
        self._hold_s -= self.dt_s
        due = np.flatnonzero(self._hold_s <= 0)
        if len(due):
            self._draw_commands(due)
        if self.task.randomization.push_m_s > 0:
            self._push_s -= self.dt_s
            due = np.flatnonzero(self._push_s <= 0)
            if len(due):
                angle = self._rng.uniform(0, 2 * np.pi, len(due))
                size = self._rng.uniform(0, self.task.randomization.push_m_s, len(due))
                kick = np.zeros((len(due), 6))
                kick[:, 0], kick[:, 1] = size * np.cos(angle), size * np.sin(angle)
                self.worlds.kick(kick, due)
                self._push_s[due] = self.task.randomization.push_every_s

    def _draw_commands(self, rows: np.ndarray) -> None:
        drawn = draw_commands(self.task.command_range, len(rows), self.task.straight_share, self._rng)
        drawn[self._rng.random(len(rows)) < self.task.standing_share] = 0.0
        self._command = self._command.copy()  # the motion of this tick still holds the old ones
        self._command[rows] = drawn
        self._lasting_error = self._lasting_error.copy()
        self._lasting_error[rows] = 0.0
        self._hold_s[rows] = self._rng.uniform(*self.task.command_hold_s, len(rows))

    def _make_starts(self, seed: int) -> Starts:
        """In the posture, and on the way to it, `LIBRARY` of each."""
        robot, task, rng = self.robot, self.task, np.random.default_rng([seed, Stream.LIBRARY_OF_STARTS])
        upright = make_starts(robot, task.posture, np.ones(LIBRARY), task.start_spread_rad, rng)
        if task.rise is None:
            return upright + make_starts(robot, task.posture, np.linspace(0, 1, LIBRARY), task.start_spread_rad, rng)
        return upright + way_up(robot, task.posture, task.rise, LIBRARY, 1 / self.worlds.physics_dt_s, seed)

    def _reset(self, rows: np.ndarray) -> None:
        rng, n = self._rng, len(rows)
        spread = self.task.start_spread_rad
        joints = np.clip(self._pose + rng.uniform(-spread, spread, (n, len(self._pose))), *self._limits.T)
        yaw = rng.uniform(-np.pi, np.pi, n)
        quaternion = np.stack([np.cos(yaw / 2), np.zeros(n), np.zeros(n), np.sin(yaw / 2)], axis=1)
        velocity = rng.uniform(-0.3, 0.3, (n, 6))
        place, raised = np.tile([0.0, 0.0, self.robot.base_height_m], (n, 1)), np.zeros(n, dtype=bool)
        joint_velocity, action = np.zeros_like(joints), np.zeros_like(joints)
        if not self.task.posture.level:
            if self.tally.steps:
                self._kinds.ended(rows, self._falls.age_s[rows])
            kind = self._kinds.draw(rows, rng)
            raised, rising = kind == UPRIGHT, kind == RISING
            some = np.flatnonzero(raised | rising)
            drawn = self._starts[rng.integers(0, LIBRARY, len(some)) + LIBRARY * rising[some]].turned(yaw[some])
            joints[some], place[some, 2], quaternion[some] = (
                drawn.joint_position_rad,
                drawn.height_m,
                drawn.base_quaternion,
            )
            velocity[some] += drawn.base_velocity
            joint_velocity[some], action[some] = drawn.joint_velocity_rad_s, drawn.action
            self._falls.reset(rows)
            self._risen_s[rows] = 0.0
        self.worlds.reset(
            rows,
            joint_position_rad=joints,
            joint_velocity_rad_s=joint_velocity,
            base_position_m=place,
            base_quaternion=quaternion,
            base_velocity=velocity,
            last_action=action,
        )
        self._observer.reset(rows)
        self._draw_commands(rows)
        self._action[rows] = self._last_action[rows] = action
        self._joint_velocity[rows], self._air_s[rows] = joint_velocity, 0.0
        self._contact[rows] = self._standing_foot | ~raised[:, None]
        if self.tally.steps:  # the first episodes keep their drawn ages
            self._episode[rows] = 0

    def _observe(self) -> TensorDict:
        worlds = self.worlds
        actor = self._observer.observe(worlds.sensors, self._command, self._action).astype(np.float32, copy=True)
        base, quaternion = self._base()
        known = [
            2 * in_heading_frame(base[:, :3], quaternion),
            0.25 * base[:, 3:],
            gravity_in_base(quaternion),
            10 * (worlds.trunk_height_m[:, None] - self._posture_height_m),
            self._contact,
            np.minimum(self._air_s, 1.0),
            worlds.joint_position_rad - self._pose,
            0.05 * worlds.joint_velocity_rad_s,
            worlds.torque_nm / self._torque_limit,
            *([] if self.task.posture.level else [self._falls.risen[:, None]]),
            self._drawn,
        ]
        critic = np.concatenate([actor, *known], axis=1, dtype=np.float32, casting="same_kind")
        return TensorDict(
            {"actor": torch.from_numpy(actor), "critic": torch.from_numpy(critic)}, batch_size=[self.num_envs]
        )


def foot_places(robot: Robot) -> np.ndarray:
    """Where the feet are in the default pose, (n_feet, 3) from the base."""
    model = robot.spec().compile()
    data = upright(model, robot.contract, robot.base)
    return np.array([data.geom_xpos[foot_geoms(model, foot)].mean(axis=0) for foot in robot.feet])
