"""Reading `robot.yaml`: every value checked, every mistake answered with one sentence."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from surefoot.errors import RobotError, nearest, shown
from surefoot.files import canonical_json, path_of, read_yaml, sha256
from surefoot.robot.contract import Contract
from surefoot.robot.contract_keys import CONTRACT_KEYS, contract_of, positive
from surefoot.robot.imu import why_no_imu
from surefoot.robot.loops import Follower, loops_of, settle
from surefoot.robot.model import bare_spec, compile_spec, content_hash, lowest_point
from surefoot.robot.posture import LEVEL, Posture
from surefoot.robot.values import match

REQUIRED = (
    "name",
    "model",
    "base",
    "feet",
    "joints",
    "pose_rad",
    "kp_nm_per_rad",
    "kd_nms_per_rad",
    "torque_limit_nm",
    "velocity_limit_rad_s",
    "action_scale_rad",
    "control_hz",
)
OPTIONAL = ("imu", "physics_hz", "base_height_m", "symmetry", "notes", *CONTRACT_KEYS)
DEFAULT_PHYSICS_HZ = 500.0
MOST_SUBSTEPS = 10_000
SLOWEST_PHYSICS_HZ = 50.0  # a foot that falls for 20 ms between two steps is through the floor
TRUNK = (0.5, 2.0)  # a base's origin is in the trunk if it is within these shares of the centre of mass's height
FREE = int(mujoco.mjtJoint.mjJNT_FREE)
ONE_AXIS = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


@dataclass(frozen=True)
class Mirror:
    """Left-right symmetry: joint i of the mirrored robot is `sign[i]` times joint `index[i]`."""

    index: tuple[int, ...]
    sign: tuple[float, ...]


@dataclass(frozen=True)
class Robot:
    """One frozen description of a robot; everything that touches a robot reads it from here."""

    contract: Contract
    path: Path  # the robot.yaml
    model_path: Path
    base: str  # the body with the free joint
    imu: str | None  # a site on the base or on a body fixed to it; None stands for the base frame itself
    feet: tuple[str, ...]  # names of geoms, or of bodies whose shapes are feet
    physics_hz: float
    base_height_m: float  # of the base's origin, standing in the default pose
    mirror: Mirror | None
    mass_kg: float
    passive_joints: tuple[str, ...]  # joints of the model that the policy does not drive
    static_geoms: (
        int  # colliding shapes that the model fixes to the world; they stay, beside the floor that a scene adds
    )
    hash: str  # of the contract, the other fields and the bytes of the model
    # The point of the base, in its frame, whose height tells whether the robot stands: the base's origin, or the centre
    # of mass of the standing robot where the origin is far from it (see `trunk_point`).
    trunk_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    followers: tuple[Follower, ...] = ()  # passive joints that loops and couplings of the model move with policy joints
    left_out: tuple[str, ...] = ()  # files of the model that are missing, and only seen
    posture: Posture = LEVEL  # that a policy means it to hold: no part of the robot, nor of its hash
    own_contract_hash: str | None = None  # of the contract in robot.yaml, where a policy has narrowed its commands

    @property
    def name(self) -> str:
        """The robot's name."""
        return self.contract.robot

    @property
    def trunk_height_m(self) -> float:
        """Height of the trunk above the floor, standing in the default pose."""
        return self.base_height_m + self.trunk_m[2]

    @property
    def contract_hash(self) -> str:
        """Hash of the contract as robot.yaml gives it, whatever commands a policy means."""
        return self.own_contract_hash or self.contract.hash

    def substeps(self, physics_hz: float | None = None) -> int:
        """Physics steps in one control period."""
        hz = self.physics_hz if physics_hz is None else physics_hz
        if hz < SLOWEST_PHYSICS_HZ:
            raise RobotError(
                f"physics_hz {hz:g} is too slow for feet that touch the ground; use at least {SLOWEST_PHYSICS_HZ:g},"
                f" better {DEFAULT_PHYSICS_HZ:g}"
            )
        if hz > MOST_SUBSTEPS * self.contract.control_hz:
            raise RobotError(
                f"physics_hz {hz:g} is more than {MOST_SUBSTEPS} times control_hz {self.contract.control_hz:g}; use a"
                " lower one"
            )
        steps = round(hz / self.contract.control_hz)
        if steps < 1 or abs(steps * self.contract.control_hz - hz) > 1e-9 * hz:
            raise RobotError(
                f"physics_hz {hz:g} is not a multiple of control_hz {self.contract.control_hz:g}; use for example"
                f" {max(steps, 1) * self.contract.control_hz:g}"
            )
        return steps

    def spec(self) -> mujoco.MjSpec:
        """A fresh MuJoCo spec of the robot alone, to build a scene on."""
        return bare_spec(self.model_path)


