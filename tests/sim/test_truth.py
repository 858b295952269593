"""The height of the trunk, wherever the frame of the base lies."""

import mujoco
import numpy as np
import pytest
from support.models import reframed

from surefoot.policy.agents import make_agent
from surefoot.robot import Posture
from surefoot.sim import Worlds
from surefoot.sim.probes import FallProbe
from surefoot.sim.walk import Script, walk


def test_the_trunk_of_an_ordinary_frame_is_the_base_to_the_last_bit(robot) -> None:
    worlds = Worlds(robot, 2)
    worlds.reset(base_quaternion=np.array([[1, 0, 0, 0], [0.9, 0.1, 0.3, 0.2]]))
    worlds.step(np.full((2, robot.contract.n_joints), 0.3))
    assert robot.trunk_m == (0.0, 0.0, 0.0)
    assert robot.trunk_height_m == robot.base_height_m
    np.testing.assert_array_equal(worlds.trunk_height_m, worlds.base_position_m[:, 2])


@pytest.mark.parametrize("origin_m", [0.01, -0.1, 1.0], ids=["at the feet", "below the floor", "above the robot"])
def test_a_frame_elsewhere_moves_nothing_and_the_trunk_is_the_centre_of_mass(robot, tmp_path, origin_m) -> None:
    other = reframed(tmp_path / "other", robot, up_m=origin_m - robot.base_height_m, ahead_m=0.05)
    assert other.base_height_m == pytest.approx(origin_m, abs=1e-5)
    ordinary, worlds = Worlds(robot, 1), Worlds(other, 1)
    lean = np.array([[0.98, 0.05, 0.15, 0.1]])
    worlds.reset(base_quaternion=lean)
    data = worlds.data_of(0)
    centre = _centre_of_mass(worlds, data)[2]
    assert worlds.trunk_height_m[0] == pytest.approx(centre, abs=1e-9)
    worlds.reset()
    assert worlds.trunk_height_m[0] == pytest.approx(other.trunk_height_m, abs=1e-9)
    for _ in range(10):
        for one in (ordinary, worlds):
            one.step(np.zeros((1, robot.contract.n_joints)))
    np.testing.assert_allclose(worlds.joint_position_rad, ordinary.joint_position_rad, atol=2e-3)


def test_a_robot_with_its_frame_at_the_floor_stands_and_falls_as_any_other(robot, tmp_path) -> None:
    other = reframed(tmp_path / "other", robot, up_m=-robot.base_height_m)
    worlds, probe = Worlds(other, 2), FallProbe(Posture("tall", height_m=other.trunk_height_m))
    folded = np.array([other.contract.position_limit_rad]).mean(axis=2)
    worlds.reset([1], joint_position_rad=folded, base_position_m=[[0, 0, -0.5 * other.trunk_height_m]])
    walk(worlds, make_agent("zero", other, 2), Script(np.zeros((1, 2, 3))), (probe,))
    assert probe.result().fell.tolist() == [False, True]


def _centre_of_mass(worlds, data) -> np.ndarray:
    mujoco.mj_kinematics(worlds.model, data)
    mujoco.mj_comPos(worlds.model, data)
    return data.subtree_com[worlds.scene.base_body]
