"""From sensor readings to the observations that the contract describes.

`Observer` computes the value of every term once a tick, and an `InputBuilder` for each input of the network lays them
out: term after term, each with its own history, as Isaac Lab does; or frame after frame, as runners of legged_gym
policies do.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.errors import PolicyError
from surefoot.policy.gait_clock import GaitClock
from surefoot.robot import Contract, Sensors
from surefoot.robot.layout import FRAMES, NEWEST_FIRST, NetworkInput
from surefoot.robot.targets import zero_targets
from surefoot.robot.terms import UNKNOWN_HERE, Term


@dataclass(frozen=True, eq=False)
class Tick:
    """All that the terms of one control tick are computed from."""

    sensors: Sensors
    command: np.ndarray  # (n, n_commands)
    last_action: np.ndarray  # (n, n_joints)
    fresh: np.ndarray  # (n,) whether this is the first tick after a reset


Value = Callable[[Tick], np.ndarray]  # (n, width)


class Observer:
    """Builds the observations of n robots, one row each."""

    def __init__(self, contract: Contract, n: int) -> None:
        self._contract = contract
        self._fresh = np.ones(n, bool)
        self._more = np.array([command.default for command in contract.more_commands])
        self._inputs = [InputBuilder(given, contract, n) for given in contract.network_inputs]

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots (all, without `ids`); the next frame then fills their whole history."""
        self._fresh[slice(None) if ids is None else ids] = True

    def observe(self, sensors: Sensors, command: np.ndarray, last_action: np.ndarray) -> np.ndarray:
        """Take in one control tick and return the observations, float32 (n, observation_size).

        `command` is (n, 3), or (n, n_commands) where the contract has further commands; without them they are at their
        defaults. `last_action` is (n, n_joints). The result is read-only and the next call overwrites it: copy it to
        keep it. A policy with several inputs has `observe_all` instead.
        """
        return self.observe_all(sensors, command, last_action)[0]

    def observe_all(self, sensors: Sensors, command: np.ndarray, last_action: np.ndarray) -> list[np.ndarray]:
        """The same for each input of the network, in the contract's order."""
        if len(self._more) and command.shape[1] != len(self._contract.command_names):
            command = np.concatenate([command[:, :3], np.tile(self._more, (len(command), 1))], axis=1)
        tick = Tick(sensors, command, last_action, self._fresh)
        observations = [given.build(tick) for given in self._inputs]
        self._fresh[:] = False
        return observations


