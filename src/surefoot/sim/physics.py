"""`Physics`: one robot with these numbers, as a value.

Parameters, torque that no parameter can say (curves, a network), a shift of the policy's targets, and the rate of the
physics. A fit ends in one, a search draws them, a virtual robot hides one, and `worlds(n)` simulates it.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, WorldsError, shown
from surefoot.files import canonical_json, is_number, sha256
from surefoot.robot.load import Robot, shipped_robots
from surefoot.sim.network import Network, read_network
from surefoot.sim.parameters import TORQUE_SPEED
from surefoot.sim.residual import TorqueCurve, summed
from surefoot.sim.values import nominal, resolve
from surefoot.sim.worlds import Worlds


@dataclass(frozen=True, eq=False)
class Physics:
    """A robot with these numbers. Without any, it is the nominal robot."""

    robot: Robot
    parameters: dict[str, Any] = field(default_factory=dict, repr=False)  # as `Worlds.set` takes them
    network: Network | None = field(default=None, repr=False)  # adds to torques or to targets
    curves: tuple[TorqueCurve, ...] = field(default=(), repr=False)  # torque over position
    physics_hz: float | None = None  # None: the robot's own rate

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        return bool(TORQUE_SPEED & set(self.parameters))

    @property
    def adds(self) -> bool:
        """Whether it adds something that no parameter can say, which all worlds of a batch then share."""
        return self.network is not None or bool(self.curves)

    def worlds(
        self, n: int, *, seed: int = 0, threads: int = 0, noise_period: int | None = None, feet: bool = False
    ) -> Worlds:
        """n simulations of this robot, ready to step; the seed governs their noise."""
        made = Worlds(
            self.robot,
            n,
            seed=seed,
            threads=threads,
            physics_hz=self.physics_hz,
            torque_speed=self.torque_speed,
            noise_period=noise_period,
            feet=feet,
        )
        self.apply(made)
        made.reset()
        return made

    def apply(self, worlds: Worlds, rows: np.ndarray | None = None) -> None:
        """Give worlds, or the worlds `rows`, these numbers; what is not set stays as it is. Reset the
        worlds afterwards.
        """
        for name, value in self.parameters.items():
            worlds.set(name, value, rows)
        if rows is not None and self.adds:
            raise WorldsError("curves and networks act on all worlds of a batch; apply this physics to all of them")
        if self.network is not None:
            self.network.attach(worlds)
        if self.curves:
            worlds.residual = summed([*self.curves, *([] if worlds.residual is None else [worlds.residual])])

    def value(self, name: str) -> np.ndarray:
        """A parameter of this robot: (n_entries,), or () for one value per world."""
        if name not in self.parameters:
            return nominal(name, self.robot)
        return np.asarray(resolve(name, self.parameters[name], self.robot)[0])

    def with_robot(self, robot: Robot) -> "Physics":
        """The same numbers for the robot as a policy uses it."""
        return replace(self, robot=robot)

    @property
    def hash(self) -> str:
        """Identity: of the robot and of all that is simulated."""
        return sha256(canonical_json(self.identity()).encode())

    def identity(self) -> dict[str, Any]:
        """All that decides how it moves, as JSON."""
        content = {
            "robot": self.robot.hash,
            # as text, since JSON has no infinity
            "parameters": {name: repr(_frozen(value)) for name, value in self.parameters.items()},
            "physics_hz": self.physics_hz or self.robot.physics_hz,
        }
        if self.adds:
            content["added"] = repr(self.curves), None if self.network is None else self.network.to_dict()
        return content

    def to_dict(self) -> dict[str, Any]:
        """As JSON; with the keys of a virtual robot's file."""
        content: dict[str, Any] = {"robot": robot_word(self.robot)}
        content |= {name: _shortest(value) for name, value in self.parameters.items()}
        if self.curves:
            joints = self.robot.contract.joints
            content["torque_curves"] = [
                {
                    "joints": [joints[k] for k in curve.joints],
                    "position_rad": list(curve.position_rad),
                    "torque_nm": list(curve.torque_nm),
                }
                for curve in self.curves
            ]
        if self.network is not None:
            content["network"] = self.network.to_dict()
        if self.physics_hz is not None:
            content["physics_hz"] = self.physics_hz
        return content


def checked_physics(
    robot: Robot,
    parameters: dict[str, Any],
    network: Any = None,
    physics_hz: Any = None,
    curves: tuple[TorqueCurve, ...] = (),
    error: type[SurefootError] = WorldsError,
) -> Physics:
    """A `Physics` from what a file holds: names, sizes and bounds are checked before anything is simulated."""
    if physics_hz is not None:
        if not is_number(physics_hz) or physics_hz <= 0:
            raise error(f"physics_hz is {shown(physics_hz)}; it must be a number above 0")
        robot.substeps(float(physics_hz))
    for name, value in parameters.items():
        resolve(name, value, robot, error=error)
    read = None if network is None else read_network(network, robot, error)
    return Physics(robot, parameters, read, curves, None if physics_hz is None else float(physics_hz))


def robot_word(robot: Robot) -> str:
    """What names a robot in a file: a shipped name, or the whole path of its robot.yaml."""
    folder = robot.path.parent
    return folder.name if folder in shipped_robots() else str(Path(robot.path).expanduser().resolve())


def _frozen(value: Any) -> Any:
    """The same values in one form, whether they came from a file or from a fit."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(_frozen(item) for item in value) if isinstance(value, (list, tuple)) else value


def _shortest(value: Any) -> Any:
    """Plain numbers; one number for a list of equal ones."""
    plain = value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value
    if isinstance(plain, list) and plain and all(item == plain[0] for item in plain):
        return plain[0]
    return plain
