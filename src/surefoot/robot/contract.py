"""The contract: what a policy and the code that runs it must agree on, at full precision.

It is read from `robot.yaml` once, travels inside the ONNX file of every policy, and is compared
field by field before a policy may move anything. Nothing in it is ever retyped or rounded.
"""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from surefoot.errors import PolicyError, shown
from surefoot.files import canonical_json, parse_json, sha256
from surefoot.robot.estimates import EstimatorSpec
from surefoot.robot.layout import ONE_FRAME, Frames, NetworkInput, Normalizer
from surefoot.robot.terms import Term

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
POSITION, VELOCITY, TORQUE = "position", "velocity", "torque"  # what an action is the target of
ACTION_KINDS = (POSITION, VELOCITY, TORQUE)
VELOCITY_COMMANDS = ("vx_m_s", "vy_m_s", "wz_rad_s")  # that every robot has


# Fields of a contract that older files do not have.
OPTIONAL_FIELDS = frozenset(
    {
        "driven",
        "action_kind",
        "action_offset",
        "action_limit",
        "target_limit",
        "more_commands",
        "frames",
        "observation_clip",
        "normalizer",
        "inputs",
        "output",
        "state",
        "estimators",
    }
)


@dataclass(frozen=True)
class Command:
    """A command beside the three velocities, such as a height or a gait frequency."""

    name: str
    range: tuple[float, float]
    default: float


@dataclass(frozen=True)
class Contract:
    """Joint order, pose, gains, limits, scales, observation layout and rates. Lists are in the order of `joints`.

    `joints` are all that have a motor and an encoder. A policy drives those in `driven`, in the order of its output; the
    others are held at their pose by their own gains, and their action is always 0. A joint's target is

        position: pose + action_offset + scale * action    rad
        velocity: action_offset + scale * action           rad/s, torque kd * (target - velocity)
        torque:   action_offset + scale * action           N·m, less kd * velocity
    """

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
    # What most policies do without. At its default a field is left out of the JSON, so that older files stay as they are.
    driven: tuple[str, ...] = ()  # joints in the order of the policy's output; empty: all
    action_kind: tuple[str, ...] = ()  # of each joint; empty: position
    action_offset: tuple[float, ...] = ()  # of each joint; empty: 0
    action_limit: tuple[tuple[float, float], ...] = ()  # of each joint's action, beside action_clip; empty: none
    target_limit: tuple[tuple[float, float], ...] = ()  # of each joint's target; empty: none
    more_commands: tuple[Command, ...] = ()
    frames: Frames = ONE_FRAME  # of the whole observation
    observation_clip: float | None = None
    normalizer: Normalizer | None = None
    inputs: tuple[NetworkInput, ...] = ()  # of a policy with several; `observation` is then empty
    output: str = ""  # the tensor that is the action; empty: the only one that is no state
    state: tuple[tuple[str, str], ...] = ()  # recurrent: (input, output) tensors
    estimators: tuple[EstimatorSpec, ...] = ()

    @property
    def n_joints(self) -> int:
        """Number of joints with a motor."""
        return len(self.joints)

    @property
    def driven_joints(self) -> tuple[str, ...]:
        """The joints that the policy drives, in the order of its output."""
        return self.driven or self.joints

    @cached_property
    def driven_index(self) -> tuple[int, ...]:
        """Where they are in `joints`."""
        return tuple(self.joints.index(name) for name in self.driven_joints)

    @property
    def n_driven(self) -> int:
        """Length of the policy's output."""
        return len(self.driven_joints)

    @property
    def held_joints(self) -> tuple[str, ...]:
        """Joints that stay at their pose, in the order of `joints`."""
        return tuple(name for name in self.joints if self.driven and name not in self.driven)

    @property
    def command_names(self) -> tuple[str, ...]:
        """The three velocities, then the further commands."""
        return (*VELOCITY_COMMANDS, *(command.name for command in self.more_commands))

    @property
    def network_inputs(self) -> tuple[NetworkInput, ...]:
        """The inputs of the policy's network that are observations, one or several."""
        if self.inputs:
            return self.inputs
        return (
            NetworkInput(self.observation, frames=self.frames, clip=self.observation_clip, normalizer=self.normalizer),
        )

    @property
    def terms(self) -> tuple[Term, ...]:
        """All observation terms, of all inputs."""
        return tuple(term for given in self.network_inputs for term in given.terms)

    def observes(self, name: str) -> bool:
        """Whether the policy observes a term of this name."""
        return any(term.name == name for term in self.terms)

    def width(self, term: Term) -> int:
        """Entries of one frame of a term."""
        return term.width(self.n_driven, len(self.command_names))

    def input_size(self, given: NetworkInput) -> int:
        """Length of one input of the network."""
        return given.width(self.n_driven, len(self.command_names))

    @property
    def observation_size(self) -> int:
        """Length of the observation vector; of all inputs together where there are several."""
        return sum(self.input_size(given) for given in self.network_inputs)

    def estimator(self, term: str) -> EstimatorSpec | None:
        """Who gives an estimated term."""
        return next((estimator for estimator in self.estimators if estimator.term == term), None)

    @property
    def control_dt_s(self) -> float:
        """Seconds between two actions."""
        return 1.0 / self.control_hz

    def to_json(self) -> str:
        """The contract as JSON that reads back to the last bit."""
        return canonical_json(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Every field; those of `OPTIONAL_FIELDS` only where they differ from their default."""
        content = dataclasses.asdict(self)
        for field in dataclasses.fields(self):
            if field.name in OPTIONAL_FIELDS and getattr(self, field.name) == field.default:
                del content[field.name]
        content["observation"] = [term.to_dict() for term in self.observation]
        if self.inputs:
            content["inputs"] = [given.to_dict() for given in self.inputs]
        if self.estimators:
            content["estimators"] = [estimator.to_dict() for estimator in self.estimators]
        return content

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
        from surefoot.robot.read_contract import contract_from_dict  # which makes contracts, and so imports this module

        return contract_from_dict(content, source)

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
        for field in (
            "driven",
            "action_clip",
            "action_kind",
            "action_offset",
            "action_limit",
            "target_limit",
            "observation",
            "frames",
            "observation_clip",
            "normalizer",
            "inputs",
            "more_commands",
            "control_hz",
        ):
            if getattr(self, field) != getattr(other, field):
                found.append(f"{field}: {_shown(getattr(self, field))} against {_shown(getattr(other, field))}")
        return found


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Term):
        return f"[{', '.join(map(describe_term, value))}]"
    return shown(value) if isinstance(value, tuple) else repr(value)


def describe_term(term: Term) -> str:
    """A term in a few words: its name, and what it does to its values."""
    scale = f"{term.scale:g}" if isinstance(term.scale, float) else str([float(f"{s:g}") for s in term.scale])
    notes = [f"{term.history} frames"] if term.history > 1 else []
    notes += ["newest first"] if term.newest_first else []
    notes += [f"every {term.stride} ticks"] if term.stride > 1 else []
    notes += [f"{len(term.joints)} joints"] if term.joints else []
    notes += [", ".join(term.entries)] if term.entries else []
    notes += ["not relative to the pose"] if not term.relative else []
    return f"{term.name}×{scale}" + (f" ({', '.join(notes)})" if notes else "")
