"""Which policy is accepted: the one that was trained, an interpolation of weights, or the one that it began from.

Minutes of training are a bet. A policy near the edge of its balance can lose it under exploration noise, and what is
written then falls more, or drifts further, than what it began from did. Both walk the same commands in the fitted
simulator, and a trained policy that is worse there beyond chance is not accepted. Instead, weights between the two are
tried, (1 - share) * old + share * new: weight interpolation, as in WiSE-FT (Wortsman et al. 2022, Robust fine-tuning of
zero-shot models, arXiv 2109.01903). Such a policy walks in between, and often keeps the balance of the old one with
most of what the new one learned.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.files import json_ready
from surefoot.learn.drift import drift_speed
from surefoot.learn.mean_velocity import more_fell, velocities
from surefoot.learn.task import CommandRange, draw_commands
from surefoot.learn.trim import MakeWorlds
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.streams import Stream

COMMANDS, HELD_S = 3, 3.0  # one after the other: falls come with changes of the command
STRAIGHT, STANDING = 0.3, 0.1  # shares of the commands, as in fine-tuning
BEYOND_CHANCE = 2.0  # standard errors
WORSE = 1.1  # times the old error: training also mends what is not measured here, as momentary errors


SHARES = (1.0, 0.5, 0.25)  # of the trained weights in the interpolation, tried in turn


@dataclass(frozen=True)
class Choice:
    """What two policies did on the same walks, and which is kept."""

    robots: int
    old_falls: int
    new_falls: int
    old_m_s: float  # how fast errors that last lead off the way, of robots that stayed up with both
    new_m_s: float
    reason: str  # why the trained policy is not kept as it is; empty where it is
    # of the way to it that is kept; the figures above are of this policy, or where nothing is kept of the trained one
    share: float

    @property
    def says(self) -> str:
        """One sentence."""
        walks = (
            f"on the same walks {self.new_falls} of {self.robots} fell (before training {self.old_falls}), "
            f"the error that lasts is {self.new_m_s:.3f} m/s ({self.old_m_s:.3f})"
        )
        if not self.reason:
            return f"the trained policy is kept: {walks}"
        if self.share:
            return f"{100 * self.share:.0f} % of the way to the trained policy is kept, since {self.reason}; {walks}"
        return f"the trained policy is not kept, since {self.reason}; what is written is the policy that it began from"

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        kept = "new" if not self.reason else "part" if self.share else "old"
        content: dict[str, Any] = json_ready(dataclasses.asdict(self) | {"kept": kept})
        return content


def choose(
    robot: Robot,
    old: OnnxPolicy,
    candidate: Callable[[float], OnnxPolicy],
    make_worlds: MakeWorlds,
    robots: int,
    seed: int = 0,
) -> Choice:
    """Let policies walk with as many robots, under the same commands and the same noise: the old one, the new one, and
    where that is worse the interpolated ones.

    `candidate` gives the policy with a share of the new weights. Commands are those of the contract's range, and
    upright is what the robot's posture says.
    """
    command = _commands(robot.contract.command_range, robots, np.random.default_rng([seed, Stream.ACCEPTANCE]))

    def walked(policy: OnnxPolicy) -> tuple[np.ndarray, np.ndarray]:
        return velocities(robot, policy, make_worlds(robots, seed + 1009, None), np.zeros((robots, 3)), command, HELD_S)

    before = walked(old)
    trained = judged(command, *before, *walked(candidate(SHARES[0])))
    if not trained.reason:
        return trained
    for share in SHARES[1:]:
        interpolated = judged(command, *before, *walked(candidate(share)), surely=True)
        if not interpolated.reason:
            return replace(interpolated, reason=trained.reason, share=share)
    return trained


def judged(
    command: np.ndarray,
    old: np.ndarray,
    old_fell: np.ndarray,
    new: np.ndarray,
    new_fell: np.ndarray,
    *,
    surely: bool = False,
) -> Choice:
    """From commands and velocities (k, n, 3), and who fell, (n,): falls count first, then what lasts.

    A tie is the trained policy's; `surely` asks a policy to be better, in falls or in what lasts, beyond chance.
    """
    up = ~(old_fell | new_fell)
    drift = [
        np.mean([drift_speed(c, c - v) for c, v in zip(command, velocity, strict=True)], axis=0)[up]
        for velocity in (old, new)
    ]
    old_m_s, new_m_s = (float(speed.mean()) if up.any() else np.nan for speed in drift)
    chance_m_s = float((drift[1] - drift[0]).std() / np.sqrt(up.sum())) if up.any() else np.nan
    reason, safer = "", more_fell(new_fell, old_fell)
    if more_fell(old_fell, new_fell):
        reason = f"{new_fell.sum()} of {len(up)} fell with it, {old_fell.sum()} without"
    elif not safer and new_m_s > WORSE * old_m_s and new_m_s - old_m_s > BEYOND_CHANCE * chance_m_s:
        reason = f"the error that lasts is {new_m_s:.3f} m/s with it, {old_m_s:.3f} m/s without"
    elif surely and not safer and not old_m_s - new_m_s > BEYOND_CHANCE * chance_m_s:
        reason = f"the error that lasts is {new_m_s:.3f} m/s with it, {old_m_s:.3f} m/s without, which may be chance"
    return Choice(len(up), int(old_fell.sum()), int(new_fell.sum()), old_m_s, new_m_s, reason, 0.0 if reason else 1.0)


def _commands(command_range: CommandRange, robots: int, rng: np.random.Generator) -> np.ndarray:
    """One after the other for each robot, (COMMANDS, robots, 3)."""
    drawn = draw_commands(command_range, COMMANDS * robots, STRAIGHT, rng)
    drawn[rng.random(len(drawn)) < STANDING] = 0.0
    return drawn.reshape(COMMANDS, robots, 3)
