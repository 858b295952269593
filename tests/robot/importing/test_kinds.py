"""Every kind of file, for two made-up robots: each number comes back on the joint that it was written for."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from support import sources as made_up
from support.sources import MADE, Made, write_network, write_source

from surefoot.errors import RobotError
from surefoot.files import parse_yaml
from surefoot.policy.sources import read_sources
from surefoot.robot import load_robot
from surefoot.robot.guess import guessed, taken, write_starter
from surefoot.robot.importing import read_content


@pytest.fixture(params=list(MADE))
def made(request) -> Made:
    return MADE[request.param]


def started(folder: Path, made: Made, *files: Path) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    text, remarks = write_starter(made.model(folder), folder, read_sources(files))
    (folder / "robot.yaml").write_text(text)
    load_robot(folder)
    return parse_yaml(text, "robot.yaml", RobotError), text, remarks


def by_joint(content: dict[str, Any], key: str) -> dict[str, float]:
    value = content[key]
    return value if isinstance(value, dict) else dict.fromkeys(content["joints"], value)


def gives(content: dict[str, Any], made: Made, order: tuple[str, ...], tolerance: float = 1e-9, **other: float) -> None:
    """Order, pose, gains and action scale are those that the robot has, or one number that is given here."""
    assert tuple(content["joints"]) == order
    for key, truth in (
        ("pose_rad", made.pose),
        ("kp_nm_per_rad", made.kp),
        ("kd_nms_per_rad", made.kd),
        ("action_scale_rad", made.scale),
    ):
        expected = dict.fromkeys(order, other[key]) if key in other else truth
        assert by_joint(content, key) == pytest.approx(expected, abs=tolerance), key
    assert "driven" not in content
    assert "action_offset" not in content


def names(terms: list[Any]) -> list[str]:
    return [term if isinstance(term, str) else term["name"] for term in terms]


PLAIN = ["gyro", "gravity", "command", "joint_position", "joint_velocity", "last_action"]


def test_unitree_rl_lab(tmp_path, made) -> None:
    content, text, _ = started(tmp_path, made, write_source(tmp_path / "some.yaml", made_up.unitree(made)))
    gives(content, made, made.breadth_first)
    assert content["control_hz"] == 50
    assert content["command_range"] == {"vx_m_s": [-0.6, 1.1], "vy_m_s": [-0.4, 0.4], "wz_rad_s": [-0.8, 0.8]}
    assert content["observation"][0] == {"name": "gyro", "scale": 0.2, "history": 3}
    assert content["observation"][2] == {"name": "command", "scale": [2.0, 2.0, 0.25], "history": 3}
    assert names(content["observation"]) == PLAIN
    assert "kp_nm_per_rad:  # from some.yaml: stiffness" in text
    assert not {"joints", "pose_rad", "kp_nm_per_rad", "observation"} & set(dict(guessed(text)))
    assert "kp_nm_per_rad" in dict(taken(text))["some.yaml"]


def test_isaaclab_env_and_agent(tmp_path, made) -> None:
    env = write_source(tmp_path / "e.yaml", made_up.isaac_env(made))
    assert "!!python/tuple" in env.read_text()
    assert "builtins.slice" in env.read_text()
    content, text, remarks = started(tmp_path, made, env, write_source(tmp_path / "a.yaml", made_up.isaac_agent()))
    gives(content, made, made.breadth_first)
    assert by_joint(content, "torque_limit_nm") == dict.fromkeys(made.breadth_first, 33)
    assert by_joint(content, "velocity_limit_rad_s") == dict.fromkeys(made.breadth_first, 21)
    assert (content["control_hz"], content["physics_hz"], content["action_clip"]) == (
        50,
        500,
        6.5,
    )  # 200 Hz is for PhysX
    assert names(content["observation"]) == ["base_velocity", *PLAIN]
    assert content["observation"][1] == {"name": "gyro", "clip": [-100.0, 100.0], "scale": 0.2}
    assert content["estimators"] == {"base_velocity": {"kind": "truth"}}
    assert "joints" in dict(guessed(text))  # the file does not hold their order
    assert "breadth first" in dict(guessed(text))["joints"]
    assert any("normalizer inside of the network" in sentence for sentence in remarks)


def test_mjlab_env_is_in_the_order_of_the_model(tmp_path, made) -> None:
    content, _, _ = started(tmp_path, made, write_source(tmp_path / "e.yaml", made_up.mjlab_env(made)))
    gives(content, made, made.joints)
    assert (content["control_hz"], content["physics_hz"]) == (50, 200)
    assert names(content["observation"]) == ["base_velocity", *PLAIN]


def test_isaaclab_io_descriptors(tmp_path, made) -> None:
    content, text, _ = started(tmp_path, made, write_source(tmp_path / "io.yaml", made_up.isaac_io(made)))
    gives(content, made, made.breadth_first)
    assert names(content["observation"]) == PLAIN
    assert "joints" not in dict(guessed(text))
    assert content["control_hz"] == 50


def test_isaaclab_io_descriptors_of_explicit_actuators_have_no_gains(tmp_path, made) -> None:
    source = made_up.isaac_io(made)
    source["articulations"]["robot"]["default_joint_stiffness"] = [0.0] * len(made.joints)
    _, text, remarks = started(tmp_path, made, write_source(tmp_path / "io.yaml", source))
    assert "kp_nm_per_rad" in dict(guessed(text))
    assert any("0 for all joints" in sentence for sentence in remarks)


def test_rl_sar_config_and_base(tmp_path, made) -> None:
    config = write_source(tmp_path / "config.yaml", made_up.rl_sar(made))
    content, text, _ = started(tmp_path, made, config, write_source(tmp_path / "base.yaml", made_up.rl_sar_base(made)))
    gives(content, made, made.breadth_first)
    assert by_joint(content, "torque_limit_nm") == dict.fromkeys(made.breadth_first, 33)
    assert content["observation_frames"] == {"history": 4, "order": "newest_first"}
    assert content["observation"][2] == {"name": "command", "scale": [2.0, 2.0, 0.25]}
    assert (content["control_hz"], content["action_clip"], content["observation_clip"]) == (50, 90, 100)
    assert "joints" not in dict(guessed(text))  # base.yaml names the motors


@pytest.mark.parametrize(
    ("ages", "priority", "expected"),
    [
        ([3, 2, 1, 0], "time", {"history": 4, "order": "oldest_first"}),
        ([0, 2, 4], "time", {"history": 3, "order": "newest_first", "stride": 2}),
        ([0, 1, 2], "term", {"history": 3, "newest_first": True}),
        ([2, 1, 0], "term", {"history": 3}),
    ],
)
def test_rl_sar_history(tmp_path, made, ages, priority, expected) -> None:
    source = made_up.rl_sar(made)
    source[f"{made.name}/walk"] |= {"observations_history": ages, "observations_history_priority": priority}
    content, _, _ = started(tmp_path, made, write_source(tmp_path / "config.yaml", source))
    if priority == "time":
        assert content["observation_frames"] == expected
    else:
        assert content["observation"][1] == {"name": "gravity", **expected}
        assert "observation_frames" not in content


def test_rl_sar_wheels_are_driven_by_velocity(tmp_path) -> None:
    made = MADE["dog"]
    source = made_up.rl_sar(made)
    source["dog/walk"]["wheel_indices"] = [8, 9, 10, 11]  # the calves, breadth first
    content, _, _ = started(
        tmp_path,
        made,
        write_source(tmp_path / "c.yaml", source),
        write_source(tmp_path / "b.yaml", made_up.rl_sar_base(made)),
    )
    assert {name: kind for name, kind in content["action_kind"].items() if kind == "velocity"} == dict.fromkeys(
        [f"{leg}_calf_joint" for leg in ("FL", "FR", "RL", "RR")], "velocity"
    )
    assert content["observation"][3] == {"name": "joint_position", "scale": [1.0] * 8 + [0.0] * 4}
    assert "action_offset" not in content


def test_unitree_rl_gym(tmp_path, made) -> None:
    content, text, _ = started(tmp_path, made, write_source(tmp_path / "g1.yaml", made_up.unitree_gym(made)))
    gives(content, made, made.joints, action_scale_rad=0.25)
    assert content["command_range"]["wz_rad_s"] == [-1.5, 1.5]
    assert (content["control_hz"], content["physics_hz"]) == (50, 500)
    assert content["observation"][-1] == {
        "name": "gait_phase",
        "frequency_hz": 1.25,
        "offsets": [0.0],
        "form": "sin_cos",
    }
    assert content["observation"][0] == {"name": "gyro", "scale": 0.2}
    assert {"joints", "observation"} <= set(dict(guessed(text)))


def test_unitree_rl_gym_with_legs_alone_holds_the_rest(tmp_path) -> None:
    made = MADE["man"]
    legs = made.motors[:8]
    source = made_up.unitree_gym(made)
    for key, values in (("kps", made.kp), ("kds", made.kd), ("default_angles", made.pose)):
        source[key] = [values[name] for name in legs]
    source |= {"num_actions": 8, "num_obs": 33, "leg_joint2motor_idx": list(range(8))}
    source |= {
        "arm_waist_joint2motor_idx": [8, 9],
        "arm_waist_kps": [300, 310],
        "arm_waist_kds": [3, 4],
        "arm_waist_target": [0, 0],
    }
    content, _, _ = started(tmp_path, made, write_source(tmp_path / "g1.yaml", source))
    assert content["driven"] == list(legs)
    assert content["joints"] == list(made.motors)
    assert content["kp_nm_per_rad"]["neck_joint"] == 310
    assert content["pose_rad"]["waist_joint"] == 0


def test_legged_gym_as_json(tmp_path, made) -> None:
    import json

    path = tmp_path / "config.json"
    path.write_text(json.dumps(made_up.legged_gym(made)))
    content, text, _ = started(tmp_path, made, path)
    gives(content, made, made.joints, action_scale_rad=0.25)
    assert content["observation"][0] == {"name": "base_velocity", "scale": 2.0}
    assert content["observation"][3] == {"name": "command", "scale": [2.0, 2.0, 0.25]}
    assert (content["action_clip"], content["observation_clip"], content["control_hz"]) == (90, 100, 50)
    assert {"joints", "observation"} <= set(dict(guessed(text)))


def test_holosoma_runner_sorts_its_terms(tmp_path, made) -> None:
    content, _, _ = started(tmp_path, made, write_source(tmp_path / "loco.yaml", made_up.holosoma_runner(made)))
    gives(content, made, made.joints, action_scale_rad=0.25)
    assert names(content["observation"]) == [
        *("last_action", "gyro", "command", "command", "gait_phase"),
        *("joint_position", "joint_velocity", "gravity", "gait_phase"),
    ]
    assert content["observation"][2] == {"name": "command", "entries": ["wz_rad_s"]}
    assert content["observation"][4]["form"] == "cos"
    assert content["observation"][4]["frequency_hz"] == pytest.approx(1 / 0.9)


def test_holosoma_metadata_leaves_the_rest_a_guess(tmp_path, made) -> None:
    n = len(made.joints)
    metadata = made_up.holosoma_metadata(made)
    content, text, _ = started(
        tmp_path, made, write_network(tmp_path / "p.onnx", {"actor_obs": 3 * n + 13}, {"action": n}, metadata)
    )
    assert by_joint(content, "kp_nm_per_rad") == made.kp
    assert content["command_range"]["wz_rad_s"] == [-0.8, 0.8]
    assert names(content["observation"])[:3] == ["last_action", "gyro", "command"]
    assert {"pose_rad", "action_scale_rad", "observation", "control_hz"} <= set(dict(guessed(text)))
    assert not {"joints", "kp_nm_per_rad", "kd_nms_per_rad", "command_range"} & set(dict(guessed(text)))


def test_leapp_with_the_gains_of_its_network(tmp_path, made) -> None:
    n, order = len(made.joints), made.breadth_first
    bundle = write_source(tmp_path / "policy.yaml", made_up.leapp(made))
    inputs = {"robot_joint_pos": n, "robot_joint_vel": n, "robot_ang_vel": 3, "robot_gravity": 3, "base_velocity": 3}
    outputs = {"joint_pos": n, "last_action_out": n, "kp_gains": n, "kd_gains": n}
    gains = {"kp_gains": made_up.in_order(made.kp, order), "kd_gains": made_up.in_order(made.kd, order)}
    network = write_network(tmp_path / "policy.onnx", inputs | {"last_action_in": n}, outputs, None, gains)
    content, _, _ = started(tmp_path, made, bundle, network)
    assert tuple(content["joints"]) == order
    assert by_joint(content, "kp_nm_per_rad") == pytest.approx(made.kp, rel=1e-6)
    assert by_joint(content, "kd_nms_per_rad") == pytest.approx(made.kd, rel=1e-6)
    assert content["output"] == "joint_pos"
    assert content["state"] == [{"input": "last_action_in", "output": "last_action_out"}]
    assert content["inputs"]["robot_gravity"] == {"terms": ["gravity"]}
    assert content["inputs"]["robot_joint_pos"]["terms"] == [{"name": "joint_position", "relative": False}]
    offsets = by_joint(content, "action_offset") if "action_offset" in content else dict.fromkeys(order, 0.0)
    poses = by_joint(content, "pose_rad")
    assert all(offsets[name] == -poses[name] for name in order)  # the network's output is the target itself
    assert "observation" not in content


def test_mjlab_metadata_and_its_rounding(tmp_path, made) -> None:
    n = len(made.joints)
    network = write_network(tmp_path / "p.onnx", {"obs": 12 + 3 * n}, {"actions": n}, made_up.mjlab_metadata(made))
    content, text, remarks = started(tmp_path, made, network)
    gives(content, made, made.joints, tolerance=5.1e-4)
    assert names(content["observation"]) == ["base_velocity", "gyro", "gravity", *PLAIN[3:], "command"]
    assert content["observation"][-1] == {"name": "command", "clip": [-1.0, 1.0], "scale": [2.0, 2.0, 0.25]}
    assert any("joint_stiffness: no value has more than three decimals" in sentence for sentence in remarks)
    assert "three decimals" in text


def test_mjlab_metadata_of_a_policy_that_tracks_a_motion(tmp_path, made) -> None:
    n = len(made.joints)
    metadata = made_up.mjlab_metadata(made) | {"command_names": "motion", "anchor_body_name": "trunk"}
    for key in ("scale", "history_length", "clip"):
        metadata.pop(f"observation_terms_{key}")
    metadata["observation_names"] = (
        "command,motion_anchor_pos_b,motion_anchor_ori_b,base_ang_vel,joint_pos,joint_vel,actions"
    )
    network = write_network(tmp_path / "p.onnx", {"obs": 12 + 5 * n}, {"actions": n}, metadata)
    content, text, remarks = started(tmp_path, made, network)
    assert content["observation"][0] == {"name": "motion_reference", "size": 2 * n}
    assert "observation" not in dict(guessed(text))
    assert any("tracks a motion" in sentence for sentence in remarks)


def test_exploy(tmp_path, made) -> None:
    inputs, outputs = made_up.exploy_tensors(made)
    network = write_network(tmp_path / "p.onnx", inputs, outputs, made_up.exploy_metadata(made))
    content, _, _ = started(tmp_path, made, network)
    assert tuple(content["joints"]) == made.breadth_first
    assert by_joint(content, "kp_nm_per_rad") == made.kp
    assert content["inputs"]["obj.robot.joints.pos"]["terms"] == [
        {"name": "joint_position", "relative": False, "joints": list(made.joints)}
    ]
    assert content["inputs"]["obj.robot.base.w_Q_b"]["terms"] == [{"name": "quaternion", "order": "wxyz"}]
    assert content["state"] == [{"input": "memory.actions.in", "output": "memory.actions.out"}]
    assert content["output"] == "output.joint_targets.robot.pos"
    assert content["command_range"]["vx_m_s"] == [-0.6, 1.1]


def test_a_bare_network_of_the_size_of_playgrounds(tmp_path, made) -> None:
    n = len(made.joints)
    content, text, _ = started(tmp_path, made, write_network(tmp_path / "p.onnx", {"obs": 12 + 3 * n}, {"act": n}))
    assert names(content["observation"]) == [
        *("base_velocity", "gyro", "gravity", "joint_position", "joint_velocity", "last_action", "command")
    ]
    assert content["action_scale_rad"] == 0.5
    assert {"joints", "observation", "action_scale_rad", "control_hz"} <= set(dict(guessed(text)))
    assert "Playground" in dict(guessed(text))["observation"]
    assert taken(text) == []


def test_a_recurrent_network_names_its_state(tmp_path, made) -> None:
    n = len(made.joints)
    network = write_network(
        tmp_path / "p.onnx", {"obs": 9 + 3 * n, "h_in": 64, "c_in": 64}, {"actions": n, "h_out": 64, "c_out": 64}
    )
    content, _, _ = started(tmp_path, made, write_source(tmp_path / "io.yaml", made_up.isaac_io(made)), network)
    assert content["state"] == [{"input": "h_in", "output": "h_out"}, {"input": "c_in", "output": "c_out"}]
    assert content["output"] == "actions"


def test_no_kind_is_taken_for_another(made) -> None:
    kinds = {
        read_content(yaml.safe_load(yaml.safe_dump(_plain(content))), "x").kind
        for content in (
            made_up.unitree(made),
            made_up.isaac_env(made),
            made_up.isaac_agent(),
            made_up.isaac_io(made),
            made_up.rl_sar(made),
            made_up.unitree_gym(made),
            made_up.legged_gym(made),
            made_up.holosoma_runner(made),
            made_up.leapp(made),
        )
    }
    assert len(kinds) == 9


def _plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    return [None, None, None] if isinstance(content, slice) else content
