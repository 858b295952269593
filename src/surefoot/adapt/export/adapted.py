"""What all exports start from: one simulated robot with the adaptation in it, and text that no name can break out of."""

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
from surefoot.sim.network import UNITS, ResidualNet
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.residual import ACTION_TERMS, TERMS, TORQUE_TERMS, Adds
from surefoot.sim.scene import DC_KD, DC_KP
from surefoot.sim.worlds import Worlds

LONGEST = 400  # characters of one entry of the provenance; adaptation.json has the rest
HEAT = frozenset(
    {"start_temperature_c", "ambient_temperature_c", "thermal_rise_c_per_nm2", "thermal_time_s", "derate_start_c", "derate_per_c"}
)
HINTS = {
    **dict.fromkeys(HEAT, "gains and limits are those at the start temperature, warming up is not modelled"),
    "battery_sag_per_kw": "the limits are those of the battery at rest",
    "action_scale_rad": "in the scale of your action term",
    "action_offset_rad": "add it to the servo's target",
    "encoder_bias_rad": "subtract it from the servo's target, add it to the measured position",
    "observation_delay_s": "delay what the policy observes",
    "residual_constant_nm": "torque on the joint",
    "residual_position_nm_per_rad": "torque += it * (position - usual pose, the mean default pose of the joint's type)",
    "residual_velocity_nms": "torque += it * velocity",
    "residual_direction_nm": "torque += it * tanh(velocity / 0.5 rad/s)",
    "residual_error_nm_per_rad": "torque += it * (target - position)",
    "delta_position_rad_per_rad": "at the policy's rate, target += it * (measured position - default pose)",
    "delta_velocity_s": "at the policy's rate, target += it * measured velocity",
    "delta_error_rad_per_rad": "at the policy's rate, target += it * (target - measured position)",
    "torque_noise_nm": "white noise, drawn anew at each physics step",
    "floor_friction": "give it to your floor, with a contact priority above the robot's shapes",
}
WHERE: dict[Adds, str] = {"torque": "torque", "action": "targets"}
KINDS = ("constant", "position", "velocity", "direction", "error")  # what a term weighs
NAMES: dict[Adds, tuple[str, ...]] = {"torque": TORQUE_TERMS, "action": ("action_offset_rad", *ACTION_TERMS[1:])}


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
class Added:
    """What is added to torques or targets, as numbers in policy order; terms that are zero everywhere are not in it."""

    adds: Adds
    terms: dict[str, np.ndarray]  # of KINDS -> (n_joints,)
    net: ResidualNet | None

    def name(self, kind: str) -> str:
        """The parameter of a term, which carries its unit."""
        return NAMES[self.adds][KINDS.index(kind)]


def adapt(adaptation: Adaptation, robot: Robot) -> Adapted:
    """Simulate one robot with the adaptation; refuses another robot than the one that was fitted."""
    change = adaptation.change(robot)
    worlds = change.worlds(1, threads=1)
    return Adapted(adaptation, robot, worlds, worlds.model_of(0))


def added(found: Adapted) -> tuple[Added, ...]:
    """What the adaptation adds to torques, to targets, or to both; refuses one that adds nothing."""
    network, parts = found.adaptation.network, []
    for adds, names in NAMES.items():
        terms = {kind: found.value(name) for kind, name in zip(KINDS, names, strict=True) if name and found.value(name).any()}
        net = network.net(found.robot) if network is not None and network.adds == adds else None
        if net is not None and not all(np.isfinite(array).all() for array in (*net.weights, *net.biases, net.limit)):
            raise FitError("the adaptation's network holds numbers beyond single precision, in which it runs; fit again")
        if adds == "action" and "action_scale_rad" in found.adaptation.settings:
            # Worlds adds to the action, in units of the contract's scale; the motors then see the scale that was fitted.
            share = found.value("action_scale_rad") / np.array(found.robot.contract.action_scale_rad)
            terms = {kind: weight if kind == "constant" else share * weight for kind, weight in terms.items()}
            net = net and replace(net, limit=net.limit * share.astype(np.float32))
        if terms or net is not None:
            parts.append(Added(adds, terms, net))
    if not parts:
        raise FitError("the adaptation adds no torque and moves no targets; --to mjcf writes the model with what it changes")
    return tuple(parts)


def adaptation_hash(found: Adapted) -> str:
    """Of all that is simulated, in whatever way the settings were written."""
    network = None if found.adaptation.network is None else found.adaptation.network.to_dict()
    settings = {name: found.value(name).tolist() for name in found.adaptation.settings}
    return sha256(canonical_json(json_ready([found.robot.hash, settings, network])).encode())


def one_line(text: object) -> str:
    """Text for a comment: one line without anything that could end it."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def origin(found: Adapted) -> list[str]:
    """Where an export comes from, line by line."""
    adaptation, robot = found.adaptation, found.robot
    lines = [
        f"{one_line(robot.name)} as it was fitted to a log: family {one_line(adaptation.family)}, robot {robot.hash[:12]}.",
        f"Written by surefoot {__version__} (`surefoot adapt export`), MuJoCo {mujoco.__version__}, physics at {robot.physics_hz!r} Hz.",
    ]
    for key, value in adaptation.provenance.items():
        said = one_line(f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}")
        lines.append(said if len(said) <= LONGEST else f"{said[: LONGEST - 3]}...")
    return lines


def left_out(found: Adapted, held: Iterable[str]) -> list[str]:
    """One line for each setting that an export does not hold, with its value, and for a network; none holds that but its own files."""
    missing = [name for name in found.adaptation.settings if name not in set(held)]
    lines = [described(found, name) for name in missing]
    network = found.adaptation.network
    if network is not None:
        joints = sum(len(group.joints) for group in network.groups)
        lines.append(f"a network that adds to the {WHERE[network.adds]} of {joints} joints, {UNITS[network.adds]}")
    if network is not None or TERMS & set(missing):
        lines.append("`surefoot adapt export --to numpy` and `--to onnx` write what is added to torques and targets as a file that runs")
    return lines


def entries(found: Adapted, name: str) -> dict[str, float]:
    """The values of a parameter by what they belong to; {"": value} for one value per world."""
    value = found.value(name)
    return dict(zip(found.worlds.names(name) or ("",), map(float, np.atleast_1d(value)), strict=True))


def described(found: Adapted, name: str) -> str:
    """A setting in words: its unit, its values, and what to do with it where it is not held."""
    values, unit = entries(found, name), PARAMETERS[name].unit
    if len(set(values.values())) == 1:
        said = repr(next(iter(values.values()))) + (" for all" if len(values) > 1 else "")
    else:
        said = ", ".join(f"{one_line(what)} {value!r}" for what, value in values.items())
    hint = f" ({HINTS[name]})" if name in HINTS else ""
    return f"{name}, {unit}: {said}{hint}" if unit != "1" else f"{name}: {said}{hint}"
