"""Several files together: the first wins, contradictions become sentences, and the order of joints follows the evidence."""

from pathlib import Path

import pytest
from support import sources as made_up
from support.sources import DOG, MADE, MAN, Made, write_network, write_source

from surefoot.errors import RobotError
from surefoot.policy.sources import read_sources
from surefoot.robot.importing import Imported, ModelJoints, Value, read_content, resolve
from surefoot.robot.importing.description import rounding
from surefoot.robot.importing.patterns import find_joint, matching


@pytest.fixture(params=list(MADE))
def made(request) -> Made:
    return MADE[request.param]


def joints_of(made: Made) -> ModelJoints:
    return ModelJoints(made.joints, made.motors, made.breadth_first, made.joints)


def resolved(made: Made, *contents: dict, **names: str) -> Imported:
    sources = [f"{chr(ord('a') + i)}.yaml" for i in range(len(contents))]
    return resolve([read_content(c, s) for c, s in zip(contents, sources, strict=True)], joints_of(made))


def test_the_first_file_wins_and_a_contradiction_is_a_sentence_with_both_values(made) -> None:
    other = made_up.isaac_io(made)
    name = made.breadth_first[1]
    other["articulations"]["robot"]["default_joint_stiffness"][1] = 77.0
    other["scene"]["dt"] = 0.01
    first = resolved(made, made_up.unitree(made), other)
    second = resolved(made, other, made_up.unitree(made))
    assert first.per_joint["kp_nm_per_rad"][name].value == made.kp[name]
    assert second.per_joint["kp_nm_per_rad"][name].value == 77
    assert first.whole["control_hz"].value == 50
    sentence = next(remark for remark in first.remarks if "kp_nm_per_rad" in remark)
    for part in (
        name,
        "77",
        f"{made.kp[name]:g}",
        "a.yaml: stiffness",
        "b.yaml: articulations.robot",
        "the first is taken",
    ):
        assert part in sentence
    assert any(
        "control_hz is 50.0 by a.yaml: step_dt and 100.0 by b.yaml: scene.dt" in remark for remark in first.remarks
    )
    assert sum("kp_nm_per_rad" in remark for remark in first.remarks) == 1


def test_files_that_agree_say_nothing_and_fill_each_other(made) -> None:
    deploy = made_up.unitree(made)
    del deploy["commands"]
    both = resolved(made, deploy, made_up.isaac_env(made))
    assert both.whole["command_range"].source.startswith("b.yaml")
    assert "physics_hz" not in both.whole  # the step of another engine
    assert both.per_joint["torque_limit_nm"][made.joints[0]].value == 33
    assert not both.order.guess  # env.yaml does not hold the order, deploy.yaml does
    assert not [remark for remark in both.remarks if "the first is taken" in remark]


def test_a_longer_number_takes_the_place_of_a_rounded_one(made) -> None:
    rounded = made_up.unitree(made)
    rounded["stiffness"] = [float(f"{v:.3g}") for v in rounded["stiffness"]]
    both = resolved(made, rounded, made_up.isaac_io(made))
    assert {name: value.value for name, value in both.per_joint["kp_nm_per_rad"].items()} == made.kp
    assert any("a.yaml: stiffness: no value has more than three digits" in remark for remark in both.remarks)
    assert not any("the first is taken" in remark and "kp" in remark for remark in both.remarks)


def test_names_of_motors_make_numbers_certain(made) -> None:
    """An env.yaml of unitree_rl_lab lists the motors that deploy.yaml numbers."""
    shuffled = made.joints[3:] + made.joints[:3]  # neither breadth first nor an order of the model
    deploy = made_up.unitree(made)
    deploy["joint_ids_map"] = [made.motors.index(name) for name in shuffled]
    alone = resolved(made, deploy)
    assert alone.order.guess or "the model's own" in alone.order.remark
    env = made_up.isaac_env(made)
    env["scene"]["robot"]["joint_sdk_names"] = [*made.motors, ""]
    both = resolved(made, deploy, env)
    assert both.driven == shuffled
    assert not both.order.guess
    assert "joint_sdk_names" in both.order.remark


@pytest.mark.parametrize(("order", "says"), [("breadth_first", "breadth first"), ("joints", "the model's own")])
def test_numbers_that_come_out_in_an_order_that_frameworks_have_are_certain(order, says) -> None:
    deploy = made_up.unitree(DOG)
    names = getattr(DOG, order)
    deploy["joint_ids_map"] = [DOG.motors.index(name) for name in names]
    found = resolved(DOG, deploy)
    assert found.driven == names
    assert not found.order.guess
    assert says in found.order.remark


def test_numbers_in_sequence_are_a_guess() -> None:
    deploy = made_up.unitree(MAN)
    deploy["joint_ids_map"] = list(range(10))
    found = resolved(MAN, deploy)
    assert found.driven == MAN.motors
    assert found.order.guess
    assert "no file names the motors" in found.order.remark


def test_a_policy_that_drives_some_joints_holds_the_rest_and_may_observe_them() -> None:
    deploy = made_up.unitree(MAN)
    legs = [name for name in MAN.breadth_first if "left" in name or "right" in name]
    places = [MAN.breadth_first.index(name) for name in legs]
    action = deploy["actions"]["JointPositionAction"]
    action |= {"joint_ids": places, "scale": [action["scale"][i] for i in places]}  # offset stays one for each joint
    deploy["observations"]["last_action"]["scale"] = [1.0] * len(legs)
    found = resolved(MAN, deploy)
    assert found.driven == tuple(legs)
    assert found.joints == (*legs, "waist_joint", "neck_joint")
    terms = {term["name"]: term for term in found.whole["observation"].value}
    assert terms["joint_position"]["joints"] == list(MAN.breadth_first)
    assert "joints" not in terms["last_action"]
    assert set(found.per_joint["action_scale_rad"]) == set(legs)
    assert found.per_joint["kp_nm_per_rad"]["neck_joint"].value == MAN.kp["neck_joint"]


