"""What all exports start from: one simulated robot with the adaptation in it, and what is said about it.

The texts of this module hold names and notes from files as they are. Whoever writes them into a file escapes them,
once, for the language of that file (`surefoot.text.for_comment`).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from surefoot import __version__
from surefoot.adapt.adaptation import Adaptation
from surefoot.errors import FitError
from surefoot.files import canonical_json, json_ready, sha256
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types, usual_pose
from surefoot.sim.network import UNITS, ResidualNet
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.residual import ACTION_TERMS, TERMS, TORQUE_TERMS, Adds
from surefoot.sim.scene import DC_KD, DC_KP
from surefoot.sim.worlds import Worlds

LONGEST = 400  # characters of one entry of the provenance; adaptation.json has the rest
HEAT = frozenset(
    {
        "start_temperature_c",
        "ambient_temperature_c",
        "thermal_rise_c_per_nm2",
        "thermal_time_s",
        "derate_start_c",
        "derate_per_c",
    }
)
WHERE: dict[Adds, str] = {"torque": "torque", "action": "targets"}
KINDS = ("constant", "position", "velocity", "direction", "error")  # what a term weighs
NAMES: dict[Adds, tuple[str, ...]] = {"torque": TORQUE_TERMS, "action": ("action_offset_rad", *ACTION_TERMS[1:])}
FROM_USUAL_POSE = frozenset(
    names[KINDS.index("position")] for names in NAMES.values()
)  # what they weigh counts from it


@dataclass(frozen=True, eq=False)
class Adapted:
    """One world with the adaptation, as the fit simulated it. Its model is the truth that every export copies from."""

    adaptation: Adaptation
    robot: Robot
    worlds: Worlds
    model: mujoco.MjModel

    def value(self, name: str) -> np.ndarray:
        """A parameter of this world: (n_entries,) or ()."""
        return np.asarray(self.worlds.get(name)[0])

    @property
    def servos(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position gain, velocity gain and torque limit of each joint, motor strength and heat included."""
        gain, bias = self.model.actuator_gainprm, self.model.actuator_biasprm
        kp, kd = (gain[:, DC_KP], gain[:, DC_KD]) if self.worlds.scene.torque_speed else (gain[:, 0], -bias[:, 2])
        return kp, kd, self.model.actuator_forcerange[:, 1]

    @property
    def rest_target_rad(self) -> np.ndarray:
        """The servos' targets at an action of zero."""
        return np.array(self.robot.contract.pose_rad) + self.value("action_offset_rad") - self.value("encoder_bias_rad")


@dataclass(frozen=True, eq=False)
class AddedTerms:
    """What is added to torques or targets, as numbers in policy order; terms that are zero everywhere are not in it."""

    adds: Adds
    terms: dict[str, np.ndarray]  # of KINDS -> (n_joints,)
    net: ResidualNet | None

    def name(self, kind: str) -> str:
        """The parameter of a term, which carries its unit."""
        return NAMES[self.adds][KINDS.index(kind)]


def adapt(adaptation: Adaptation, robot: Robot) -> Adapted:
    """Simulate one robot with the adaptation; refuses another robot than the one that was fitted."""
    worlds = adaptation.physics(robot).worlds(1, threads=1)
    return Adapted(adaptation, robot, worlds, worlds.model_of(0))


def added(adapted: Adapted) -> tuple[AddedTerms, ...]:
    """What the adaptation adds to torques, to targets, or to both; refuses one that adds nothing."""
    network, parts = adapted.adaptation.network, []
    for adds, names in NAMES.items():
        terms = {
            kind: adapted.value(name)
            for kind, name in zip(KINDS, names, strict=True)
            if name and adapted.value(name).any()
        }
        net = network.net(adapted.robot) if network is not None and network.adds == adds else None
        if net is not None and not all(np.isfinite(array).all() for array in (*net.weights, *net.biases, net.limit)):
            raise FitError(
                "the adaptation's network holds numbers beyond single precision, in which it runs; fit again"
            )
        if adds == "action" and "action_scale_rad" in adapted.adaptation.settings:
            # Worlds adds to the action, in units of the contract's scale; the motors then see the scale that was
            # fitted.
            share = adapted.value("action_scale_rad") / np.array(adapted.robot.contract.action_scale_rad)
            terms = {kind: weight if kind == "constant" else share * weight for kind, weight in terms.items()}
            net = net and replace(net, limit=net.limit * share.astype(np.float32))
        if terms or net is not None:
            parts.append(AddedTerms(adds, terms, net))
    if not parts:
        raise FitError(
            "the adaptation adds no torque and moves no targets; export it as 'mjcf', the model with what it changes",
            argument="to",
        )
    return tuple(parts)


def adaptation_hash(adapted: Adapted) -> str:
    """Of all that is simulated, in whatever way the settings were written."""
    network = None if adapted.adaptation.network is None else adapted.adaptation.network.to_dict()
    settings = {name: adapted.value(name).tolist() for name in adapted.adaptation.settings}
    return sha256(canonical_json(json_ready([adapted.robot.hash, settings, network])).encode())


def origin(adapted: Adapted) -> list[str]:
    """Where an export comes from, line by line, unescaped."""
    adaptation, robot = adapted.adaptation, adapted.robot
    lines = [
        f"{robot.name} as it was fitted to a log: family {adaptation.family}, robot {robot.hash[:12]}.",
        (
            f"Written by surefoot {__version__} (`surefoot adapt export`), MuJoCo {mujoco.__version__}, physics at"
            f" {robot.physics_hz!r} Hz."
        ),
    ]
    for key, value in adaptation.provenance.items():
        line = f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}"
        lines.append(line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}...")
    return lines


def left_out(adapted: Adapted, held: Iterable[str]) -> list[str]:
    """One line for each setting that an export does not hold, with its value, and for a network; none holds
    that but its own files.
    """
    missing = [name for name in adapted.adaptation.settings if name not in set(held)]
    lines = [described(adapted, name) for name in missing]
    network = adapted.adaptation.network
    if network is not None:
        joints = sum(len(group.joints) for group in network.groups)
        lines.append(f"a network that adds to the {WHERE[network.adds]} of {joints} joints, {UNITS[network.adds]}")
    if network is not None or TERMS & set(missing):
        lines.append(
            "`surefoot adapt export --to numpy` and `--to onnx` write what is added to torques and targets as a file"
            " that runs"
        )
    return lines


def entries(adapted: Adapted, name: str) -> dict[str, float]:
    """The values of a parameter by what they belong to; {"": value} for one value per world."""
    value = adapted.value(name)
    return dict(zip(adapted.worlds.names(name) or ("",), map(float, np.atleast_1d(value)), strict=True))


def described(adapted: Adapted, name: str) -> str:
    """A setting in words: its unit, its values, and what to do with it where it is not held."""
    values, unit = entries(adapted, name), PARAMETERS[name].unit
    if len(set(values.values())) == 1:
        text = repr(next(iter(values.values()))) + (" for all" if len(values) > 1 else "")
    else:
        text = ", ".join(f"{what} {value!r}" for what, value in values.items())
    hint = PARAMETERS[name].export_hint
    if name in FROM_USUAL_POSE:  # not the contract's default pose, and it stands in no file of the user
        pose = usual_pose(adapted.robot).tolist()
        angles = ", ".join(f"{label} {pose[places[0]]!r}" for label, places in joint_types(adapted.robot).items())
        hint += f"; the usual pose, rad, is the mean default pose of each type of joint: {angles}"
    hint = f" ({hint})" if hint else ""
    return f"{name}, {unit}: {text}{hint}" if unit != "1" else f"{name}: {text}{hint}"
