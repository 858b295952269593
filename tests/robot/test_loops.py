"""Rods, four-bar knees, parallel ankles and couplings: passive joints are where the loops want them."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from support.models import four_bar_quadruped, parallel_ankle_biped
from support.robot_files import TINY_YAML, refused, tiny

from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot
from surefoot.robot.guess import starter_yaml
from surefoot.robot.loops import loops_of
from surefoot.robot.picture import standing
from surefoot.sim import Worlds

MAKERS = [four_bar_quadruped, parallel_ankle_biped]
JOINT_SPACE = {
    four_bar_quadruped: {
        "joints": [f"{leg}_{joint}" for leg in ("FL", "FR", "RL", "RR") for joint in ("hip", "knee")],
        "pose_rad": {"*_hip": 0.4, "*_knee": -0.75},
    },
    parallel_ankle_biped: {
        "joints": [f"{side}_{joint}" for side in ("left", "right") for joint in ("hip", "ankle_pitch", "ankle_roll")],
        "pose_rad": {"*": 0.0, "*_hip": 0.1, "*_pitch": -0.1},
    },
}


def opened(worlds: Worlds, world: int = 0) -> tuple[float, float]:
    """How far the loops of a world are open, and how fast they open, by MuJoCo's own account."""
    data = worlds.data_of(world)
    mujoco.mj_forward(worlds.model, data)
    rows = data.efc_type[: data.nefc] == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    assert rows.sum() == 3 * worlds.model.neq
    return float(np.abs(data.efc_pos[: data.nefc][rows]).max()), float(np.abs(data.efc_vel[: data.nefc][rows]).max())


@pytest.mark.parametrize("space", ["motor", "joint"])
@pytest.mark.parametrize("make", MAKERS)
class TestLoops:
    def test_they_are_closed_at_every_reset_and_stay_so(self, tmp_path: Path, make, space: str) -> None:
        robot = load_robot(make(tmp_path, **(JOINT_SPACE[make] if space == "joint" else {})))
        worlds, contract = Worlds(robot, 2), robot.contract
        assert max(opened(worlds)) < 1e-9
        rng = np.random.default_rng(0)
        joints = np.array(contract.pose_rad) + rng.uniform(-0.2, 0.2, (2, contract.n_joints))
        speeds = rng.uniform(-1, 1, joints.shape)
        worlds.reset([1, 0], joint_position_rad=joints, joint_velocity_rad_s=speeds)
        np.testing.assert_array_equal(worlds.joint_position_rad, joints[::-1])
        for world in range(2):
            assert max(opened(worlds, world)) < 1e-9  # nothing tears at them in the first step
        worlds.reset()
        for _ in range(25):
            worlds.step(np.zeros((2, contract.n_joints)))
            assert opened(worlds)[0] < 0.003
        assert worlds.alive.all()
        assert (worlds.sensors.gravity[:, 2] < -0.98).all()

    def test_heights_and_pictures_are_of_the_closed_robot(self, tmp_path: Path, make, space: str) -> None:
        robot = load_robot(make(tmp_path, **(JOINT_SPACE[make] if space == "joint" else {})))
        model = robot.spec().compile()
        data = standing(robot, model)
        loops = loops_of(model, robot.contract.joints)
        assert loops is not None
        assert loops.missing(data.qpos.copy()).max() < 1e-9
        assert Worlds(robot, 1).data_of(0).qpos == pytest.approx(data.qpos, abs=1e-9)


def test_the_mechanism_stays_assembled_as_it_is_drawn(tmp_path: Path) -> None:
    """A four-bar has two ways to close; a way through the pose in which it is drawn decides."""
    robot = load_robot(four_bar_quadruped(tmp_path))
    model = robot.spec().compile()
    loops = loops_of(model, robot.contract.joints)
    assert loops is not None
    knee = model.joint("FL_knee").qposadr[0]
    angles = [loops.settle(np.array([0.4, crank] * 4))[knee] for crank in np.linspace(-1.4, 1.0, 25)]
    assert (np.diff(angles) > 0).all()
    assert np.diff(angles).max() < 0.15


