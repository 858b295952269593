"""Virtual robots: the same robot with hidden physics, written down in a YAML file whose keys carry their units.

They stand in for hardware. What they are made of stays in `Twin`; they speak through logs only.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, TwinError, nearest, shown
from surefoot.files import canonical_json, is_number, path_of, read_yaml, sha256
from surefoot.robot.load import Robot, load_robot, shipped_robots
from surefoot.robot.values import match, per_name
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.physics import Physics, checked_physics
from surefoot.sim.residual import TorqueCurve
from surefoot.sim.values import names_of, nominal, resolve
from surefoot.sim.worlds import Worlds

# Short keys of the nested blocks, and the parameters that they stand for.
MOTOR_KEYS, BATTERY_KEYS = (
    {name.removeprefix(f"{block}_"): name for name, entry in PARAMETERS.items() if entry.block == block}
    for block in ("motor", "battery")
)
SPRING_KEYS = ("joints", "stiffness_nm_per_rad", "rest_rad")
RECORDING_KEYS = ("time_jitter_s", "time_shift_s")
CURVE_KEYS = ("joints", "position_rad", "torque_nm")
OTHER_KEYS = (
    "robot",
    "notes",
    "motor",
    "battery",
    "springs",
    "torque_curves",
    "network",
    "physics_hz",
    *RECORDING_KEYS,
)


@dataclass(frozen=True)
class Twin:
    """A virtual robot: physics that nobody is told, and how its recordings are stamped."""

    name: str
    physics: Physics = field(repr=False)
    time_jitter_s: float = 0.0  # standard deviation of the time stamps in the log
    time_shift_s: tuple[float, float] = (0.0, 0.0)  # each recording starts late by a time drawn from this range

    @property
    def robot(self) -> Robot:
        """Which robot it is."""
        return self.physics.robot

    def worlds(self, n: int, *, seed: int = 0, threads: int = 0) -> Worlds:
        """n copies of this robot; the seed governs their noise."""
        return self.physics.worlds(n, seed=seed, threads=threads)

    def with_robot(self, robot: Robot) -> "Twin":
        """The same hidden physics for the robot as a policy uses it."""
        return replace(self, physics=self.physics.with_robot(robot))

    @property
    def hash(self) -> str:
        """Identity of the hidden physics, so that a log can be traced without telling what was hidden."""
        recording = {"jitter": self.time_jitter_s, "shift": self.time_shift_s}
        return sha256(canonical_json(self.physics.identity() | recording).encode())


def shipped_twins() -> dict[str, Path]:
    """The virtual robots that come with the package."""
    return {file.stem: file for folder in shipped_robots() for file in sorted((folder / "twins").glob("*.yaml"))}


def load_twin(name_or_path: str | Path) -> Twin:
    """Read a virtual robot by shipped name or path."""
    path = _find(str(name_or_path))
    content = read_yaml(path, TwinError)
    try:
        return _twin(content, path)
    except SurefootError as reason:
        raise TwinError(f"{path}: {reason}", argument=reason.argument, verb=reason.verb) from None


def _find(name: str) -> Path:
    shipped = shipped_twins()
    path = path_of(name)
    try:
        if path.is_file():
            return path
        if path.is_dir():
            raise TwinError(
                f"{shown(name)} is a folder; give the YAML file of a virtual robot, or a shipped name"
                f" ({', '.join(shipped)})"
            )
    except OSError:  # a name that no file can have
        pass
    if name not in shipped:
        raise TwinError(
            f"no virtual robot {shown(name)}{nearest(name, shipped)}; give a shipped name, or the path of a YAML file"
        )
    return shipped[name]


def _twin(content: dict[str, Any], path: Path) -> Twin:
    """Check every value; what is raised does not name the file yet."""
    allowed = (*OTHER_KEYS, *PARAMETERS)
    for key in content:
        if key not in allowed:
            raise TwinError(f"unknown key {shown(key)}{nearest(key, allowed)}")
    place = content.get("robot")
    if not isinstance(place, str) or not place:
        given = f"'robot' is {shown(place)}" if "robot" in content else "the key 'robot' is missing"
        raise TwinError(f"{given}; name a shipped robot, or give the path of a robot.yaml")
    robot = load_robot(_beside(place, path))
    written = _parameters(content, robot)
    parameters = {name: _value(name, value, robot) for name, value in written.items()}
    _check_torque_speed(parameters, robot)
    jitter = content.get("time_jitter_s", 0.0)
    if not is_number(jitter) or not 0 <= jitter <= 1:
        raise TwinError(f"time_jitter_s is {shown(jitter)}; it must be a number from 0 to 1 s")
    shift = content.get("time_shift_s", 0.0)
    pair = shift if isinstance(shift, list) else [shift, shift]
    if len(pair) != 2 or not all(is_number(v) for v in pair) or not 0 <= pair[0] <= pair[1] <= 1:
        raise TwinError(f"time_shift_s is {shown(shift)}; it must be a number from 0 to 1 s, or [lowest, highest]")
    curves = _curves(content.get("torque_curves", []), robot)
    physics = checked_physics(
        robot, parameters, content.get("network"), content.get("physics_hz"), curves, error=TwinError
    )
    return Twin(path.stem, physics, float(jitter), (float(pair[0]), float(pair[1])))


def _beside(place: str, path: Path) -> str:
    """A robot's path in a twin file may be relative to that file."""
    beside = path.parent / place
    try:
        return str(beside) if beside.is_file() or (beside / "robot.yaml").is_file() else place
    except OSError:  # a name that no file can have
        raise TwinError(f"no robot {shown(place)}; name a shipped robot, or give the path of a robot.yaml") from None


