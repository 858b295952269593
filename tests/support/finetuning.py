"""Adaptations and policies to fine-tune, and settings that take no time."""

from support.policy_files import layers

from surefoot.adapt import Adaptation, Fitted
from surefoot.learn.finetune_settings import FineTuneSettings
from surefoot.policy import OnnxPolicy, write_mlp
from surefoot.robot.legs import joint_types
from surefoot.sim.parameters import PARAMETERS

SMALL = FineTuneSettings(worlds=8, steps=4, epochs=2, minibatches=2, hidden=(16,), critic_first=1, trim_s=0.0, judges=0)


def knob(parameter, where, value, low, high, bounds=(0.0, 4.0), flag="") -> Fitted:
    name = f"{parameter}[{' = '.join(where)}]" if where else parameter
    return Fitted(name, parameter, tuple(where), PARAMETERS[parameter].unit, value, value, (low, high), bounds, flag)


def adapted(robot, settings, knobs=(), **provenance) -> Adaptation:
    return Adaptation(robot.name, robot.hash, "static", tuple(knobs), settings, provenance=provenance)


def by_type(robot, value=0.3) -> Adaptation:
    """Dry friction that joints of one kind share, and a delay: left and right are alike."""
    joints = robot.contract.joints
    knobs = [
        knob("dry_friction_nm", [joints[k] for k in places], value, 0.8 * value, 1.3 * value)
        for places in joint_types(robot).values()
    ]
    knobs.append(knob("delay_s", (), 0.004, 0.003, 0.005))
    return adapted(robot, {"dry_friction_nm": [value] * len(joints), "delay_s": 0.004}, knobs)


def policy_of(robot, folder, seed=0) -> OnnxPolicy:
    path = folder / f"{robot.name}_{seed}.onnx"
    if not path.exists():
        write_mlp(path, robot.contract, [(0.3 * w, 0.3 * b) for w, b in layers(robot.contract, (12,), seed)], "tanh")
    return OnnxPolicy.load(path)


def one_sided(robot) -> Adaptation:
    """A spring on the first joint."""
    return adapted(robot, {"residual_position_nm_per_rad": {robot.contract.joints[0]: -3.0}})