def find_robot(name_or_path: str | Path) -> Path:
    """The robot.yaml for a shipped robot's name, a folder, or a file."""
    path = path_of(name_or_path)
    if path.is_dir() and (path / "robot.yaml").is_file():
        return path / "robot.yaml"
    if path.is_file():
        if path.suffix.lower() in (".xml", ".urdf", ".mjcf"):
            raise RobotError(
                f"{path} is a model, not a robot.yaml; write a starter robot.yaml from it", verb="robot new"
            )
        return path
    shipped = {folder.name: folder for folder in shipped_robots()}
    if str(name_or_path) in shipped:
        return shipped[str(name_or_path)] / "robot.yaml"
    if path.is_dir():
        raise RobotError(f"the folder {path} has no robot.yaml; write a starter from a model", verb="robot new")
    raise RobotError(
        f"no robot {shown(str(name_or_path))}: give a shipped name ({', '.join(shipped)}), or the path of a robot.yaml"
    )


def shipped_robots() -> list[Path]:
    """The folders of the robots that come with the package."""
    root = Path(str(resources.files("surefoot"))) / "robots"
    return sorted(file.parent for file in root.glob("*/robot.yaml"))


def load_robot(name_or_path: str | Path) -> Robot:
    """Read, resolve and check a robot."""
    path = find_robot(name_or_path)
    content = read_yaml(path, RobotError)
    known = REQUIRED + OPTIONAL
    for key in content:
        if key not in known:
            raise RobotError(f"{path}: unknown key {shown(key)}{nearest(key, known)}")
    for key in REQUIRED:
        if key not in content:
            raise RobotError(f"{path}: the key {shown(key)} is missing")
    for key in ("name", "model", "base"):
        if not isinstance(content[key], str) or not content[key]:
            raise RobotError(f"{path}: {key} is {shown(content[key])}; it must be a name")
    model_path = path.parent / content["model"]
    left_out: list[str] = []
    model = compile_spec(bare_spec(model_path, left_out), model_path)
    joints = _joints(content["joints"], model, path)
    base = _base(content["base"], model, path)
    feet = _feet(content["feet"], model, path)
    contract = contract_of(content, joints, len(feet), model, path)
    followers = _followers(joints, contract, model, path)
    imu = _imu(content.get("imu"), base, model, path)
    mirror = _mirror(content["symmetry"], joints, path) if content.get("symmetry") else None
    physics_hz = positive(content.get("physics_hz", DEFAULT_PHYSICS_HZ), "physics_hz", path)
    height = content.get("base_height_m")
    height = standing_height(model, contract, feet, base) if height is None else positive(height, "base_height_m", path)
    driven = {model.joint(name).id for name in joints}
    passive = tuple(
        model.joint(j).name or f"joint {j}" for j in range(model.njnt) if j not in driven and model.jnt_type[j] != FREE
    )
    identity = {
        "contract": contract.hash,
        "base": base,
        "imu": imu,
        "feet": feet,
        "physics_hz": physics_hz,
        "base_height_m": height,
        "mirror": mirror and (mirror.index, mirror.sign),
    }
    robot = Robot(
        contract=contract,
        path=path,
        model_path=model_path,
        base=base,
        imu=imu,
        feet=feet,
        physics_hz=physics_hz,
        base_height_m=height,
        mirror=mirror,
        mass_kg=float(model.body_subtreemass[model.body(base).id]),
        passive_joints=passive,
        static_geoms=_static_geoms(model),
        followers=followers,
        left_out=tuple(left_out),
        trunk_m=trunk_point(model, contract, feet, base),
        hash=sha256(canonical_json(identity).encode(), content_hash(model_path).encode()),
    )
    robot.substeps()
    return robot


def foot_geoms(model: mujoco.MjModel, foot: str) -> list[int]:
    """Ids of the colliding geoms of a foot, which is named by a geom or by a body."""
    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, foot)
    if geom >= 0:
        return [geom] if model.geom_contype[geom] or model.geom_conaffinity[geom] else []
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, foot)
    return [
        g
        for g in range(model.ngeom)
        if model.geom_bodyid[g] == body and (model.geom_contype[g] or model.geom_conaffinity[g])
    ]


