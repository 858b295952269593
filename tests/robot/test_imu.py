"""An IMU on the base, and on a body that is fixed to it."""

import mujoco
import numpy as np
import pytest
from support.models import edited

from surefoot.errors import RobotError
from surefoot.logs.doctor.legs import Legs
from surefoot.robot.guess import starter_yaml
from surefoot.robot.imu import imu_rotation
from surefoot.sim import Worlds


def mounted(folder, robot, **keys):
    """The robot with an IMU on a tray on a post, both turned, and a site on a leg that is none."""

    def mount(spec: mujoco.MjSpec) -> None:
        for site in list(spec.body(robot.base).sites):
            spec.delete(site)
        post = spec.body(robot.base).add_body(name="post", pos=[0.05, 0, 0.1], euler=[0.3, 0.0, 0.5])
        tray = post.add_body(name="tray", pos=[0, 0, 0.02], euler=[0.0, -0.4, 0.1])
        tray.add_geom(size=[0.01, 0, 0], mass=0.01, contype=0, conaffinity=0)
        tray.add_site(name="imu_on_tray", euler=[0.0, 0.2, 1.0])
        spec.joint(robot.contract.joints[-1]).parent.add_site(name="imu_on_leg")

    return edited(folder, robot, mount, **{"imu": "imu_on_tray"} | keys)


def test_the_readings_of_an_imu_on_a_fixed_body_are_in_its_frame(robot, tmp_path) -> None:
    other = mounted(tmp_path / "other", robot)
    worlds = Worlds(other, 1)
    worlds.reset(base_quaternion=[[0.9, 0.1, 0.3, -0.2]], base_velocity=[[0, 0, 0, 0.5, -0.3, 0.2]])
    model, data = worlds.model, worlds.data_of(0)
    mujoco.mj_forward(model, data)
    site, velocity = model.site("imu_on_tray").id, np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, velocity, 1)
    np.testing.assert_allclose(worlds.sensors.gyro_rad_s[0], velocity[:3], atol=1e-12)
    np.testing.assert_allclose(worlds.sensors.gravity[0], -data.site_xmat[site].reshape(3, 3)[2], atol=1e-12)
    turned = data.body(other.base).xmat.reshape(3, 3).T @ data.site_xmat[site].reshape(3, 3)
    np.testing.assert_allclose(imu_rotation(model, "imu_on_tray", other.base), turned, atol=1e-12)
    np.testing.assert_allclose(Legs(other).imu_rotation, turned, atol=1e-12)


def test_a_starter_finds_it(robot, tmp_path) -> None:
    other = mounted(tmp_path / "other", robot)
    assert "imu: imu_on_tray  # GUESS: a site on the base, or fixed to it" in starter_yaml(other.model_path)


def test_a_site_that_a_joint_moves_is_refused_with_the_joint(robot, tmp_path) -> None:
    with pytest.raises(RobotError, match=rf"'imu_on_leg' is on .*'{robot.contract.joints[-1]}' moves against the base"):
        mounted(tmp_path / "other", robot, imu="imu_on_leg")
    with pytest.raises(RobotError, match=r"or on a body that is fixed to it \(did you mean"):
        mounted(tmp_path / "other", robot, imu="imu_on_tra")
