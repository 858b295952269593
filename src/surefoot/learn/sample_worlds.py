"""Worlds to train in: the fitted simulator, with what the fit left open drawn anew for each world.

This is domain randomization of the dynamics (Peng et al. 2018, Sim-to-real transfer of robotic control with dynamics
randomization), with the ranges that a fit found in place of ranges by hand.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.adapt import Adaptation, Fitted, Prior, read_priors
from surefoot.adapt.plausible import plausible
from surefoot.errors import FineTuneError, FitError, shown
from surefoot.files import is_number
from surefoot.learn.mirror import Signed
from surefoot.learn.randomize import Randomization
from surefoot.robot import Robot, Sensors
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.physics import Physics
from surefoot.sim.worlds import Worlds

# With a gain or a motor that is off, the fit found other inertia and friction, which make up for it: drawn on top of
# those, they would give robots that do not move as the log says.
TRADED = frozenset({"kp_nm_per_rad", "kd_nms_per_rad", "motor_strength"})
TRADED_FOR = frozenset(
    {"armature_kgm2", "dry_friction_nm", "viscous_friction_nms", "residual_error_nm_per_rad", "delta_error_rad_per_rad"}
)
SAME_MASS = frozenset({"base_mass_kg", "link_mass_kg"})  # the base is one of the links
PROBES = 16  # random states in which left and right are compared
EQUAL = 1e-6  # relative difference of two values, left and right, that count as the same


@dataclass(frozen=True)
class KnobRange:
    """One knob and the range that it is drawn from."""

    name: str
    parameter: str
    entries: tuple[int, ...]  # empty for one value per world
    low: float
    high: float
    cut: bool  # the interval said too little to be drawn from whole


@dataclass(frozen=True, eq=False)
class WorldSampler:
    """Draws worlds: the adaptation, ranges of its knobs, and a table for what it does not set."""

    physics: Physics
    ranges: tuple[KnobRange, ...]  # those of one parameter together
    rest: Randomization
    fitted_hz: float  # rate of the physics that torque noise was fitted at
    noisy: bool  # whether the adaptation has torque noise

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        return self.physics.torque_speed

    def draw(self, worlds: Worlds, rng: np.random.Generator) -> np.ndarray:
        """Give every world its own robot; what was drawn, scaled to -1 .. 1, (n, n_drawn), for the critic's eyes."""
        self.physics.apply(worlds)
        seen = [self.rest.draw(worlds, rng)]
        for parameter in dict.fromkeys(knob.parameter for knob in self.ranges):
            array = np.array(worlds.get(parameter))
            for knob in self.ranges:
                if knob.parameter == parameter:
                    unit = rng.uniform(-1, 1, (worlds.n, 1))
                    value = knob.low + (unit + 1) / 2 * (knob.high - knob.low)
                    array.reshape(worlds.n, -1)[:, list(knob.entries) or slice(None)] = value
                    seen.append(unit)
            worlds.set(parameter, array)
        if self.noisy:
            # Noise is drawn at each physics step; what it does to a joint grows with the square root of a step's
            # length.
            worlds.set("torque_noise_nm", worlds.get("torque_noise_nm") / np.sqrt(self.fitted_hz * worlds.physics_dt_s))
        return np.concatenate(seen, axis=1)

    def mirror(self, worlds: Worlds, joints: Signed) -> list[Signed]:
        """How what `draw` returns looks in a mirror; only of an adaptation that is symmetric."""
        images = [_image(knob, self.ranges, joints) for knob in self.ranges]
        if any(image is None for image in images):
            raise FineTuneError("the adaptation is not symmetric, so its worlds have no mirror image")
        index = np.array([image[0] for image in images if image is not None], dtype=int)
        sign = np.array([image[1] for image in images if image is not None], dtype=float)
        return [*self.rest.mirror(worlds, joints), (index, sign)]


def world_sampler(adaptation: Adaptation, robot: Robot, spread: float, table: Randomization) -> WorldSampler:
    """Knobs over `spread` times their 90 % intervals, and of the table what the adaptation leaves alone."""
    priors = read_priors()
    probe = Worlds(robot, 1, threads=1, torque_speed=adaptation.physics(robot).torque_speed)
    knobs = [knob for knob in adaptation.knobs if knob.parameter in adaptation.settings]
    order = [knob.parameter for knob in adaptation.knobs]
    knobs.sort(key=lambda knob: order.index(knob.parameter))  # of one parameter together
    ranges = tuple(_range(knob, spread, priors.get(knob.parameter), probe) for knob in knobs)
    settled = set(adaptation.settings)
    settled |= SAME_MASS if settled & SAME_MASS else set()
    settled |= TRADED if {knob.parameter for knob in ranges} & TRADED_FOR or adaptation.network is not None else set()
    rest = replace(table, spreads=tuple(entry for entry in table.spreads if entry.name not in settled))
    fitted_hz: Any = adaptation.provenance.get("physics_hz")
    hz = float(fitted_hz) if is_number(fitted_hz) and fitted_hz > 0 else robot.physics_hz
    return WorldSampler(adaptation.physics(robot), ranges, rest, hz, "torque_noise_nm" in adaptation.settings)


