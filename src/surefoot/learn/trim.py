"""Trim: a feed-forward correction of the command, for what a policy that walks is off by.

A policy answers a command with a velocity that is off by much the same every time: too fast, or pulling to one side.
Minutes of training wear such an error down slowly, since one stride hides it; a few seconds of walking measure it. An
affine model of the error over the command, fitted by least squares, replaces the command c by c + [1, c] @ table. With
it the robot is where it was told to be after a command was held for a while, its start from standing included. The
table is folded into the first layer of the network, so the file stays a plain policy.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.files import json_ready
from surefoot.learn.drift import drift_speed
from surefoot.learn.mean_velocity import more_fell, velocities
from surefoot.learn.network import Chain
from surefoot.learn.task import draw_commands
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Contract, Robot
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream

MakeWorlds = Callable[
    [int, int, int | None], Worlds
]  # of their number, a seed, and how many differ in noise (None: all)

ROUNDS = 2  # the answer is nearly linear: the first takes out most, the second what it bent
WALKING, STANDING = (
    112,
    16,
)  # robots of a round; a velocity that lasts for 4 s scatters by 0.015 m/s from one to the next
STRAIGHT = 0.5  # share of the commands along one axis
FARTHEST = 0.5  # of the largest command along an axis: a policy does not know what it was never asked for
MOST_FALLS = 0.1  # of the robots: whoever falls more has other needs
NOTHING = np.zeros((4, 3))
CREEP_M_S = 0.02  # by which a robot told to stand may walk off faster than before


@dataclass(frozen=True, eq=False)
class Trim:
    """What is to be added to a command, and what that is worth on walks that it was not fitted to."""

    table: np.ndarray  # (4, 3) of [1, forward m/s, left m/s, turn rad/s]; zeros where the policy is left as it is
    before_m_s: float  # velocity error that lasts, a turn counted by how far it leads astray
    after_m_s: float
    reason: str = ""  # why the policy is left as it is

    @property
    def says(self) -> str:
        """One sentence."""
        if self.reason:
            return f"not trimmed: {self.reason}"
        return (
            f"trimmed: the error that lasts falls from {self.before_m_s:.3f} to {self.after_m_s:.3f} m/s on walks of"
            " its own"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        content: dict[str, Any] = json_ready(dataclasses.asdict(self) | {"table": self.table.tolist()})
        return content


def trim(robot: Robot, policy: OnnxPolicy, make_worlds: MakeWorlds, seconds: float, seed: int = 0) -> Trim:
    """Measure what the policy is off by in these worlds, and what takes it out.

    Commands are those of the contract's range, and upright is what the robot's posture says.
    """
    if not robot.contract.observes("command"):
        return Trim(NOTHING, np.nan, np.nan, "the policy hears no command")
    if command_columns(robot.contract) is None:
        return Trim(NOTHING, np.nan, np.nan, "the policy hears its commands in parts, or clipped")
    rng = np.random.default_rng([seed, Stream.COMMAND_TRIM])
    for constant in (True, False):
        table = NOTHING
        for turn in range(ROUNDS):
            command = _commands(robot.contract, rng)
            worlds = make_worlds(len(command), seed + 101 * turn, None)
            error = _lasting_error(robot, policy, worlds, command, seconds, np.tile(table, (len(command), 1, 1)))
            up = np.isfinite(error).all(axis=1)
            if (~up).mean() > MOST_FALLS:
                return Trim(NOTHING, np.nan, np.nan, f"{(~up).sum()} of {len(up)} fell{' with it' if turn else ''}")
            features = _features(command) * [constant, 1, 1, 1]
            table = _within(table + np.linalg.lstsq(features[up], error[up], rcond=None)[0], robot.contract)
        command = _commands(robot.contract, rng)
        n = len(command)
        worlds = make_worlds(2 * n, seed + 101 * ROUNDS, n)  # with the same noise: what differs is the table's doing
        tables = np.repeat([NOTHING, table], n, axis=0)
        judged, creeps = _judged(
            table,
            command,
            *np.split(_lasting_error(robot, policy, worlds, np.tile(command, (2, 1)), seconds, tables), 2),
        )
        if not creeps:
            break  # otherwise once more without what standing robots hear too
    return judged


def _judged(table: np.ndarray, command: np.ndarray, before: np.ndarray, after: np.ndarray) -> tuple[Trim, bool]:
    """What a table is worth on commands that it was not fitted to, and whether it makes robots walk off
    that are told to stand.
    """
    fell = [~np.isfinite(error).all(axis=1) for error in (before, after)]
    up = ~(fell[0] | fell[1])
    drift = [drift_speed(command, error)[up] for error in (before, after)]
    before_m_s, after_m_s = (float(speed.mean()) if up.any() else np.nan for speed in drift)
    stands = ~command[up].any(axis=1)
    creep_m_s = float((drift[1] - drift[0])[stands].mean()) if stands.any() else 0.0
    chance_m_s = float((drift[0] - drift[1]).std() / np.sqrt(max(up.sum(), 1)))
    reason = ""
    if more_fell(*fell):
        reason = f"{fell[1].sum()} of {len(command)} fell with it, {fell[0].sum()} without"
    elif creep_m_s > CREEP_M_S:
        reason = f"told to stand, it would walk off by {creep_m_s:.3f} m/s more"
    elif not before_m_s - after_m_s > chance_m_s:
        reason = f"the error that lasts would go from {before_m_s:.3f} to {after_m_s:.3f} m/s, which may be chance"
    return Trim(NOTHING if reason else table, before_m_s, after_m_s, reason), creep_m_s > CREEP_M_S


def folded(chain: Chain, contract: Contract, table: np.ndarray) -> Chain:
    """The network that hears c and acts as the old one does on c + [1, c] @ table.

    The normalization stays as it is, but where it was deaf to a part of the command.
    """
    (weights, biases), *rest = chain.layers
    scale = np.ones(len(weights)) if chain.scale is None else chain.scale.astype(float)
    offset = np.zeros(len(weights)) if chain.offset is None else chain.offset.astype(float)
    old, biases = scale[:, None] * weights, biases + offset @ weights  # of the observation itself
    new, scale = old.copy(), scale.copy()
    for columns, factor in command_columns(contract) or ():
        new[columns] = old[columns] + table[1:] @ old[columns]
        biases = biases + factor * table[0] @ old[columns]
        scale[columns] = np.where(scale[columns] == 0, 1.0, scale[columns])
    new = np.where(scale[:, None] == 0, weights, new / np.where(scale == 0, 1.0, scale)[:, None])
    layers = ((new, biases - offset @ new), *rest)
    return replace(chain, scale=None if chain.scale is None else scale, layers=layers)


def command_columns(contract: Contract) -> list[tuple[slice, float]] | None:
    """Where the three velocity commands are in the observation, frame for frame, and their common scale; None where
    they are not whole.
    """
    (given,) = contract.network_inputs[:1]
    plain = given.clip is None and given.normalizer is None and not contract.inputs and not contract.more_commands
    found, start = [], 0
    for term in given.terms * given.frames.history:
        width = contract.width(term)
        for first in range(start, start + term.history * width, width) if term.name == "command" else ():
            if not plain or term.entries or term.clip or term.offset != 0.0 or isinstance(term.scale, tuple):
                return None
            found.append((slice(first, first + 3), term.scale))
        start += term.history * width
    return found


def _commands(contract: Contract, rng: np.random.Generator) -> np.ndarray:
    """Some along one axis, some mixed, and the last ones told to stand; (n, 3)."""
    return np.concatenate([draw_commands(contract.command_range, WALKING, STRAIGHT, rng), np.zeros((STANDING, 3))])


def _features(command: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(command)), command])


def _heard(command: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """What a policy hears through tables (n, 4, 3), one for each robot."""
    return command + np.einsum("nf,nfc->nc", _features(command), tables)


def _within(table: np.ndarray, contract: Contract) -> np.ndarray:
    """Cut so that no command is changed by more than a share of the largest one along that axis; never
    along one without commands.
    """
    largest = np.abs(contract.command_range).max(axis=1)
    farthest = np.abs(table[0]) + largest @ np.abs(table[1:])
    return table * np.minimum(1.0, FARTHEST * largest / np.maximum(farthest, 1e-9))


def _lasting_error(
    robot: Robot, policy: OnnxPolicy, worlds: Worlds, command: np.ndarray, seconds: float, tables: np.ndarray
) -> np.ndarray:
    """Command minus velocity, (n, 3), mean over `seconds` from standing; NaN for those that fell."""
    went, down = velocities(
        robot, policy, worlds, _heard(np.zeros_like(command), tables), _heard(command, tables)[None], seconds
    )
    return np.where(down[:, None], np.nan, command - went[0])
