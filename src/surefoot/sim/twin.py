"""Virtual robots: the same robot with hidden physics, written down in a YAML file whose keys carry their units.

They stand in for hardware. What they are made of stays in `Twin`; they speak through logs only.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError, TwinError, nearest
from surefoot.files import canonical_json, is_number, read_yaml, sha256
from surefoot.robot.load import Robot, load_robot, shipped_robots
from surefoot.robot.values import match
from surefoot.sim.actuation import TORQUE_SPEED
from surefoot.sim.floor import Flat
from surefoot.sim.parameters import PARAMETERS, resolve
from surefoot.sim.scene import build_scene
from surefoot.sim.worlds import Worlds

# Short keys of the nested blocks, and the parameters that they stand for.
MOTOR_KEYS = {
    "strength": "motor_strength",
    **{
        name: name
        for name in (
            "torque_limit_nm", "stall_torque_nm", "no_load_speed_rad_s", "backlash_rad", "start_temperature_c", "ambient_temperature_c",
            "thermal_rise_c_per_nm2", "thermal_time_s", "derate_start_c", "derate_per_c",
        )
    },
}  # fmt: skip
BATTERY_KEYS = {"level": "battery_level", "sag_per_kw": "battery_sag_per_kw"}
SPRING_KEYS = ("joints", "stiffness_nm_per_rad", "rest_rad")
RECORDING_KEYS = ("time_jitter_s", "time_shift_s")
OTHER_KEYS = ("robot", "notes", "motor", "battery", "springs", *RECORDING_KEYS)


@dataclass(frozen=True)
class Twin:
    """A robot and what is hidden in it."""

    name: str
    robot: Robot
    parameters: dict[str, Any] = field(repr=False)  # by the names of PARAMETERS
    time_jitter_s: float = 0.0  # standard deviation of the time stamps in the log
    time_shift_s: tuple[float, float] = (0.0, 0.0)  # each recording starts late by a time drawn from this range
    physics_hz: float | None = None

    def worlds(self, n: int, *, seed: int = 0, threads: int = 0) -> Worlds:
        """n copies of this robot; the seed governs their noise."""
        made = Worlds(
            self.robot, n, seed=seed, threads=threads, physics_hz=self.physics_hz, torque_speed=bool(TORQUE_SPEED & set(self.parameters))
        )
        for name, value in self.parameters.items():
            made.set(name, value)
        made.reset()
        return made

    @property
    def hash(self) -> str:
        """Identity of the hidden physics, so that a log can be traced without telling what was hidden."""
        content = {"robot": self.robot.hash, "parameters": self.parameters, "jitter": self.time_jitter_s, "shift": self.time_shift_s}
        return sha256(canonical_json(content).encode())


def shipped_twins() -> dict[str, Path]:
    """The virtual robots that come with the package."""
    return {file.stem: file for folder in shipped_robots() for file in sorted((folder / "twins").glob("*.yaml"))}


def load_twin(name_or_path: str | Path) -> Twin:
    """Read a virtual robot by shipped name or path."""
    path = Path(name_or_path).expanduser()
    shipped = shipped_twins()
    if not path.is_file():
        if str(name_or_path) not in shipped:
            raise TwinError(
                f"no virtual robot {str(name_or_path)!r}: give a shipped name ({', '.join(shipped)}), or the path of a YAML file"
            )
        path = shipped[str(name_or_path)]
    content = read_yaml(path, TwinError)
    if "robot" not in content:
        raise TwinError(f"{path}: the key 'robot' is missing; name a shipped robot or the path of a robot.yaml")
    robot = load_robot(_robot_place(content["robot"], path))
    allowed = [*OTHER_KEYS, "physics_hz", *PARAMETERS]
    parameters: dict[str, Any] = {}
    for key, value in content.items():
        if key not in allowed:
            raise TwinError(f"{path}: unknown key {key!r}{nearest(str(key), allowed)}")
        if key in PARAMETERS:
            parameters[key] = value
    parameters |= _block(content.get("motor", {}), MOTOR_KEYS, f"{path}: motor")
    parameters |= _block(content.get("battery", {}), BATTERY_KEYS, f"{path}: battery")
    parameters |= _springs(content.get("springs", []), robot, f"{path}: springs")
    if ("stall_torque_nm" in parameters) != ("no_load_speed_rad_s" in parameters):
        raise TwinError(f"{path}: motor needs stall_torque_nm and no_load_speed_rad_s together")
    if content.get("battery") and "stall_torque_nm" not in parameters:
        raise TwinError(
            f"{path}: a battery acts through the motors' torque-speed limit; give stall_torque_nm and no_load_speed_rad_s under motor"
        )
    physics_hz = content.get("physics_hz")
    if physics_hz is not None and (not is_number(physics_hz) or physics_hz <= 0):
        raise TwinError(f"{path}: physics_hz is {physics_hz!r}; it must be a number above 0")
    scene = build_scene(robot, Flat(), physics_hz, torque_speed=False)
    for name, value in parameters.items():
        try:
            resolve(name, value, robot, scene, 1, TwinError)
        except SurefootError as reason:
            raise TwinError(f"{path}: {reason}") from None
    return Twin(
        name=path.stem, robot=robot, parameters=parameters, physics_hz=physics_hz,
        time_jitter_s=_time(content.get("time_jitter_s", 0.0), "time_jitter_s", path)[1],
        time_shift_s=_time(content.get("time_shift_s", 0.0), "time_shift_s", path),
    )  # fmt: skip


def _robot_place(value: Any, path: Path) -> str:
    """A robot's path in a twin file may be relative to that file."""
    beside = path.parent / str(value)
    return str(beside) if beside.exists() else str(value)


def _block(value: Any, keys: dict[str, str], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TwinError(f"{what} must hold 'key: value' pairs ({', '.join(keys)})")
    for key in value:
        if key not in keys:
            raise TwinError(f"{what}: unknown key {key!r}{nearest(str(key), keys)}")
    return {keys[key]: item for key, item in value.items()}


def _springs(value: Any, robot: Robot, what: str) -> dict[str, Any]:
    if not isinstance(value, list):
        raise TwinError(f"{what} must be a list of {{{', '.join(SPRING_KEYS)}}}")
    stiffness: dict[str, float] = {}
    rest: dict[str, float] = {}
    for spring in value:
        if not isinstance(spring, dict):
            raise TwinError(f"{what}: {spring!r} must hold {', '.join(SPRING_KEYS)}")
        for key in spring:
            if key not in SPRING_KEYS:
                raise TwinError(f"{what}: unknown key {key!r}{nearest(str(key), SPRING_KEYS)}")
        for key in SPRING_KEYS:
            if key not in spring:
                raise TwinError(f"{what}: a spring lacks {key!r}")
        patterns = spring["joints"] if isinstance(spring["joints"], list) else [spring["joints"]]
        for pattern in patterns:
            for joint in match(str(pattern), robot.contract.joints, what, TwinError):
                stiffness[joint], rest[joint] = spring["stiffness_nm_per_rad"], spring["rest_rad"]
    return {"spring_stiffness_nm_per_rad": stiffness, "spring_rest_rad": rest} if stiffness else {}


def _time(value: Any, key: str, path: Path) -> tuple[float, float]:
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2 or not all(is_number(v) for v in pair) or not 0 <= pair[0] <= pair[1] <= 1:
        raise TwinError(f"{path}: {key} is {value!r}; it must be a time from 0 to 1 s, or [lowest, highest]")
    return (float(pair[0]), float(pair[1]))