ROD = """<body name="{s}_leg" pos="0 {y} 0">
  <joint name="{s}_hip" axis="0 1 0" range="-1 1"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5"/>
  <body name="{s}_crank"><joint name="{s}_crank" axis="0 1 0" range="-2.4 -0.5"/>
    <geom type="capsule" size="0.01" fromto="0 0 0 0.05 0 0" mass="0.1" contype="0" conaffinity="0"/>
    <body name="{s}_rod" pos="0.05 0 0"><joint name="{s}_rod" axis="0 1 0"/>
      <geom type="capsule" size="0.005" fromto="0 0 0 0.3 0 0" mass="0.1" contype="0" conaffinity="0"/></body></body>
  <body name="{s}_foot" pos="0.3 0 0"><joint name="{s}_ankle" axis="0 1 0" range="-2.4 -0.5"/>
    <geom name="{s}_toe" type="capsule" size="0.02" fromto="-0.05 0 0 0.1 0 0" mass="0.2"/>
    <body name="{s}_heel"><joint name="{s}_heel" axis="0 1 0" stiffness="300"/>
      <geom size="0.01" pos="0.05 0 0" mass="0.05" contype="0" conaffinity="0"/></body></body></body>"""


def test_a_rod_that_is_drawn_stretched_folds_into_the_ranges_and_springs_stay_at_rest(tmp_path: Path) -> None:
    """As in Cassie's feet: crank, rod and lever are drawn in one line, from which a parallelogram folds either way."""
    legs = "".join(ROD.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1)))
    rods = "".join(f'<connect body1="{s}_rod" body2="{s}_heel" anchor="0.3 0 0"/>' for s in ("left", "right"))
    tiny(
        tmp_path,
        TINY_YAML.replace("[left_leg, right_leg]", "[left_toe, right_toe]")
        .replace("[left_hip, right_hip]", "[left_hip, left_ankle, right_hip, right_ankle]")
        .replace("pose_rad: 0.1", "pose_rad: {'*_hip': 0.5, '*_ankle': -1.4}"),
    )
    (tmp_path / "tiny.xml").write_text(
        '<mujoco><compiler angle="radian"/><worldbody><body name="box" pos="0 0 1"><freejoint/>'
        f'<geom type="box" size="0.2 0.1 0.05" mass="4"/>{legs}</body></worldbody><equality>{rods}</equality></mujoco>'
    )
    worlds = Worlds(load_robot(tmp_path), 1)
    qpos = {name: worlds.data_of(0).qpos[worlds.model.joint(name).qposadr[0]] for name in PASSIVE}
    expected = {"crank": -1.4, "rod": 1.4, "heel": 0.0}
    assert qpos == pytest.approx({name: expected[name.split("_")[1]] for name in PASSIVE}, abs=1e-6)


PASSIVE = [f"{side}_{joint}" for side in ("left", "right") for joint in ("crank", "rod", "heel")]


def test_ratios_are_those_of_small_motions(tmp_path: Path) -> None:
    robot = load_robot(parallel_ankle_biped(tmp_path))
    model = robot.spec().compile()
    loops = loops_of(model, robot.contract.joints)
    assert loops is not None
    pose = np.array(robot.contract.pose_rad)
    rest, motor = loops.settle(pose), robot.contract.joints.index("left_in_motor")
    pose[motor] += 1e-4
    moved = (loops.settle(pose) - rest) / 1e-4
    ratios = {follower.joint: dict(follower.ratios) for follower in robot.followers}
    assert set(ratios) >= {"left_ankle_pitch", "left_ankle_roll", "right_ankle_pitch", "right_ankle_roll"}
    for joint in ("left_ankle_pitch", "left_ankle_roll"):
        slope = moved[model.joint(joint).qposadr[0]]
        assert ratios[joint]["left_in_motor"] == pytest.approx(slope, abs=1e-3)
        assert set(ratios[joint]) == {"left_in_motor", "left_out_motor"}


def test_the_built_in_trot_walks_on_four_bar_knees(tmp_path: Path) -> None:
    robot = load_robot(four_bar_quadruped(tmp_path))
    worlds, agent = Worlds(robot, 1), make_agent("trot", robot, 1)
    for _ in range(100):
        worlds.step(agent.act(worlds.sensors, np.array([[0.4, 0.0, 0.0]])))
    assert worlds.base_position_m[0, 0] > 0.3
    assert worlds.sensors.gravity[0, 2] < -0.95


