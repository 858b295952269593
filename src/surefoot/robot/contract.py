"""The contract: what a policy and the code that runs it must agree on, at full precision.

It is read from `robot.yaml` once, travels inside the ONNX file of every policy, and is compared
field by field before a policy may move anything. Nothing in it is ever retyped or rounded.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from surefoot.errors import PolicyError, SurefootError, nearest, shown
from surefoot.files import canonical_json, is_number, parse_json, sha256

# Entries of each observation term; None: one for each joint.
TERM_SIZES: dict[str, int | None] = {
    "gyro": 3,  # angular velocity in the IMU frame, rad/s
    # direction of gravity in the IMU frame, unit vector; (0, 0, -1) when upright, for an IMU mounted level
    "gravity": 3,
    "command": 3,  # forward m/s, left m/s, turn rad/s
    "joint_position": None,  # relative to the default pose, rad
    "joint_velocity": None,  # rad/s
    "last_action": None,  # the previous output of the policy, before the action scale
}

# What no robot exceeds, by far: a number beyond it is a slip or a trap, and turns all that follows into infinities.
LARGEST = {
    "kp_nm_per_rad": 1e6,
    "kd_nms_per_rad": 1e5,
    "torque_limit_nm": 1e5,
    "velocity_limit_rad_s": 1e4,
    "position_limit_rad": 1e6,
    "action_scale_rad": 1e3,
    "action_clip": 1e6,
    "control_hz": 1e4,
    "command_range": 100.0,  # m/s or rad/s
}
LARGEST_SCALE = 1e6  # of an observation


@dataclass(frozen=True)
class Term:
    """One block of the observation: `history` frames of a quantity, oldest first, times `scale`."""

    name: str
    scale: float = 1.0
    history: int = 1

    def size(self, n_joints: int) -> int:
        """Entries that this term takes in the observation vector."""
        width = TERM_SIZES[self.name]
        return self.history * (n_joints if width is None else width)


@dataclass(frozen=True)
class Contract:
    """Joint order, pose, gains, limits, scales, observation layout and rates. Lists are in policy order."""

    robot: str
    joints: tuple[str, ...]
    pose_rad: tuple[float, ...]
    kp_nm_per_rad: tuple[float, ...]
    kd_nms_per_rad: tuple[float, ...]
    torque_limit_nm: tuple[float, ...]
    velocity_limit_rad_s: tuple[float, ...]
    position_limit_rad: tuple[tuple[float, float], ...]
    action_scale_rad: tuple[float, ...]
    action_clip: float  # actions are clipped to plus or minus this before the scale
    observation: tuple[Term, ...]
    control_hz: float
    command_range: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]  # vx m/s, vy m/s, wz rad/s

    @property
    def n_joints(self) -> int:
        """Number of joints that the policy drives."""
        return len(self.joints)

    @property
    def observation_size(self) -> int:
        """Length of the observation vector."""
        return sum(term.size(self.n_joints) for term in self.observation)

    @property
    def control_dt_s(self) -> float:
        """Seconds between two actions."""
        return 1.0 / self.control_hz

    def to_json(self) -> str:
        """The contract as JSON that reads back to the last bit."""
        return canonical_json(dataclasses.asdict(self))

    @property
    def hash(self) -> str:
        """Hash of every field."""
        return sha256(self.to_json().encode())

    @staticmethod
    def from_json(text: str, source: str) -> "Contract":
        """Read back what `to_json` wrote; `source` names the file in errors."""
        try:
            content = parse_json(text)
        except ValueError:
            raise PolicyError(
                f"the contract inside {source} is not valid JSON; attach it again", verb="policy attach"
            ) from None
        return _contract_from_dict(content, source)

    def differences(self, other: "Contract") -> list[str]:
        """One sentence for each field in which two contracts differ, the most basic fields first.

        Only what changes the meaning of an observation or an action counts; a robot's limits and the
        range of commands may differ without making a policy wrong.
        """
        if self.joints != other.joints:
            return [f"joints: {', '.join(self.joints)} against {', '.join(other.joints)}"]
        found = []
        for field in ("pose_rad", "kp_nm_per_rad", "kd_nms_per_rad", "action_scale_rad"):
            ours, theirs = getattr(self, field), getattr(other, field)
            for joint, a, b in zip(self.joints, ours, theirs, strict=True):
                if a != b:
                    found.append(f"{field} of {joint}: {a!r} against {b!r}")
                    break
        for field in ("action_clip", "observation", "control_hz"):
            if getattr(self, field) != getattr(other, field):
                found.append(f"{field}: {_shown(getattr(self, field))} against {_shown(getattr(other, field))}")
        return found


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return (
            "["
            + ", ".join(f"{t.name}×{t.scale:g}" + (f" ({t.history} frames)" if t.history > 1 else "") for t in value)
            + "]"
        )
    return repr(value)


def parse_observation(value: Any, what: str, error: type[SurefootError]) -> tuple[Term, ...]:
    """Observation terms from a list of names or of mappings with `name`, `scale` and `history`."""
    if not isinstance(value, list) or not value:
        raise error(f"{what} must be a list of terms, such as [gyro, gravity, command, joint_position]")
    terms = []
    for item in value:
        entry = {"name": item} if isinstance(item, str) else item
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise error(f"{what}: {shown(item)} is not a term; write a name, or 'name: ..., scale: ...'")
        for key in entry:
            if key not in ("name", "scale", "history"):
                raise error(
                    f"{what}: unknown key {shown(key)} in term"
                    f" {shown(entry['name'])}{nearest(key, ('scale', 'history'))}"
                )
        term = Term(entry["name"], entry.get("scale", 1.0), entry.get("history", 1))
        if term.name not in TERM_SIZES:
            raise error(f"{what}: unknown term {shown(term.name)}{nearest(term.name, TERM_SIZES)}")
        if not is_number(term.scale):
            raise error(f"{what}: scale of {term.name} is {shown(term.scale)}; it must be a finite number")
        if abs(term.scale) > LARGEST_SCALE:
            raise error(f"{what}: scale of {term.name} is {term.scale:g}; it must be within ±{LARGEST_SCALE:g}")
        if not isinstance(term.history, int) or isinstance(term.history, bool) or not 1 <= term.history <= 1000:
            raise error(
                f"{what}: history of {term.name} is {shown(term.history)}; it must be a whole number from 1 to 1000"
            )
        terms.append(Term(term.name, float(term.scale), term.history))
    return tuple(terms)


def _contract_from_dict(content: Any, source: str) -> Contract:
    fields = {field.name for field in dataclasses.fields(Contract)}
    if not isinstance(content, dict) or set(content) != fields:
        given = set(content) if isinstance(content, dict) else set()
        missing, extra = sorted(fields - given), sorted(given - fields)
        raise PolicyError(
            f"the contract inside {source} does not fit this version"
            + (f"; it lacks {', '.join(missing)}" if missing else "")
            + (f"; it has the unknown {', '.join(map(str, extra))}" if extra else "")
            + "; attach it again",
            verb="policy attach",
        )
    try:
        joints = tuple(str(name) for name in content["joints"])
        numbers = {
            key: tuple(float(v) for v in content[key])
            for key in (
                "pose_rad",
                "kp_nm_per_rad",
                "kd_nms_per_rad",
                "torque_limit_nm",
                "velocity_limit_rad_s",
                "action_scale_rad",
            )
        }
        limits = tuple((float(low), float(high)) for low, high in content["position_limit_rad"])
        vx, vy, wz = ((float(low), float(high)) for low, high in content["command_range"])
        action_clip, control_hz = float(content["action_clip"]), float(content["control_hz"])
        everything = [
            *(v for values in (*numbers.values(), *limits, vx, vy, wz) for v in values),
            action_clip,
            control_hz,
        ]
        if not all(map(math.isfinite, everything)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(
            f"the contract inside {source} holds something that is not a number where one is needed; attach it again",
            verb="policy attach",
        ) from None
    if any(len(values) != len(joints) for values in (*numbers.values(), limits)) or not joints:
        raise PolicyError(
            f"the contract inside {source} has lists of different lengths for {len(joints)} joints; attach it again",
            verb="policy attach",
        )
    scalars = {"action_clip": (action_clip,), "control_hz": (control_hz,)}
    ranges = {"position_limit_rad": sum(limits, ()), "command_range": (*vx, *vy, *wz)}
    for key, values in {**numbers, **scalars, **ranges}.items():
        if (largest := max(map(abs, values))) > LARGEST.get(key, math.inf):
            raise PolicyError(
                f"the contract inside {source}: {key} is {largest:g}, and no robot has more than {LARGEST[key]:g};"
                " attach it again",
                verb="policy attach",
            )
    observation = parse_observation(content["observation"], f"the observation of {source}", PolicyError)
    return Contract(
        str(content["robot"]),
        joints,
        position_limit_rad=limits,
        observation=observation,
        command_range=(vx, vy, wz),
        action_clip=action_clip,
        control_hz=control_hz,
        **numbers,
    )
