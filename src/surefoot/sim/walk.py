"""The act/step loop: an agent drives a batch of worlds through a script, and probes measure what happens.

  script = Script(commands, pushes=(planar_push(199, ids, 0.5, angle_rad),))
  tracking, falls = TrackingProbe(robot.posture), FallProbe(robot.posture)
  walk(worlds, agent, script, (tracking, falls))
  tracking.result().velocity_error_m_s  # (n_worlds, n_ticks)

A control tick runs in this order: the script's hook, the agent's action, one control period of physics, the pushes,
the probes. Ticks count from 0. In a posture that a robot has to rise to, the ticks of the rise come before tick 0 and
have negative numbers, so that tick 0 is the first that counts.

`walk` resets nothing: it continues from the present state of the worlds and of the agent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from surefoot.errors import WorldsError
from surefoot.policy.agents import Agent
from surefoot.robot.load import Robot
from surefoot.robot.sensors import Sensors
from surefoot.sim.worlds import Worlds

Progress = Callable[[int, int], None]  # ticks done, ticks in all


@dataclass(frozen=True, eq=False)
class Push:
    """A change of the base's velocity in some worlds, at the end of a control tick."""

    tick: int
    ids: np.ndarray  # (n_pushed,) worlds
    velocity: np.ndarray  # (n_pushed, 6) m/s in the world frame, then rad/s in the base frame


def planar_push(tick: int, ids: np.ndarray, speed_m_s: float, angle_rad: np.ndarray) -> Push:
    """A push along the floor, each world (n_pushed,) in its own direction, (n_pushed,) in the world frame."""
    velocity = np.zeros((len(ids), 6))
    velocity[:, 0], velocity[:, 1] = speed_m_s * np.cos(angle_rad), speed_m_s * np.sin(angle_rad)
    return Push(tick, ids, velocity)


@dataclass(frozen=True, eq=False)
class Script:
    """What happens to the robots on a walk."""

    commands: np.ndarray  # (n_ticks, n_worlds, 3), or (n_ticks, 1, 3) for all alike: forward m/s, left m/s, turn rad/s
    n_rise: int = 0  # ticks before tick 0
    rise_command: np.ndarray = field(default_factory=lambda: np.zeros(3))  # (n_worlds, 3) or (3,), during the rise
    pushes: tuple[Push, ...] = ()
    before_tick: Callable[[int], None] | None = None  # called with k; may reset worlds and the agent

    @property
    def n_ticks(self) -> int:
        """Control ticks that count."""
        return len(self.commands)

    def command(self, k: int) -> np.ndarray:
        """What the robots are commanded at tick k, (n_worlds, 3)."""
        command: np.ndarray = self.commands[k] if k >= 0 else self.rise_command
        return command

    def for_worlds(self, n: int) -> "Script":
        """The same script with a command for each of n worlds."""
        width = self.commands.shape[-1]
        shape = (self.n_ticks, n, width)
        if self.commands.ndim != 3 or width < 3 or self.commands.shape not in (shape, (self.n_ticks, 1, width)):
            raise WorldsError(
                f"the commands have the shape {self.commands.shape}; it must be (ticks, {n}, 3), or (ticks, 1, 3) for"
                " all worlds alike, or wider where the robot takes further commands"
            )
        for push in self.pushes:
            if not -self.n_rise <= push.tick < self.n_ticks:
                raise WorldsError(
                    f"a push comes at tick {push.tick}; the walk has the ticks {-self.n_rise} to {self.n_ticks - 1}"
                )
        return replace(
            self,
            commands=np.broadcast_to(self.commands, shape),
            rise_command=np.broadcast_to(self.rise_command, (n, self.rise_command.shape[-1])),
        )


class Probe(Protocol):
    """Measures one thing on a walk; a frozen result can be asked for afterwards."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Look at the worlds before the first tick; the script's commands are (n_ticks, n_worlds, 3)."""
        ...

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Look at the worlds after tick k; `sensors` are those that led to `action`, (n_worlds, n_joints)."""
        ...


def rise_ticks(robot: Robot) -> int:
    """Control ticks that a robot has to rise to its posture; 0 where it starts in it."""
    return round(robot.posture.rise_s * robot.contract.control_hz)


def walk(
    worlds: Worlds, agent: Agent, script: Script, probes: Sequence[Probe], progress: Progress | None = None
) -> None:
    """Let the agent drive all worlds through the script; `progress` gets ticks done and in all, the rise included."""
    script = script.for_worlds(worlds.n)
    pushes: dict[int, list[Push]] = {}
    for push in script.pushes:
        pushes.setdefault(push.tick, []).append(push)
    for probe in probes:
        probe.start(worlds, script)
    for k in range(-script.n_rise, script.n_ticks):
        if script.before_tick is not None:
            script.before_tick(k)
        sensors = worlds.sensors
        action = agent.act(sensors, script.command(k))
        worlds.step(action)
        for push in pushes.get(k, ()):
            worlds.kick(push.velocity, push.ids)
        for probe in probes:
            probe.tick(k, sensors, action, worlds)
        if progress is not None:
            progress(k + 1 + script.n_rise, script.n_rise + script.n_ticks)