def joint_addresses(model: mujoco.MjModel, joints: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the joints in qpos and in qvel, in policy order."""
    ids = [model.joint(name).id for name in joints]
    return model.jnt_qposadr[ids].copy(), model.jnt_dofadr[ids].copy()


def upright(model: mujoco.MjModel, contract: Contract, base: str, height_m: float = 0.0) -> mujoco.MjData:
    """The robot level in its default pose, the base's origin at this height; kinematics are current."""
    data = mujoco.MjData(model)
    data.qpos[joint_addresses(model, contract.joints)[0]] = contract.pose_rad
    start = model.jnt_qposadr[model.body(base).jntadr[0]]
    data.qpos[start : start + 7] = (0, 0, height_m, 1, 0, 0, 0)
    settle(model, data, contract.joints)
    mujoco.mj_kinematics(model, data)
    return data


def standing_height(model: mujoco.MjModel, contract: Contract, feet: tuple[str, ...], base: str) -> float:
    """Height of the base's origin at which the lowest foot of the upright default pose touches the floor, m."""
    data = upright(model, contract, base)
    return -min(lowest_point(model, data, geom) for foot in feet for geom in foot_geoms(model, foot))


def trunk_point(
    model: mujoco.MjModel, contract: Contract, feet: tuple[str, ...], base: str
) -> tuple[float, float, float]:
    """The point of the base, in its frame, whose height tells whether the robot stands.

    That is the base's origin where it is at a height that says so. A model may have its frame at the feet or far above
    the head, where a share of its height says nothing: then it is the centre of mass of the robot in its default pose.
    """
    data = upright(model, contract, base)
    mujoco.mj_comPos(model, data)
    centre = data.subtree_com[model.body(base).id]
    height_m = standing_height(model, contract, feet, base)
    low, high = (share * (height_m + float(centre[2])) for share in TRUNK)
    if low <= height_m <= high:
        return (0.0, 0.0, 0.0)
    return (float(centre[0]), float(centre[1]), float(centre[2]))


def _static_geoms(model: mujoco.MjModel) -> int:
    fixed = model.body_weldid[model.geom_bodyid] == 0
    return int((fixed & ((model.geom_contype > 0) | (model.geom_conaffinity > 0))).sum())


def _joints(value: Any, model: mujoco.MjModel, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise RobotError(f"{path}: joints must be a list of joint names in policy order")
    hinges = [model.joint(j).name for j in range(model.njnt) if model.jnt_type[j] in ONE_AXIS]
    for name in value:
        if value.count(name) > 1:
            raise RobotError(
                f"{path}: joints names {shown(name)} twice; each joint has one place in the policy's order"
            )
        if name not in hinges:
            raise RobotError(f"{path}: the model has no hinge or slide joint {shown(name)}{nearest(name, hinges)}")
    return tuple(value)


def _base(name: str, model: mujoco.MjModel, path: Path) -> str:
    free = [model.body(model.jnt_bodyid[j]).name for j in range(model.njnt) if model.jnt_type[j] == FREE]
    if name not in free:
        if not free:
            raise RobotError(
                f"{path}: no body of the model has a free joint; add <freejoint/> to the base body {shown(name)}"
            )
        raise RobotError(
            f"{path}: the base {shown(name)} is not a body with a free joint; the model has {', '.join(free)}"
        )
    return name


def _feet(value: Any, model: mujoco.MjModel, path: Path) -> tuple[str, ...]:
    if value == []:
        raise RobotError(
            f"{path}: feet is an empty list; name at least one geom or body that stands on the floor (of an arm on a stand:"
            " its base)"
        )
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise RobotError(f"{path}: feet must be a list of geom or body names")
    known = [model.geom(g).name for g in range(model.ngeom) if model.geom(g).name] + [
        model.body(b).name for b in range(1, model.nbody)
    ]
    for name in value:
        if value.count(name) > 1:
            raise RobotError(f"{path}: feet names {shown(name)} twice; name each foot once")
        if name not in known:
            raise RobotError(f"{path}: the model has no geom or body {shown(name)} for a foot{nearest(name, known)}")
        if not foot_geoms(model, name):
            raise RobotError(
                f"{path}: the foot {shown(name)} has no shape that collides; name a geom with contype or conaffinity"
            )
    return tuple(value)


def _followers(joints: tuple[str, ...], contract: Contract, model: mujoco.MjModel, path: Path) -> tuple[Follower, ...]:
    """Refuse loops that do not close in the default pose; what moves with which joint in those that do."""
    loops = loops_of(model, joints)
    if loops is None:
        return ()
    qpos = loops.settle(np.array(contract.pose_rad))
    loops.refuse_open(joints, qpos, path)
    return loops.followers(joints, qpos)


def _imu(value: Any, base: str, model: mujoco.MjModel, path: Path) -> str | None:
    if value is None:
        return None
    if (why := why_no_imu(value, model, base)) is not None:
        raise RobotError(f"{path}: {why}")
    return str(value)


def _mirror(value: Any, joints: tuple[str, ...], path: Path) -> Mirror:
    what = f"{path}: symmetry"
    if (
        not isinstance(value, dict)
        or set(value) - {"swap", "flip"}
        or not isinstance(value.get("swap"), dict)
        or not isinstance(value.get("flip", []), list)
    ):
        raise RobotError(
            f"{what} must give 'swap' (left prefix: right prefix) and 'flip' (patterns of joints whose sign turns)"
        )
    index = list(range(len(joints)))
    for left, right in value["swap"].items():
        for name in match(f"{left}*", joints, f"{what} swap", RobotError):
            other = f"{right}{name[len(str(left)) :]}"
            if other not in joints:
                raise RobotError(f"{what}: {name} has no partner {shown(other)}")
            index[joints.index(name)], index[joints.index(other)] = joints.index(other), joints.index(name)
    flipped = {
        name for pattern in value.get("flip", []) for name in match(str(pattern), joints, f"{what} flip", RobotError)
    }
    return Mirror(tuple(index), tuple(-1.0 if name in flipped else 1.0 for name in joints))