def asymmetry(adaptation: Adaptation, sampler: WorldSampler, robot: Robot) -> str:
    """What keeps the adapted robot from being its own mirror image, in words; empty where nothing does."""
    if robot.mirror is None:
        return f"{robot.name} declares no left-right symmetry"
    joints: Signed = (np.array(robot.mirror.index), np.array(robot.mirror.sign))
    worlds = Worlds(robot, PROBES, threads=1, torque_speed=sampler.torque_speed)
    sampler.physics.apply(worlds)
    if not _mirrors(worlds, joints):
        return "what the adaptation adds in torque or action differs between left and right"
    for name in adaptation.settings:
        value, per = worlds.get(name)[0], PARAMETERS[name].per
        if per == "body" and not np.allclose(value, worlds.nominal(name), rtol=EQUAL):
            return f"{name} is set body by body"
        if per == "axis" and abs(value[1]) > EQUAL:
            return f"{name} is {value[1]:.3g} {PARAMETERS[name].unit} to the side"
        if per == "joint":
            image = value[joints[0]] * (joints[1] if PARAMETERS[name].turns_in_mirror else 1.0)
            off = ~np.isclose(value, image, rtol=EQUAL, atol=EQUAL)
            if off.any():
                k = int(np.argmax(off))
                here, there = robot.contract.joints[k], robot.contract.joints[joints[0][k]]
                unit = "" if PARAMETERS[name].unit == "1" else f" {PARAMETERS[name].unit}"
                turned = f", which is {image[k]:.3g} in a mirror" if image[k] != value[joints[0][k]] else ""
                return (
                    f"{name} differs between left and right ({here} has {value[k]:.3g}, {there}"
                    f" {value[joints[0][k]]:.3g}{unit}{turned})"
                )
    for knob in sampler.ranges:
        if _image(knob, sampler.ranges, joints) is None:
            return f"the range of {knob.name} differs between left and right"
    return ""


def _mirrors(worlds: Worlds, joints: Signed) -> bool:
    """Whether functions of the joints that an adaptation added give mirrored results for mirrored joints."""
    rng = np.random.default_rng(0)
    shape = (worlds.n, len(joints[0]))
    error, speed, action = (size * rng.standard_normal(shape) for size in (0.3, 5.0, 1.0))
    position = np.array(worlds.robot.contract.pose_rad) + 0.3 * rng.standard_normal(shape)

    def image(values: np.ndarray) -> np.ndarray:
        return values[:, joints[0]] * joints[1]

    def at(position: np.ndarray, speed: np.ndarray) -> Sensors:
        return replace(worlds.sensors, joint_position_rad=position, joint_velocity_rad_s=speed)

    pairs = []
    if worlds.residual is not None:
        pairs.append(
            (worlds.residual(error, position, speed), worlds.residual(image(error), image(position), image(speed)))
        )
    if worlds.action_delta is not None:
        delta = worlds.action_delta
        pairs.append((delta(at(position, speed), action), delta(at(image(position), image(speed)), image(action))))
    return all(np.allclose(image(there), mirrored, rtol=1e-4, atol=1e-4) for there, mirrored in pairs)


def _image(knob: KnobRange, ranges: tuple[KnobRange, ...], joints: Signed) -> tuple[int, float] | None:
    """Place of the range that a mirror turns this one into, and the sign with which it does; None where
    there is none.
    """
    per, sign = PARAMETERS[knob.parameter].per, 1.0
    entries = set(knob.entries)
    if per == "joint" and entries:
        entries = {int(joints[0][k]) for k in entries}
        signs = {float(joints[1][k]) for k in entries} if PARAMETERS[knob.parameter].turns_in_mirror else {1.0}
        if len(signs) > 1:
            return None
        sign = signs.pop()
    elif per == "joint" and PARAMETERS[knob.parameter].turns_in_mirror:
        return None
    elif per == "axis":
        if len(entries) != 1:
            return None
        sign = -1.0 if entries == {1} else 1.0
    low, high = (knob.low, knob.high) if sign > 0 else (-knob.high, -knob.low)
    for place, other in enumerate(ranges):
        if other.parameter == knob.parameter and set(other.entries) == entries:
            same = np.allclose((other.low, other.high), (low, high), rtol=EQUAL, atol=EQUAL)
            return (place, sign) if same else None
    return None


def _range(knob: Fitted, spread: float, prior: Prior | None, probe: Worlds) -> KnobRange:
    """The interval, widened around the value and cut at what the knob and the parameter may be."""
    low, high, cut = plausible(knob, prior, spread)
    names = probe.names(knob.parameter)
    for where in knob.where:
        if where not in names:
            raise FitError(
                f"the knob {shown(knob.name)} is of {shown(where)}, which {probe.robot.name} does not have; fit again"
            )
    return KnobRange(knob.name, knob.parameter, tuple(names.index(where) for where in knob.where), low, high, cut)