class InputBuilder:
    """Lays out one input of the network. For the plain layout the array is its own history: nothing else is stored."""

    def __init__(self, given: NetworkInput, contract: Contract, n: int) -> None:
        self._given = given
        terms = given.terms
        widths = [contract.width(term) for term in terms]
        self._values = [_transformed(term, _value(term, contract, n)) for term in terms]
        by_frame = given.frames.history > 1
        size = contract.input_size(given)
        self._observation = np.zeros((n, size), np.float32)
        self._memory: list[
            tuple[np.ndarray, np.ndarray, int, bool]
        ] = []  # past frames, where they go, stride, reversed
        self._newest: list[np.ndarray] = []  # where each term's present value goes
        self._past: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # newest frame, older, all but the oldest
        if by_frame:
            frames, width = given.frames, sum(widths)
            memory = np.zeros((n, (frames.history - 1) * frames.stride + 1, width), np.float32)
            place = self._observation.reshape(n, frames.history, width, copy=False)
            self._remember(memory, place, frames.stride, frames.order == NEWEST_FIRST)
            starts = np.cumsum([0, *widths])
            self._newest = [memory[:, -1, a:b] for a, b in itertools.pairwise(starts)]
        else:
            start = 0
            for term, width in zip(terms, widths, strict=True):
                stop = start + term.history * width
                place = self._observation[:, start:stop].reshape(n, term.history, width, copy=False)
                if term.stride == 1 and not term.newest_first:
                    frames_of_term = place
                    self._past += [(place[:, -1], place[:, :-1], place[:, 1:])] if term.history > 1 else []
                else:
                    frames_of_term = np.zeros((n, (term.history - 1) * term.stride + 1, width), np.float32)
                    self._remember(frames_of_term, place, term.stride, term.newest_first)
                self._newest.append(frames_of_term[:, -1])
                start = stop
        normalizer = given.normalizer
        self._mean = None if normalizer is None else np.array(normalizer.mean, np.float32)
        self._std = None if normalizer is None else np.array(normalizer.std, np.float32)
        self._shape = (n, given.frames.history, size // given.frames.history) if given.shape == FRAMES else (n, size)
        self._shown = self._observation.reshape(self._shape, copy=False).view()
        self._shown.flags.writeable = False

    def _remember(self, memory: np.ndarray, place: np.ndarray, stride: int, newest_first: bool) -> None:
        self._memory.append((memory, place, stride, newest_first))
        if memory.shape[1] > 1:
            self._past.append((memory[:, -1], memory[:, :-1], memory[:, 1:]))

    def build(self, tick: Tick) -> np.ndarray:
        """One control tick: float32 (n, size), or (n, frames, entries of one) where the network wants that."""
        for _, older, later in self._past:
            older[:] = later  # NumPy copies overlapping memory as if it were not
        for value, newest in zip(self._values, self._newest, strict=True):
            value(tick, newest)
        if self._past and tick.fresh.any():
            for newest, older, _ in self._past:
                older[tick.fresh] = newest[tick.fresh, None]
        for memory, place, stride, newest_first in self._memory:
            picked = memory[:, ::stride]
            place[:] = picked[:, ::-1] if newest_first else picked
        if self._given.clip is None and self._mean is None:
            return self._shown
        return self._finished()

    def _finished(self) -> np.ndarray:
        """Clipped and normalized, in a copy, since the observation is the memory of the next tick."""
        observation = self._observation
        if self._given.clip is not None:
            observation = np.clip(observation, -self._given.clip, self._given.clip)
        if self._mean is not None and self._std is not None and self._given.normalizer is not None:
            observation = (observation - self._mean) / self._std
            if (most := self._given.normalizer.clip) is not None:
                observation = np.clip(observation, -most, most)
        return observation.reshape(self._shape)


def _transformed(term: Term, value: Value) -> Callable[[Tick, np.ndarray], None]:
    """Writes scale * clip(value - offset) into a frame, float32 (n, width)."""
    scale = np.array(term.scale) if isinstance(term.scale, tuple) else term.scale
    offset = np.array(term.offset)
    low, high = np.array(term.clip).T if term.clip else (None, None)

    def write(tick: Tick, newest: np.ndarray) -> None:
        values = value(tick)
        if offset.any():
            values = values - offset
        if low is not None:
            values = np.clip(values, low, high)
        np.multiply(values, scale, out=newest, casting="same_kind")

    return write


def _value(term: Term, contract: Contract, n: int) -> Value:
    """What a term is made of, before its scale."""
    name = term.name
    if name in UNKNOWN_HERE:
        raise PolicyError(
            f"the policy observes {name} ({term.declared} entries), and {UNKNOWN_HERE[name]}; such a policy can be"
            " described and attached, but not run here"
        )
    if name in ("joint_position", "joint_velocity"):
        return _joint_value(term, contract, n)
    if name == "command":
        entries = _columns(tuple(contract.command_names.index(entry) for entry in term.entries), contract.command_names)
        return lambda tick: tick.command[:, entries]
    if name == "last_action":
        driven = _columns(contract.driven_index, contract.joints)
        return lambda tick: tick.last_action[:, driven]
    if name == "last_target":
        return _last_target(term, contract)
    if name == "gait_phase" and term.gait is not None:
        return GaitClock(term.gait, contract, n)
    if name == "constant":
        constant = np.tile(np.array(term.value), (n, 1))
        return lambda tick: constant
    return _SENSED[name](term)


def _columns(places: tuple[int, ...], all_names: tuple[str, ...]) -> np.ndarray | slice:
    """A slice for all columns in their own order, since reading them is then a view."""
    return slice(None) if not places or places == tuple(range(len(all_names))) else np.array(places)


def _joint_value(term: Term, contract: Contract, n: int) -> Value:
    places = tuple(contract.joints.index(name) for name in term.joints) or contract.driven_index
    columns = _columns(places, contract.joints)
    if term.name == "joint_velocity":
        return lambda tick: tick.sensors.joint_velocity_rad_s[:, columns]
    if not term.relative:
        return lambda tick: tick.sensors.joint_position_rad[:, columns]
    pose = np.array(contract.pose_rad)[columns]
    relative = np.empty((n, len(pose)))
    return lambda tick: np.subtract(tick.sensors.joint_position_rad[:, columns], pose, out=relative)


def _last_target(term: Term, contract: Contract) -> Value:
    driven = _columns(contract.driven_index, contract.joints)
    start = zero_targets(contract) - (np.array(contract.pose_rad) if term.relative else 0.0)
    zero, scale = start[driven], np.array(contract.action_scale_rad)[driven]
    return lambda tick: zero + scale * tick.last_action[:, driven]


def _needed(value: np.ndarray | None, what: str) -> np.ndarray:
    if value is None:
        raise PolicyError(f"the policy observes {what}, and these sensor readings do not hold it")
    return value


def _quaternion(term: Term) -> Value:
    order = [0, 1, 2, 3] if term.order == "wxyz" else [1, 2, 3, 0]
    return lambda tick: _needed(tick.sensors.quaternion, "the orientation of the base")[:, order]


def _roll_pitch_yaw(tick: Tick) -> np.ndarray:
    """Intrinsic z-y-x angles, (n, 3): roll, pitch, yaw."""
    w, x, y, z = _needed(tick.sensors.quaternion, "the orientation of the base").T
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.stack([roll, pitch, yaw], axis=1)


_SENSED: dict[str, Callable[[Term], Value]] = {
    "gyro": lambda term: lambda tick: tick.sensors.gyro_rad_s,
    "gravity": lambda term: lambda tick: tick.sensors.gravity,
    "base_velocity": lambda term: lambda tick: _needed(tick.sensors.base_velocity_m_s, "the velocity of the base"),
    "quaternion": _quaternion,
    "roll_pitch_yaw": lambda term: _roll_pitch_yaw,
    "foot_contact": lambda term: lambda tick: _needed(tick.sensors.foot_contact, "the contacts of the feet"),
}
