"""What a file of another framework says about a robot and its policy, with the place where it says so.

A `Description` is what one file holds, in that file's own terms: joints by name, by the number of their motor, or by
regular expression. `resolve` (in `resolve.py`) puts one or several of them onto the joints of a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

JointKey = str | int  # a joint's name, or the number of its motor where the file names none


@dataclass(frozen=True)
class Value:
    """A value and where it comes from."""

    value: Any
    source: str  # "deploy.yaml: stiffness"
    remark: str = ""  # how it was converted, or that it was rounded
    guess: bool = False  # what the framework does by habit; the file does not say it


@dataclass(frozen=True)
class Patterns:
    """Numbers by regular expressions; a joint takes the first number whose expressions all match its whole name."""

    entries: tuple[tuple[tuple[str, ...], float], ...]
    rest: float | None = None  # of joints that none matches


@dataclass(frozen=True)
class Joints:
    """Joints that an action or a term means: by key, or by regular expressions in the order of the model or their own."""

    keys: tuple[JointKey, ...] = ()
    patterns: tuple[str, ...] = ()
    keep_order: bool = False  # of the patterns


@dataclass(frozen=True)
class Action:
    """One block of the policy's output: its joints, and how an action becomes a target.

    `scale`, `offset` and `clip` are numbers for all joints, or by key, or `Patterns`; `offset` None is the default pose.
    """

    kind: str = "position"  # position | velocity | torque
    joints: Joints | None = None  # None: all joints
    scale: Any = 1.0
    offset: Any = None  # of the target, in its own unit: not relative to the default pose
    target_clip: Any = None  # (low, high) of the target, or by key or pattern


# Each of them is a number for all joints, a mapping from keys to numbers, or `Patterns`.
PER_JOINT = ("pose_rad", "kp_nm_per_rad", "kd_nms_per_rad", "torque_limit_nm", "velocity_limit_rad_s")
WHOLE = (
    "control_hz",
    "physics_hz",
    "command_range",
    "command_default",
    "observation_clip",
    "observation_normalizer",
    "observation_frames",
    "output",
    "state",
    "action_clip",
)


@dataclass(frozen=True)
class Description:
    """What one file says. Fields are named like the keys of robot.yaml; None where it says nothing.

    `joints` is a tuple of keys in the order of the policy, `motors` the names in the order of the motors (a number in a
    key is a place in it; "" is a motor that the robot lacks). `actions` is a tuple of `Action`. `groups` maps names of
    observation groups to lists of terms as robot.yaml writes them (with `joints` as `Joints`); `policy_groups` are those
    that make up the policy's input, and `inputs` are those of a network with several.
    """

    kind: str  # of the file, as a person calls it: "a deploy.yaml of unitree_rl_lab"
    source: str  # the file's name
    order: str = "model"  # what the framework orders joints by: "model" or "breadth_first"
    joints: Value | None = None
    motors: Value | None = None
    actions: Value | None = None
    pose_rad: Value | None = None
    kp_nm_per_rad: Value | None = None
    kd_nms_per_rad: Value | None = None
    torque_limit_nm: Value | None = None
    velocity_limit_rad_s: Value | None = None
    action_clip: Value | None = None
    control_hz: Value | None = None
    physics_hz: Value | None = None
    command_range: Value | None = None
    command_default: Value | None = None
    groups: Value | None = None
    policy_groups: Value | None = None
    inputs: Value | None = None
    observation_clip: Value | None = None
    observation_normalizer: Value | None = None
    observation_frames: Value | None = None
    output: Value | None = None
    state: Value | None = None
    action_count: Value | None = None  # entries of the policy's output
    input_sizes: Value | None = None  # entries of each input of the network, by name
    gain_outputs: Value | None = None  # outputs that hold gains: name -> (field, names of joints)
    constants: Value | None = None  # outputs of the network that no input changes: name -> numbers
    remarks: tuple[str, ...] = field(default=())  # sentences about what it holds and robot.yaml does not

    def held(self) -> dict[str, Value]:
        """The fields that this file fills."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in found.items() if isinstance(value, Value)}


def rounding(values: Any) -> str:
    """A remark where the numbers look rounded by an exporter to three digits or three decimals, or nothing.

    Gains derived from a motor's inertia, or a pose from a keyframe, have more digits than that. A person may well choose
    one number of three digits, such as 0.125; two of them look like an exporter's.
    """
    numbers = sorted({abs(v) for v in _numbers(values)} - {0.0})
    digits = [_digits(v) for v in numbers]
    if digits and max(digits) == 3 and digits.count(3) > 1:
        return "no value has more than three digits: the exporter may have rounded them"
    decimals = [_decimals(v) for v in numbers]
    if decimals and max(decimals) == 3 and max(digits) > 3 and decimals.count(3) > 1:
        return "no value has more than three decimals: the exporter may have rounded them"
    return ""


def _numbers(values: Any) -> list[float]:
    if isinstance(values, Patterns):
        values = [value for _, value in values.entries]
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [number for item in values for number in _numbers(item)]
    return [float(values)] if isinstance(values, (int, float)) and not isinstance(values, bool) else []


def _digits(value: float) -> int:
    """Significant digits of a number as it would be written."""
    return len(repr(value).split("e")[0].replace(".", "").strip("0"))


def _decimals(value: float) -> int:
    text = repr(abs(value))
    return 15 if "e-" in text else len(text.partition(".")[2].rstrip("0"))