@pytest.mark.parametrize("make", MAKERS)
def test_both_spaces_are_named(tmp_path: Path, make, surefoot) -> None:
    path = make(tmp_path)
    text = starter_yaml(tmp_path / "model.xml")
    follower = "FL_knee moves 0.8 × FL_crank" if make is four_bar_quadruped else "left_ankle_pitch moves 0.5 × left_in_"
    assert f"#   {follower}" in text
    assert "motor space -> joint space" in text
    motors = load_robot(path).contract.joints
    assert tuple(yaml.safe_load(text)["joints"]) == motors
    code, out, _ = surefoot("robot", "check", path)
    assert code == 0
    assert follower.split(" moves")[0] + " moves" in out


def test_coupled_joints_follow(tmp_path: Path) -> None:
    couple = '<equality><joint joint1="shoulder" joint2="left_hip" polycoef="0.05 -2 0 0 0"/></equality>'
    robot = load_robot(tiny(tmp_path, extra=couple))
    assert robot.passive_joints == ("shoulder",)
    worlds = Worlds(robot, 1)
    shoulder = worlds.model.joint("shoulder").qposadr[0]
    assert worlds.data_of(0).qpos[shoulder] == pytest.approx(0.05 - 2 * 0.1, abs=1e-9)
    assert robot.followers[0].joint == "shoulder"
    assert robot.followers[0].ratios == (("left_hip", pytest.approx(-2.0)),)


def test_a_joint_in_a_tendon_that_is_pulled_gets_a_motor(tmp_path: Path) -> None:
    tendon = (
        '<tendon><fixed name="cable"><joint joint="left_hip" coef="1"/><joint joint="shoulder" coef="0.5"/></fixed>'
        '</tendon><actuator><motor tendon="cable"/><motor joint="right_hip"/></actuator>'
    )
    tiny(tmp_path, extra=tendon)
    text = starter_yaml(tmp_path / "tiny.xml")
    assert yaml.safe_load(text)["joints"] == ["left_hip", "right_hip", "shoulder"]
    assert "left_hip, shoulder are pulled by tendons, and get a motor each" in text


class TestRefused:
    def test_a_loop_of_motors_that_does_not_close(self, tmp_path: Path) -> None:
        all_of_it = [f"{leg}_{joint}" for leg in ("FL", "FR", "RL", "RR") for joint in ("hip", "crank", "knee")]
        path = four_bar_quadruped(tmp_path, joints=all_of_it, pose_rad={"*_hip": 0.4, "*_crank": -1.0, "*_knee": 0.0})
        refused(path, "the equality 'FL_bar'", "between 'FL_rod' and 'FL_shank'", "mm apart", "can follow")

    def test_a_passive_joint_beyond_its_range(self, tmp_path: Path) -> None:
        path = parallel_ankle_biped(tmp_path, pose_rad={"*_hip": 0.1, "*_in_motor": -0.6, "*_out_motor": 0.6})
        refused(path, "the passive joint 'left_ankle_roll'", "outside its range -0.5 to 0.5", "pose_rad")

    def test_a_robot_that_is_tied_to_the_world(self, tmp_path: Path) -> None:
        refused(tiny(tmp_path, extra='<equality><weld name="rope" body1="box"/></equality>'), "'rope'", "ties 'box' to")

    def test_motors_that_are_coupled_and_disagree(self, tmp_path: Path) -> None:
        couple = '<equality><joint name="gear" joint1="left_hip" joint2="right_hip" polycoef="0.5 1 0 0 0"/></equality>'
        refused(
            tiny(tmp_path, extra=couple), "'gear' of the model couples 'left_hip' and 'right_hip'", "out of 'joints'"
        )

    def test_an_equality_that_is_off_does_not_matter(self, tmp_path: Path) -> None:
        rope = '<equality><weld name="rope" body1="box" active="false"/></equality>'
        assert load_robot(tiny(tmp_path, extra=rope)).followers == ()
