"""Files that are wrong in every way: each is one sentence that names the file and the key."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import sources as made_up
from support.sources import DOG, MADE, MAN, Made, write_network, write_source

from surefoot.errors import SurefootError
from surefoot.policy.sources import read_sources
from surefoot.robot.guess import write_starter

Change = Callable[[dict[str, Any]], Any]


def refused(folder: Path, made: Made, files: list[Path], *parts: str) -> None:
    began = time.perf_counter()
    with pytest.raises(SurefootError) as caught:
        write_starter(made.model(folder), folder, read_sources(files))
    message = str(caught.value)
    for part in parts:
        assert part in message, message
    assert "\n" not in message
    assert "--" not in message  # the library names no options
    assert time.perf_counter() - began < 5


def walk(content: dict[str, Any], path: str) -> tuple[Any, str]:
    *above, last = path.split(".")
    for key in above:
        content = content[key]
    return content, last


def put(path: str, value: Any) -> Change:
    def change(content: dict[str, Any]) -> None:
        holder, last = walk(content, path)
        holder[last] = value

    return change


def drop(path: str) -> Change:
    def change(content: dict[str, Any]) -> None:
        holder, last = walk(content, path)
        del holder[last]

    return change


BAD: list[tuple[str, Change, tuple[str, ...]]] = [
    # unitree_rl_lab
    ("unitree", drop("stiffness"), ("x.yaml has no 'stiffness'",)),
    ("unitree", put("stiffness", [1.0] * 5), ("x.yaml: stiffness has 5 numbers", "joint_ids_map names 12 motors")),
    ("unitree", put("default_joint_pos", [0.0] * 11), ("x.yaml: default_joint_pos has 11 numbers, and 12 are needed",)),
    ("unitree", put("joint_ids_map", [0] * 12), ("joint_ids_map holds a number twice",)),
    ("unitree", put("joint_ids_map", []), ("joint_ids_map is empty",)),
    ("unitree", put("joint_ids_map", ["a"] * 12), ("joint_ids_map holds 'a'", "whole numbers")),
    ("unitree", put("joint_ids_map", [*range(11), 99]), ("joint_ids_map means motor number 99", "there are 12")),
    ("unitree", put("step_dt", 0), ("step_dt is 0", "a number from")),
    ("unitree", put("step_dt", "fast"), ("step_dt holds 'fast'",)),
    ("unitree", put("step_dt", float("nan")), ("step_dt holds nan",)),
    ("unitree", put("actions", {}), ("actions is {}", "JointPositionAction")),
    ("unitree", put("actions", {"Teleport": {}}), ("actions.Teleport is an action that Surefoot does not know",)),
    ("unitree", put("actions.JointPositionAction.scale", [0.25]), ("scale has 1 numbers for 12 joints",)),
    ("unitree", put("actions.JointPositionAction.joint_ids", [40]), ("joint_ids holds 40, and there are 12 joints",)),
    ("unitree", put("observations", {}), ("observations lists no terms",)),
    ("unitree", put("observations.base_ang_vel", 3), ("observations.base_ang_vel is 3; it must be a term",)),
    ("unitree", put("observations.base_ang_vel.scale", [0.2] * 7), ("scale has 7 numbers", "gyro has 3 entries")),
    ("unitree", put("observations.base_ang_vel.scale", [0.2, 0.3]), ("scale has 2 numbers", "gyro has 3 entries")),
    ("unitree", put("observations.base_ang_vel.history_length", -1), ("history_length is -1",)),
    ("unitree", put("observations.base_ang_vel.clip", [1.0, -1.0]), ("clip is [1.0, -1.0]", "[lowest, highest]")),
    ("unitree", put("commands.base_velocity.ranges.lin_vel_x", "fast"), ("lin_vel_x is 'fast'; it must be a list",)),
    # Isaac Lab and mjlab
    ("isaac_env", drop("scene.robot"), ("x.yaml: scene has no 'robot'",)),
    ("isaac_env", put("decimation", 0), ("decimation is 0",)),
    ("isaac_env", put("sim.dt", -1), ("sim.dt is -1",)),
    (
        "isaac_env",
        put("scene.robot.actuators.first.joint_names_expr", ["("]),
        ("pattern '('", "not a regular expression"),
    ),
    ("isaac_env", put("scene.robot.actuators.first.joint_names_expr", ["(a+)+b"]), ("may take for ever",)),
    ("isaac_env", put("scene.robot.actuators.first.joint_names_expr", [".*" * 9]), ("may take for ever",)),
    ("isaac_env", put("scene.robot.actuators.first.stiffness", {"a": "x"}), ("stiffness.a holds 'x'",)),
    ("isaac_env", put("actions.joint_pos.class_type", "a:Dance"), ("action of the kind 'a:Dance'",)),
    ("isaac_env", put("actions.joint_pos.joint_names", ["tail"]), ("names no joint of the model",)),
    ("isaac_env", put("observations.policy", {}), ("observations lists no terms in the group policy",)),
    ("isaac_env", put("observations.policy.concatenate_terms", False), ("concatenate_terms is false",)),
    ("isaac_env", put("observations.policy.base_ang_vel.func", 7), ("func is 7; it must be a name",)),
    ("mjlab_env", put("scene.entities.robot.articulation.actuators", 7), ("actuators is 7; it must be a list",)),
    ("isaac_io", put("actions", [3]), ("actions[0] is 3; it must be a mapping",)),
    (
        "isaac_io",
        put("articulations.robot.joint_names", ["a", "b"]),
        ("default_joint_stiffness has 12 numbers, and 2",),
    ),
    # rl_sar, legged_gym, unitree_rl_gym
    ("rl_sar", put("dog/walk.rl_kp", [1.0]), ("x.yaml: rl_kp has 1 numbers, and 12 are needed",)),
    ("rl_sar", put("dog/walk.observations_history", [0, 3, 4]), ("observations_history is [0, 3, 4]",)),
    ("rl_sar", put("dog/walk.observations_history_priority", "luck"), ("priority is 'luck'", "'time' or 'term'")),
    ("rl_sar", put("dog/walk.joint_mapping", list(range(1, 13))), ("joint_mapping holds 12, and there are 12 joints",)),
    ("rl_sar", put("dog/walk.clip_actions_lower", [200.0] * 12), ("a lower limit is not below its upper",)),
    (
        "rl_sar",
        put("dog/walk.torque_limits", [-5.0] * 12),
        ("x.yaml: torque_limits: torque_limit_nm of", "-5; it must be at"),
    ),
    ("unitree_gym", put("kps", [1.0] * 3), ("kps has 3 numbers, and 12 are needed",)),
    ("unitree_gym", put("num_actions", "many"), ("num_actions is 'many'",)),
    ("unitree_gym", put("num_actions", 10**30), ("num_actions is 1000",)),
    ("legged_gym", drop("control.action_scale"), ("control has no 'action_scale'",)),
    ("legged_gym", put("init_state.default_joint_angles", [1]), ("default_joint_angles is [1]; it must be a mapping",)),
    # LEAPP, holosoma
    ("leapp", put("models", {"a": {}, "b": {}}), ("a pipeline of 2 networks (a, b)",)),
    ("leapp", put("models.policy.outputs", []), ("has no joint target",)),
    ("leapp", put("models.policy.inputs", [{}]), ("inputs[0] has no 'name'",)),
    ("holosoma_runner", put("robot.default_dof_angles", [0.0]), ("default_dof_angles has 1 numbers",)),
    ("holosoma_runner", put("observation.obs_dict", {}), ("obs_dict lists no terms",)),
]


@pytest.mark.parametrize(("kind", "change", "parts"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_content_that_is_wrong(tmp_path, kind, change, parts) -> None:
    content = getattr(made_up, kind)(DOG)
    change(content)
    refused(tmp_path, DOG, [write_source(tmp_path / "x.yaml", content)], *parts)


def test_a_file_of_another_robot(tmp_path) -> None:
    source = write_source(tmp_path / "io.yaml", made_up.isaac_io(DOG))
    refused(tmp_path, MAN, [source], "names the joint 'FL_hip_joint'", "the model of the robot that this file is for")


def test_numbers_of_motors_that_the_model_does_not_have(tmp_path) -> None:
    source = write_source(tmp_path / "deploy.yaml", made_up.unitree(DOG))
    refused(tmp_path, MAN, [source], "means motor number", "there are 10")


def test_a_network_of_another_policy(tmp_path) -> None:
    files = [
        write_source(tmp_path / "io.yaml", made_up.isaac_io(DOG)),
        write_network(tmp_path / "p.onnx", {"obs": 20}, {"actions": 7}),
    ]
    refused(tmp_path, DOG, files, "p.onnx: the output actions: the policy has 7 actions", "drive 12 joints")


@pytest.mark.parametrize("made", list(MADE.values()), ids=list(MADE))
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "found nothing"),
        ("- a\n- b", "found a list"),
        ("a: 1\nb: 2", "is of no kind that can be imported (its keys are a, b)"),
        ("name: x\nmodel: x.xml\njoints: [a]", "is a robot.yaml already"),
        ("a: &a [*a]", "not valid YAML"),
        ("joint_ids_map: " + "[" * 3000, "nested more than 50 levels deep"),
        ("step_dt: 1\njoint_ids_map: 9" + "9" * 500, "a number of 501 characters"),
        ("step_dt: 1\njoint_ids_map: !!python/int '" + "9" * 5000 + "'", "a number is too long"),
        (
            "step_dt: 1\njoint_ids_map: !!python/object/apply:os.system ['touch executed']",
            "it must be a list of whole numbers",
        ),
        ("step_dt: 1\njoint_ids_map: !!python/tuple [{a: 1}]", "joint_ids_map holds {'a': 1}"),
        (
            "\n".join(["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]),
            "expands to",
        ),
    ],
)
def test_text_that_is_hostile_or_strange(tmp_path, monkeypatch, made, text, part) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(text)
    refused(tmp_path, made, [tmp_path / "x.yaml"], part)
    assert not (tmp_path / "executed").exists()


def test_files_that_are_no_text_and_no_network(tmp_path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x01")
    (tmp_path / "zeros").write_bytes(b"\0" * 100)
    (tmp_path / "policy.pt").write_bytes(b"PK\x03\x04")
    (tmp_path / "bad.json").write_text('{"a": [')
    (tmp_path / "list.json").write_text("[1]")
    refused(tmp_path, DOG, [tmp_path / "noise"], "not a text file")
    refused(tmp_path, DOG, [tmp_path / "zeros"], "not an ONNX file")
    refused(tmp_path, DOG, [tmp_path / "policy.pt"], "PyTorch")
    refused(tmp_path, DOG, [tmp_path / "bad.json"], "not valid JSON")
    refused(tmp_path, DOG, [tmp_path / "list.json"], "must hold an object")
    refused(tmp_path, DOG, [tmp_path / "none.yaml"], "does not exist")
    refused(tmp_path, DOG, [tmp_path], "is a folder")


@pytest.mark.parametrize(
    ("kind", "key", "value", "parts"),
    [
        ("mjlab", "joint_stiffness", "1.0,a", ("joint_stiffness holds 'a'",)),
        ("mjlab", "action_scale", "1.0,2.0", ("action_scale has 2 numbers for 12 joints",)),
        ("mjlab", "observation_terms_scale", "1.0", ("observation_terms_scale has 1 entries, and 7 are needed",)),
        ("mjlab", "observation_terms_clip", ",".join(["[1]"] * 7), ("observation_terms_clip holds [1.0]",)),
        ("mjlab", "joint_names", "a," * 6000, ("has 6,001 entries",)),
        ("mjlab", "joint_names", "a,b", ("action_scale has 12 numbers for 2 joints",)),
        ("holosoma", "kp", "[1, 2", ("the metadata kp is '[1, 2'; it must be JSON",)),
        ("holosoma", "kp", "[1, 2]", ("kp has 2 numbers, and 12 are needed",)),
        ("holosoma", "dof_names", '"x"', ("kp has 12 numbers",)),
        ("exploy", "output.joint_targets.robot", "{}", ("has no 'names'",)),
        ("exploy", "update_rate", "-3", ("update_rate is -3",)),
    ],
)
def test_metadata_that_is_wrong(tmp_path, kind, key, value, parts) -> None:
    metadata = getattr(made_up, f"{kind}_metadata")(DOG) | {key: value}
    tensors = made_up.exploy_tensors(DOG) if kind == "exploy" else ({"obs": 48}, {"actions": 12})
    refused(tmp_path, DOG, [write_network(tmp_path / "p.onnx", *tensors, metadata)], "p.onnx", *parts)