def _parameters(content: dict[str, Any], robot: Robot) -> dict[str, Any]:
    """All parameters as they are written, at the top and in the blocks; one that is written twice is refused."""
    parameters = {key: value for key, value in content.items() if key in PARAMETERS}
    blocks = {
        "motor": _block(content.get("motor", {}), MOTOR_KEYS, "motor"),
        "battery": _block(content.get("battery", {}), BATTERY_KEYS, "battery"),
        "springs": _springs(content.get("springs", []), robot),
    }
    for block, values in blocks.items():
        for name in values:
            if name in parameters:
                raise TwinError(f"{name} is given twice, at the top and under {block}; remove one of them")
        parameters |= values
    if {"base_mass_kg", "link_mass_kg"} <= set(parameters):
        raise TwinError(
            "base_mass_kg and link_mass_kg both give the base's mass; give it in link_mass_kg alone, by the body's name"
        )
    return parameters


def _value(name: str, value: Any, robot: Robot) -> float | tuple[float, ...]:
    """A parameter as one number, or one for each joint, body or axis."""
    names, unit = names_of(name, robot), PARAMETERS[name].unit
    if names:
        kind = {"joint": "joints", "body": "bodies", "axis": "axes"}[PARAMETERS[name].per]
        value = per_name(value, names, name, TwinError, default=nominal(name, robot).tolist(), kind=kind)
    elif not is_number(value):
        raise TwinError(
            f"{name} is {shown(value)}; it must be one finite number{'' if unit == '1' else f', in {unit}'}"
        )
    resolve(name, value, robot, error=TwinError)
    return value if isinstance(value, tuple) else float(value)


def _check_torque_speed(parameters: dict[str, Any], robot: Robot) -> None:
    """Stall torque and no-load speed make sense together, and a battery acts through them only."""
    joints = robot.contract.joints
    stall, no_load = (
        np.broadcast_to(parameters.get(name, np.inf), len(joints))
        for name in ("stall_torque_nm", "no_load_speed_rad_s")
    )
    alone = np.flatnonzero(np.isfinite(stall) != np.isfinite(no_load))
    if len(alone):
        raise TwinError(
            f"motor needs stall_torque_nm and no_load_speed_rad_s together; {joints[alone[0]]} has one of them only"
        )
    if not np.isfinite(stall).any() and {"battery_level", "battery_sag_per_kw"} & set(parameters):
        raise TwinError(
            "a battery acts through the motors' torque-speed limit; give stall_torque_nm and no_load_speed_rad_s under"
            " motor as well"
        )


def _block(value: Any, keys: dict[str, str], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TwinError(f"{what} is {shown(value)}; it must hold 'key: value' pairs ({', '.join(keys)})")
    for key in value:
        if key not in keys:
            raise TwinError(f"unknown key {shown(key)} in {what}{nearest(key, keys)}")
    return {keys[key]: item for key, item in value.items()}


def _springs(value: Any, robot: Robot) -> dict[str, Any]:
    if not isinstance(value, list):
        raise TwinError(f"springs is {shown(value)}; it must be a list of {{{', '.join(SPRING_KEYS)}}}")
    stiffness: dict[str, float] = {}
    rest: dict[str, float] = {}
    for spring in value:
        if not isinstance(spring, dict):
            raise TwinError(f"springs holds {shown(spring)}; each spring must hold {', '.join(SPRING_KEYS)}")
        for key in spring:
            if key not in SPRING_KEYS:
                raise TwinError(f"unknown key {shown(key)} in springs{nearest(key, SPRING_KEYS)}")
        for key in SPRING_KEYS:
            if key not in spring:
                raise TwinError(f"a spring lacks {shown(key)}; each must hold {', '.join(SPRING_KEYS)}")
        patterns = spring["joints"] if isinstance(spring["joints"], list) else [spring["joints"]]
        selected = {
            joint for pattern in patterns for joint in match(str(pattern), robot.contract.joints, "springs", TwinError)
        }
        for joint in sorted(selected):
            if joint in stiffness:
                raise TwinError(f"springs names {joint} twice; give a joint one spring with the sum of the stiffnesses")
            stiffness[joint], rest[joint] = spring["stiffness_nm_per_rad"], spring["rest_rad"]
    return {"spring_stiffness_nm_per_rad": stiffness, "spring_rest_rad": rest} if stiffness else {}


def _curves(value: Any, robot: Robot) -> tuple[TorqueCurve, ...]:
    """Torque over position of some joints; a joint may be in several, and they add."""
    if not isinstance(value, list):
        raise TwinError(f"torque_curves is {shown(value)}; it must be a list of {{{', '.join(CURVE_KEYS)}}}")
    found = []
    for entry in value:
        if not isinstance(entry, dict) or set(entry) != set(CURVE_KEYS):
            raise TwinError(f"torque_curves holds {shown(entry)}; each must hold {', '.join(CURVE_KEYS)}")
        position, torque = entry["position_rad"], entry["torque_nm"]
        if not all(
            isinstance(line, list) and len(line) >= 2 and all(map(is_number, line)) for line in (position, torque)
        ):
            raise TwinError("position_rad and torque_nm of a torque curve must be lists of at least two finite numbers")
        if len(position) != len(torque) or any(b <= a for a, b in pairwise(position)):
            raise TwinError("a torque curve needs as many torques as positions, and positions that grow")
        patterns = entry["joints"] if isinstance(entry["joints"], list) else [entry["joints"]]
        selected = {
            joint
            for pattern in patterns
            for joint in match(str(pattern), robot.contract.joints, "torque_curves", TwinError)
        }
        places = tuple(k for k, joint in enumerate(robot.contract.joints) if joint in selected)
        found.append(TorqueCurve(places, tuple(map(float, position)), tuple(map(float, torque))))
    return tuple(found)
