"""Two robots that nobody has, and what each training framework would write about them.

Every joint has numbers of its own, so that a list in the wrong order is seen.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper


@dataclass(frozen=True)
class Made:
    """A robot by the names of its joints, from the base outward, chain by chain."""

    name: str
    chains: tuple[tuple[str, ...], ...]
    motors: tuple[str, ...]  # as its maker numbers them, and as its model lists its actuators
    standing: dict[str, float] = field(default_factory=dict)  # by the last part of a name, rad

    @property
    def joints(self) -> tuple[str, ...]:
        """As the model lists them."""
        return tuple(name for chain in self.chains for name in chain)

    @property
    def breadth_first(self) -> tuple[str, ...]:
        depth = max(map(len, self.chains))
        return tuple(chain[level] for level in range(depth) for chain in self.chains if level < len(chain))

    def number(self, start: float, step: float) -> dict[str, float]:
        """A number for each joint, which no other has."""
        return {name: round(start + step * i, 6) for i, name in enumerate(self.joints)}

    @property
    def pose(self) -> dict[str, float]:
        return self.number(-0.2, 0.0217)

    @property
    def kp(self) -> dict[str, float]:
        return self.number(20.0, 1.0173)

    @property
    def kd(self) -> dict[str, float]:
        return self.number(1.0, 0.0519)

    @property
    def scale(self) -> dict[str, float]:
        return self.number(0.2, 0.0103)

    def model(self, folder: Path) -> Path:
        """An MJCF file with a box, legs of capsules and a ball at the end of each."""
        path = folder / f"{self.name}.xml"
        legs = []
        for i, chain in enumerate(self.chains):
            x, y = (0.2 if i % 4 < 2 else -0.2), (0.1 if i % 2 == 0 else -0.1)
            text = '<geom type="sphere" size="0.03" pos="0 0 -0.15"/>'
            for level, name in reversed(list(enumerate(chain))):
                axis = "1 0 0" if level == 0 else "0 1 0"
                place = f"{x} {y} 0" if level == 0 else "0 0 -0.12"
                text = (
                    f'<body name="{name}_link" pos="{place}"><joint name="{name}" axis="{axis}" range="-2 2"/>'
                    f'<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.1"/>{text}</body>'
                )
            legs.append(text)
        motors = "".join(f'<motor joint="{name}" ctrlrange="-30 30"/>' for name in self.motors)
        path.write_text(
            f'<mujoco model="{self.name}"><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 0.5">'
            f'<freejoint/><geom type="box" size="0.2 0.1 0.05" mass="5"/>{"".join(legs)}</body></worldbody>'
            f"<actuator>{motors}</actuator></mujoco>"
        )
        return path


DOG = Made(
    "dog",
    tuple(tuple(f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf")) for leg in ("FL", "FR", "RL", "RR")),
    tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf")),
)
MAN = Made(
    "man",
    (
        *(tuple(f"{side}_{part}_joint" for part in ("hip", "knee", "ankle", "toe")) for side in ("left", "right")),
        ("waist_joint", "neck_joint"),
    ),
    (
        *(f"{side}_{part}_joint" for side in ("left", "right") for part in ("hip", "knee", "ankle", "toe")),
        *("waist_joint", "neck_joint"),
    ),
)
MADE = {"dog": DOG, "man": MAN}
RANGES = {"lin_vel_x": [-0.6, 1.1], "lin_vel_y": [-0.4, 0.4], "ang_vel_z": [-0.8, 0.8]}


def in_order(values: dict[str, float], names: tuple[str, ...]) -> list[float]:
    return [values[name] for name in names]


def unitree(made: Made) -> dict[str, Any]:
    """A deploy.yaml: the policy breadth first, gains in the order of the motors."""
    order, n = made.breadth_first, len(made.joints)
    terms = {"base_ang_vel": [0.2] * 3, "projected_gravity": [1.0] * 3, "velocity_commands": [2.0, 2.0, 0.25]}
    terms |= {"joint_pos_rel": [1.0] * n, "joint_vel_rel": [0.05] * n, "last_action": [1.0] * n}
    return {
        "joint_ids_map": [made.motors.index(name) for name in order],
        "step_dt": 0.02,
        "stiffness": in_order(made.kp, made.motors),
        "damping": in_order(made.kd, made.motors),
        "default_joint_pos": in_order(made.pose, order),
        "commands": {"base_velocity": {"ranges": {**RANGES, "heading": None}}},
        "actions": {
            "JointPositionAction": {
                "clip": None,
                "joint_names": [".*"],
                "scale": in_order(made.scale, order),
                "offset": in_order(made.pose, order),
                "joint_ids": slice(None),
            }
        },
        "observations": {
            name: {"params": {}, "clip": None, "scale": scale, "history_length": 3} for name, scale in terms.items()
        },
    }


def isaac_env(made: Made) -> dict[str, Any]:
    """An env.yaml, with tuples and slices as Python has them."""

    def term(function: str, scale: Any = None, **params: Any) -> dict[str, Any]:
        return {"func": f"isaaclab.envs.mdp.observations:{function}", "params": params, "modifiers": None} | {
            "noise": None,
            "clip": (-100.0, 100.0),
            "scale": scale,
            "history_length": 0,
        }

    half = len(made.joints) // 2
    groups = {"first": made.joints[:half], "second": made.joints[half:]}
    actuators = {
        name: {
            "class_type": "isaaclab.actuators.actuator_pd:ImplicitActuator",
            "joint_names_expr": [f"{joint[0]}{joint[1:-6]}_.*" for joint in names],
            "effort_limit": None,
            "effort_limit_sim": 33,
            "velocity_limit_sim": 21.0,
            "stiffness": {joint: made.kp[joint] for joint in names},
            "damping": {joint: made.kd[joint] for joint in names},
        }
        for name, names in groups.items()
    }
    robot = {"init_state": {"joint_pos": dict(made.pose), "joint_vel": {".*": 0.0}}, "actuators": actuators}
    policy = {
        "concatenate_terms": True,
        "history_length": None,
        "base_lin_vel": term("base_lin_vel"),
        "base_ang_vel": term("base_ang_vel", 0.2),
        "gravity": term("projected_gravity"),
        "velocity_commands": term("generated_commands", (2.0, 2.0, 0.25), command_name="base_velocity"),
        "joint_pos": term("joint_pos_rel", asset_cfg={"name": "robot", "joint_names": None, "joint_ids": slice(None)}),
        "joint_vel": term("joint_vel_rel", 0.05),
        "actions": term("last_action"),
        "height_scan": None,
    }
    action = {
        "class_type": "isaaclab.envs.mdp.actions.joint_actions:JointPositionAction",
        "joint_names": [".*"],
        "scale": dict(made.scale),
        "offset": 0.0,
        "clip": None,
        "preserve_order": False,
        "use_default_offset": True,
    }
    return {
        "viewer": {"eye": (7.5, 7.5, 7.5)},
        "sim": {"dt": 0.005, "gravity": (0.0, 0.0, -9.81)},
        "decimation": 4,
        "scene": {"num_envs": 4096, "robot": robot},
        "observations": {"policy": policy, "critic": {"strange": term("something_else")}},
        "actions": {"joint_pos": action},
        "commands": {"base_velocity": {"ranges": {key: tuple(pair) for key, pair in RANGES.items()}}},
    }


def mjlab_env(made: Made) -> dict[str, Any]:
    """An env.yaml of mjlab: the same with other names for its parts."""
    content = isaac_env(made)
    robot = content["scene"]["robot"]
    actuators = tuple(
        {"target_names_expr": tuple(entry["joint_names_expr"])}
        | {key: entry[key] for key in ("stiffness", "damping")}
        | {"effort_limit": 33.0}
        for entry in robot["actuators"].values()
    )
    for term in content["observations"]["policy"].values():
        if isinstance(term, dict):
            term["func"] = term["func"].replace("isaaclab", "mjlab").replace(":", ".")
    terms = {name: term for name, term in content["observations"]["policy"].items() if isinstance(term, dict)}
    action = {k: v for k, v in content["actions"]["joint_pos"].items() if k not in ("class_type", "joint_names")}
    return content | {
        "sim": {"mujoco": {"timestep": 0.005}},
        "scene": {"entities": {"robot": {"init_state": robot["init_state"], "articulation": {"actuators": actuators}}}},
        "observations": {"actor": {"terms": terms, "concatenate_terms": True, "history_length": None}},
        "actions": {"joint_pos": action | {"actuator_names": (".*",)}},
        "commands": {"twist": content["commands"]["base_velocity"]},
    }


def isaac_agent() -> dict[str, Any]:
    policy = {"class_name": "ActorCritic", "actor_obs_normalization": True, "rnn_type": None}
    return {"num_steps_per_env": 24, "clip_actions": 6.5, "policy": policy, "algorithm": {"gamma": 0.99}}


def isaac_io(made: Made) -> dict[str, Any]:
    """An IO_descriptors.yaml."""
    order = made.breadth_first
    path = "isaaclab.envs.mdp.observations"

    def term(function: str, scale: Any = None, joints: bool = False) -> dict[str, Any]:
        entry = {
            "full_path": f"{path}.{function}",
            "name": function,
            "overloads": {"scale": scale, "history_length": 0},
        }
        return entry | ({"joint_names": list(order)} if joints else {})

    action = {
        "full_path": "isaaclab.envs.mdp.actions.joint_actions.JointPositionAction",
        "joint_names": list(order),
        "scale": in_order(made.scale, order),
        "offset": in_order(made.pose, order),
        "clip": None,
    }
    return {
        "actions": [action],
        "articulations": {
            "robot": {
                "joint_names": list(order),
                "default_joint_pos": in_order(made.pose, order),
                "default_joint_stiffness": in_order(made.kp, order),
                "default_joint_damping": in_order(made.kd, order),
            }
        },
        "observations": {
            "policy": [
                *(term("base_ang_vel", 0.2), term("projected_gravity"), term("generated_commands", [2.0, 2.0, 0.25])),
                *(term("joint_pos_rel", joints=True), term("joint_vel_rel", 0.05, joints=True), term("last_action")),
            ]
        },
        "scene": {"decimation": 4, "dt": 0.02, "physics_dt": 0.005},
    }


def rl_sar_base(made: Made) -> dict[str, Any]:
    n = len(made.joints)
    return {
        made.name: {
            "dt": 0.005,
            "decimation": 4,
            "fixed_kp": [80.0] * n,
            "num_of_dofs": n,
            "joint_names": list(made.motors),
            "joint_mapping": list(range(n)),
            "torque_limits": [33.0] * n,
            "default_dof_pos": in_order(made.pose, made.motors),
        }
    }


def rl_sar(made: Made) -> dict[str, Any]:
    """A config.yaml whose policy goes breadth first."""
    order, n = made.breadth_first, len(made.joints)
    return {
        f"{made.name}/walk": {
            "model_name": "policy.onnx",
            "num_observations": 9 + 3 * n,
            "observations": ["ang_vel", "gravity_vec", "commands", "dof_pos", "dof_vel", "actions"],
            "observations_history": [0, 1, 2, 3],
            "observations_history_priority": "time",
            "clip_obs": 100.0,
            "clip_actions_lower": [-90.0] * n,
            "clip_actions_upper": [90.0] * n,
            "rl_kp": in_order(made.kp, order),
            "rl_kd": in_order(made.kd, order),
            "num_of_dofs": n,
            "action_scale": in_order(made.scale, order),
            "wheel_indices": [],
            "ang_vel_scale": 0.2,
            "dof_pos_scale": 1.0,
            "dof_vel_scale": 0.05,
            "commands_scale": [2.0, 2.0, 0.25],
            "torque_limits": [33.0] * n,
            "default_dof_pos": in_order(made.pose, order),
            "joint_mapping": [made.motors.index(name) for name in order],
        }
    }


def unitree_gym(made: Made) -> dict[str, Any]:
    """A deployment configuration of unitree_rl_gym, in the order of the model."""
    n = len(made.joints)
    return {
        "policy_path": "policy.pt",
        "simulation_dt": 0.002,
        "control_decimation": 10,
        "kps": in_order(made.kp, made.joints),
        "kds": in_order(made.kd, made.joints),
        "default_angles": in_order(made.pose, made.joints),
        "ang_vel_scale": 0.2,
        "dof_pos_scale": 1.0,
        "dof_vel_scale": 0.05,
        "action_scale": 0.25,
        "cmd_scale": [2.0, 2.0, 0.25],
        "num_actions": n,
        "num_obs": 9 + 3 * n + 2,
        "cmd_init": [0.5, 0, 0],
        "max_cmd": [0.8, 0.5, 1.5],
    }


def legged_gym(made: Made) -> dict[str, Any]:
    n = len(made.joints)
    return {
        "env": {"num_observations": 12 + 3 * n, "num_actions": n},
        "init_state": {"pos": [0, 0, 0.4], "default_joint_angles": dict(made.pose)},
        "control": {
            "control_type": "P",
            "stiffness": dict(made.kp),
            "damping": dict(made.kd),
            "action_scale": 0.25,
            "decimation": 4,
        },
        "normalization": {
            "obs_scales": {"lin_vel": 2.0, "ang_vel": 0.25, "dof_pos": 1.0, "dof_vel": 0.05},
            "clip_observations": 100.0,
            "clip_actions": 90.0,
        },
        "commands": {"ranges": {"lin_vel_x": [-0.6, 1.1], "lin_vel_y": [-0.4, 0.4], "ang_vel_yaw": [-0.8, 0.8]}},
        "sim": {"dt": 0.005},
    }


def holosoma_runner(made: Made) -> dict[str, Any]:
    order = made.joints
    terms = ["base_ang_vel", "projected_gravity", "command_lin_vel", "command_ang_vel", "dof_pos", "dof_vel", "actions"]
    return {
        "robot": {
            "dof_names": list(order),
            "default_dof_angles": in_order(made.pose, order),
            "motor_kp": in_order(made.kp, order),
            "motor_kd": in_order(made.kd, order),
        },
        "observation": {
            "obs_dict": {"actor_obs": [*terms, "sin_phase", "cos_phase"]},
            "obs_scales": dict.fromkeys(terms, 1.0) | {"base_ang_vel": 0.25, "dof_vel": 0.05},
            "history_length_dict": {"actor_obs": 1},
        },
        "task": {"rl_rate": 50.0, "policy_action_scale": 0.25, "gait_period": 0.9},
    }


def leapp(made: Made) -> dict[str, Any]:
    order, n = list(made.breadth_first), len(made.joints)

    def tensor(name: str, kind: str | None = None, joints: bool = False, size: int = 3) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "name": name,
            "dtype": "float32",
            "shape": [1, n if joints else size],
            "type": "tensor",
        }
        return entry | ({"kind": kind} if kind else {}) | ({"element_names": [order]} if joints else {})

    inputs = [
        tensor("robot_joint_pos", "state/joint/position", joints=True),
        tensor("robot_joint_vel", "state/joint/velocity", joints=True),
        tensor("robot_ang_vel", "state/body/angular_velocity"),
        tensor("robot_gravity", "state/vector3d") | {"isaaclab_connection": "state:robot:projected_gravity_b"},
        tensor("base_velocity", "command/body/velocity"),
        tensor("last_action_in", size=n),
    ]
    outputs = [
        tensor("joint_pos", "target/joint/position", joints=True),
        tensor("last_action_out", size=n),
        tensor("kp_gains", "kp", joints=True),
        tensor("kd_gains", "kd", joints=True),
    ]
    return {
        "models": {"policy": {"inputs": inputs, "outputs": outputs, "parameters": {"model_path": "policy.onnx"}}},
        "pipeline": {
            "data_flow": {},
            "feedback_flow": {"policy/last_action_out": ["policy/last_action_in"]},
            "configs": {"frequency": 50.0},
        },
        "system information": {"leapp version": "0.7.2"},
    }


def mjlab_metadata(made: Made) -> dict[str, str]:
    """Metadata of an ONNX file, with three decimals as mjlab writes them."""

    def listed(values: Any) -> str:
        return ",".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in values)

    order = made.joints
    return {
        "run_path": "a/b",
        "joint_names": listed(order),
        "joint_stiffness": listed(in_order(made.kp, order)),
        "joint_damping": listed(in_order(made.kd, order)),
        "default_joint_pos": listed(in_order(made.pose, order)),
        "action_scale": listed(in_order(made.scale, order)),
        "command_names": "twist",
        "observation_names": "base_lin_vel,base_ang_vel,projected_gravity,joint_pos,joint_vel,actions,command",
        "observation_terms_scale": "1.000,0.200,1.000,1.000,0.050,1.000,[2.0, 2.0, 0.25]",
        "observation_terms_history_length": ",".join(["0.000"] * 7),
        "observation_terms_clip": ",".join(["[-inf, inf]"] * 6 + ["[-1.0, 1.0]"]),
    }


def holosoma_metadata(made: Made) -> dict[str, str]:
    import json

    order = made.joints
    content = {
        "dof_names": list(order),
        "kp": in_order(made.kp, order),
        "kd": in_order(made.kd, order),
        "command_ranges": {
            "lin_vel_x": [-0.6, 1.1],
            "lin_vel_y": [-0.4, 0.4],
            "ang_vel_yaw": [-0.8, 0.8],
            "heading": [-3, 3],
        },
    }
    return {key: json.dumps(value) for key, value in content.items()}


def exploy_metadata(made: Made) -> dict[str, str]:
    import json

    order = made.breadth_first
    gains = {"names": list(order), "stiffness": in_order(made.kp, order), "damping": in_order(made.kd, order)}
    content = {
        "exploy_version": "0.1.0",
        "update_rate": 50.0,
        "output.joint_targets.robot": gains,
        "obj.robot.joints": {"joint_names": list(made.joints)},
        "cmd.se2_velocity.vel": {"ranges": RANGES},
    }
    return {key: json.dumps(value) for key, value in content.items()}


def exploy_tensors(made: Made) -> tuple[dict[str, int], dict[str, int]]:
    n = len(made.joints)
    inputs = {
        "obj.robot.joints.pos": n,
        "obj.robot.joints.vel": n,
        "obj.robot.base.ang_vel_b_rt_w_in_b": 3,
        "obj.robot.base.w_Q_b": 4,
        "cmd.se2_velocity.vel": 3,
        "memory.actions.in": n,
    }
    return inputs, {"output.joint_targets.robot.pos": n, "memory.actions.out": n}


def write_source(path: Path, content: dict[str, Any]) -> Path:
    """A file with Python's tags where the content has tuples or slices, as other frameworks dump it."""
    path.write_text(yaml.dump(content, sort_keys=False))
    return path


def write_network(
    path: Path,
    inputs: dict[str, int],
    outputs: dict[str, int],
    metadata: dict[str, str] | None = None,
    constants: dict[str, list[float]] | None = None,
) -> Path:
    """An ONNX file with these tensors: each output is a sum over the first input, or a constant."""
    constants = constants or {}
    first, size = next(iter(inputs.items()))
    weights = [
        numpy_helper.from_array(np.zeros((size, count), np.float32), f"{name}_weight")
        for name, count in outputs.items()
        if name not in constants
    ]
    weights += [
        numpy_helper.from_array(np.array([values], np.float32), f"{name}_value") for name, values in constants.items()
    ]
    nodes = [
        helper.make_node("Identity", [f"{name}_value"], [name])
        if name in constants
        else helper.make_node("MatMul", [first, f"{name}_weight"], [name])
        for name in outputs
    ]
    shapes = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, count]) for name, count in tensors.items()]
        for tensors in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "policy", *shapes, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return path