def test_unitree_gains_without_a_place_for_motors_that_the_robot_lacks() -> None:
    deploy = made_up.unitree(MAN)
    gaps = {name: i + (2 if i > 3 else 0) for i, name in enumerate(MAN.motors)}  # no motors 4 and 5
    deploy["joint_ids_map"] = [gaps[name] for name in MAN.breadth_first]
    env = made_up.isaac_env(MAN)
    env["scene"]["robot"]["joint_sdk_names"] = [*MAN.motors[:4], "", "", *MAN.motors[4:]]
    found = resolved(MAN, deploy, env)
    assert {name: value.value for name, value in found.per_joint["kp_nm_per_rad"].items()} == MAN.kp


def test_frame_by_frame_history_of_a_deploy_yaml(made) -> None:
    deploy = made_up.unitree(made)
    deploy["observations"] = {"use_gym_history": True} | deploy["observations"]
    found = resolved(made, deploy)
    assert found.whole["observation_frames"].value == {"history": 3, "order": "oldest_first"}
    assert all("history" not in term for term in found.whole["observation"].value)


def test_groups_of_a_deploy_yaml_are_inputs(made) -> None:
    deploy = made_up.unitree(made)
    first = {name: deploy["observations"][name] for name in ("base_ang_vel", "projected_gravity")}
    deploy["observations"] = {"obs": first, "more": {"velocity_commands": deploy["observations"]["velocity_commands"]}}
    found = resolved(made, deploy)
    assert {name: [t["name"] for t in entry["terms"]] for name, entry in found.whole["inputs"].value.items()} == {
        "obs": ["gyro", "gravity"],
        "more": ["command"],
    }


def test_an_unknown_term_leaves_the_observation_a_guess_and_says_so(made) -> None:
    deploy = made_up.unitree(made)
    deploy["observations"]["smell"] = {"params": {}, "scale": [1.0], "history_length": 1}
    found = resolved(made, deploy)
    assert found.whole["observation"].guess
    assert any("observations.smell is the term 'smell'" in remark for remark in found.remarks)


def test_an_observation_of_another_size_than_the_network_takes_is_a_guess(tmp_path: Path, made) -> None:
    n = len(made.joints)
    files = [
        write_source(tmp_path / "deploy.yaml", made_up.unitree(made)),
        write_network(tmp_path / "p.onnx", {"obs": 5}, {"actions": n}),
    ]
    found = resolve(read_sources(files), joints_of(made))
    assert found.whole["observation"].guess
    assert any(f"the observation has {3 * (9 + 3 * n)} entries" in r and "takes 5 (obs)" in r for r in found.remarks)


def test_groups_that_the_agent_names(made) -> None:
    env = made_up.isaac_env(made)
    env["observations"]["history"] = {"g": env["observations"]["policy"].pop("gravity")}
    agent = made_up.isaac_agent() | {"obs_groups": {"policy": ["policy", "history"], "critic": ["critic"]}}
    found = resolved(made, env, agent)
    assert found.whole["observation"].value[-1]["name"] == "gravity"
    agent["obs_groups"]["policy"] = ["nose"]
    with pytest.raises(RobotError, match="names the observation group 'nose'"):
        resolved(made, env, agent)


def test_clips_and_offsets_of_targets(made) -> None:
    env = made_up.isaac_env(made)
    env["actions"]["joint_pos"] |= {"use_default_offset": False, "offset": 0.1, "clip": {".*": (-1.0, 1.5)}}
    found = resolved(made, env)
    assert {value.value for value in found.target_offset.values()} == {0.1}
    assert {value.value for value in found.target_clip.values()} == {(-1.0, 1.5)}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([100.0, 40.0, 0.25], ""),
        ([40.2, 99.1, 28.5], "three digits"),
        ({"a": 0.548, "b": 0.351, "c": 1.0}, "three digits"),
        ([0.125, 0.25, -0.125], ""),
        ([40.179, 99.098], "three decimals"),
        ([40.179238471, 99.1], ""),
        ([1e-7, 1.0], ""),
        ([], ""),
    ],
)
def test_rounding(values, says) -> None:
    assert says in rounding(values)
    assert bool(rounding(values)) == bool(says)


def test_names_with_and_without_the_word_joint() -> None:
    known = ("left_hip_joint", "waist")
    assert find_joint("left_hip", known) == "left_hip_joint"
    assert find_joint("waist_joint", known) == "waist"
    assert find_joint("hip", known) is None
    assert matching(".*_hip", known, "x") == ["left_hip_joint"]
    assert matching("waist_joint", known, "x") == ["waist"]
    assert matching("(left|right)_.*", known, "x") == ["left_hip_joint"]


def test_joints_that_the_model_lacks_are_named(made) -> None:
    source = made_up.legged_gym(made)
    source["init_state"]["default_joint_angles"] |= {"left_thumb": 0.1, "right_thumb": 0.1}
    found = resolved(made, source)
    assert any("names left_thumb, right_thumb, which the model does not have" in remark for remark in found.remarks)
    assert set(found.per_joint["pose_rad"]) == set(made.joints)


def test_every_value_carries_its_source(made) -> None:
    for content in (made_up.unitree(made), made_up.isaac_env(made), made_up.rl_sar(made), made_up.legged_gym(made)):
        held = read_content(content, "file.yaml").held()
        assert held
        assert all(isinstance(value, Value) and value.source.startswith("file.yaml") for value in held.values())
