import dataclasses

import mujoco
import numpy as np
import pytest
from support.robot_files import HEXAPOD
from support.walks import POLICIES
from support.worlds import changed_go2

from surefoot.errors import PolicyError
from surefoot.policy import LegOdometry, make_agent
from surefoot.robot import Sensors, load_robot
from surefoot.robot.load import foot_geoms, joint_addresses
from surefoot.sim import Worlds

NOISE = {"encoder_noise_rad": 0.001, "velocity_noise_rad_s": 0.05, "gyro_noise_rad_s": 0.01, "gravity_noise": 0.005}
LEVEL = np.array([0.0, 0.0, -1.0])


def standing(robot, velocity, turning=(0, 0, 0), down=LEVEL, swing=(), random=None):
    """Sensors of a robot in its default pose, whose base moves like this over feet that stand; `swing` feet do not.

    MuJoCo's Jacobian at the lowest point of each (round) foot says how fast the joints turn.
    """
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    qpos, dofs = joint_addresses(model, robot.contract.joints)
    data.qpos[qpos] = robot.contract.pose_rad
    start = model.jnt_qposadr[model.body(robot.base).jntadr[0]]
    data.qpos[start : start + 7] = (0, 0, 0, 1, 0, 0, 0)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    speeds = np.zeros(len(dofs))
    for foot in robot.feet:
        (geom,) = foot_geoms(model, foot)
        point = data.geom_xpos[geom] + model.geom_size[geom, 0] * np.asarray(down)
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, point, model.geom_bodyid[geom])
        wanted = -(np.asarray(velocity) + np.cross(turning, point))
        if foot in swing:
            wanted = wanted + random.normal(0, 1.0, 3)
        speeds += np.linalg.pinv(jacobian[:, dofs], rcond=1e-6) @ wanted
    row = (np.array(robot.contract.pose_rad), speeds, np.asarray(turning, float), np.asarray(down, float))
    return Sensors(np.zeros(1), *(values[None] for values in row))


def after(odometry, sensors, ticks=40):
    for _ in range(ticks):
        velocity = odometry.update(sensors)
    return velocity[0]


def base_velocity(worlds):
    """The truth, in the axes of the base."""
    rotated = np.zeros(3)
    rows = []
    for velocity, quaternion in zip(worlds.base_velocity[:, :3], worlds.base_quaternion, strict=True):
        back = np.zeros(4)
        mujoco.mju_negQuat(back, quaternion)
        mujoco.mju_rotVecQuat(rotated, velocity, back)
        rows.append(rotated.copy())
    return np.array(rows)


def walk(robot, odometry, n, seconds=3.0, seed=0, noise=NOISE, skip_s=0.5):
    """Estimates and truth of a walk under random commands, each (ticks, n, 3), and what zero would miss."""
    contract = robot.contract
    worlds, agent = Worlds(robot, n, seed=seed, threads=1), make_agent(POLICIES[robot.name], robot, n)
    for name, value in noise.items():
        worlds.set(name, value)
    worlds.reset()
    low, high = np.array(contract.command_range).T
    command = np.random.default_rng(seed).uniform(low, high, (n, 3))
    estimates, truth = [], []
    for _ in range(round(seconds * contract.control_hz)):
        worlds.step(agent.act(worlds.sensors, command))
        estimates.append(odometry.update(worlds.sensors))
        truth.append(base_velocity(worlds))
    skip = round(skip_s * contract.control_hz)
    return np.array(estimates)[skip:], np.array(truth)[skip:]


def rms(error):
    return float(np.sqrt((error**2).sum(axis=-1).mean()))


def test_feet_that_stand_tell_how_the_base_moves(robot):
    velocity, turning = np.array([0.3, -0.2, 0.0]), np.array([0.2, -0.3, 0.5])
    estimate = after(LegOdometry(robot, 1), standing(robot, velocity, turning))
    assert estimate[:2] == pytest.approx(velocity[:2], abs=0.01)
    assert abs(estimate[2]) < 0.01


def test_a_fall_along_gravity_is_seen_and_held_back(robot):
    """The filter expects little motion along gravity; what the feet say there still counts."""
    speed = -0.1 * np.sqrt(LegOdometry(robot, 1)._feet.leg_m / 0.3)
    estimate = after(LegOdometry(robot, 1), standing(robot, [0, 0, speed]))
    assert 1.1 * speed < estimate[2] < 0.6 * speed


def test_feet_that_swing_do_not_count(robot, random):
    swing = robot.feet[::2]
    velocity = np.array([0.25, 0.1, 0.0])
    odometry = LegOdometry(robot, 1)
    for _ in range(30):
        estimate = odometry.update(standing(robot, velocity, swing=swing, random=random))[0]
    assert estimate == pytest.approx(velocity, abs=0.03)
    assert (odometry.stands[0, 1::2] > 0.9).all()
    assert (odometry.stands[0, ::2] < 0.5).sum() >= len(swing) - 1  # a random foot may agree for a tick


def test_the_base_may_stand_upright(robot):
    """A quadruped on its hind legs: gravity points along the base's x axis, and the filter follows."""
    down = np.array([-1.0, 0.0, 0.0])
    velocity = np.array([0.0, 0.2, -0.3])
    assert after(LegOdometry(robot, 1), standing(robot, velocity, down=down)) == pytest.approx(velocity, abs=0.01)


def test_a_turned_imu_gives_the_same_velocity(go2, tmp_path):
    site = '<site name="imu" pos="-0.02557 0 0.04232"'
    turned = changed_go2(go2, tmp_path / "turned", (site, f'{site} quat="0.5 -0.5 0.5 0.5"'))
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.array([0.5, -0.5, 0.5, 0.5]))
    sensors = standing(go2, [0.3, 0.2, 0.0], [0.1, 0.2, 0.3])
    into_imu = matrix.reshape(3, 3).T
    other = dataclasses.replace(
        sensors, gyro_rad_s=sensors.gyro_rad_s @ into_imu.T, gravity=sensors.gravity @ into_imu.T
    )
    assert after(LegOdometry(turned, 1), other) == pytest.approx(after(LegOdometry(go2, 1), sensors), abs=1e-12)


def test_a_push_is_followed_within_a_few_ticks(robot):
    odometry = LegOdometry(robot, 1)
    after(odometry, standing(robot, [0.3, 0.0, 0.0]))
    pushed = after(odometry, standing(robot, [0.3, 0.6, 0.0]), ticks=5)
    assert pushed == pytest.approx([0.3, 0.6, 0.0], abs=0.03)


def test_contacts_say_which_feet_stand(robot, random):
    """All feet but two are carried along and agree with each other; only contacts can tell."""
    stands = np.zeros((1, len(robot.feet)), bool)
    stands[0, :2] = True
    still, carried = standing(robot, [0.2, 0.0, 0.0]), standing(robot, [-0.2, 0.1, 0.0])
    model = robot.spec().compile()
    own = [_leg_joints(model, robot, foot) for foot in robot.feet[:2]]
    speeds = carried.joint_velocity_rad_s.copy()
    for joints in own:
        speeds[:, joints] = still.joint_velocity_rad_s[:, joints]
    mixed = dataclasses.replace(still, joint_velocity_rad_s=speeds)
    odometry = LegOdometry(robot, 1)
    for _ in range(20):
        told = odometry.update(mixed, foot_contact=stands)
    assert told[0] == pytest.approx([0.2, 0.0, 0.0], abs=0.01)
    assert (odometry.stands[0, 2:] < 1e-9).all()


def test_without_any_contact_the_last_velocity_stays(robot):
    odometry = LegOdometry(robot, 1)
    before = after(odometry, standing(robot, [0.3, 0.0, 0.0]))
    air = standing(robot, [-1.0, 0.0, 0.0])
    for _ in range(5):
        flying = odometry.update(air, foot_contact=np.zeros((1, len(robot.feet)), bool))
    assert flying[0] == pytest.approx(before, abs=1e-3)


def test_a_walk_is_estimated_far_better_than_without_it(robot):
    n = 6
    estimate, truth = walk(robot, LegOdometry(robot, n), n)
    flat = np.s_[..., :2]
    assert rms((estimate - truth)[flat]) < 0.06
    assert rms((estimate - truth)[flat]) < 0.4 * rms(truth[flat])
    gain = (estimate * truth)[flat].sum() / (truth**2)[flat].sum()
    assert gain == pytest.approx(1.0, abs=0.06)  # 0.92 on a Go2 where the radius of the feet is left out


def test_noisy_joint_velocities_need_to_be_announced(go2):
    n, noise = 6, {**NOISE, "velocity_noise_rad_s": 0.5}
    silent, truth = walk(go2, LegOdometry(go2, n), n, noise=noise)
    told, same = walk(go2, LegOdometry(go2, n, velocity_noise_rad_s=0.5), n, noise=noise)
    assert np.array_equal(truth, same)
    assert rms(told - truth) < rms(silent - truth)
    assert rms((told - truth)[..., :2]) < 0.15


@pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf")])
def test_a_noise_that_is_none_is_refused(go2, noise):
    with pytest.raises(PolicyError, match="velocity_noise_rad_s"):
        LegOdometry(go2, 1, velocity_noise_rad_s=noise)


def test_a_robot_gets_the_same_bits_alone_and_beside_others(robot):
    n, ticks = 19, 25
    worlds, agent = Worlds(robot, n, threads=1), make_agent(POLICIES[robot.name], robot, n)
    command = np.random.default_rng(3).uniform(-0.3, 0.3, (n, 3))
    together, rows = LegOdometry(robot, n), (0, 7, 18)
    alone = [LegOdometry(robot, 1) for _ in rows]
    pair = LegOdometry(robot, 2)
    for _ in range(ticks):
        worlds.step(agent.act(worlds.sensors, command))
        estimate = together.update(worlds.sensors)
        for row, odometry in zip(rows, alone, strict=True):
            assert np.array_equal(odometry.update(_rows(worlds.sensors, [row]))[0], estimate[row])
        assert np.array_equal(pair.update(_rows(worlds.sensors, [18, 3])), estimate[[18, 3]])


def test_a_reset_forgets_some_robots_and_leaves_the_others():
    hexapod = load_robot(HEXAPOD)
    moving, still = standing(hexapod, [0.2, 0.1, 0.0]), standing(hexapod, [0.0, 0.0, 0.0])
    both = Sensors(*(np.concatenate(pair) for pair in zip(_fields(moving), _fields(still), strict=True)))
    odometry, kept, new = LegOdometry(hexapod, 2), LegOdometry(hexapod, 2), LegOdometry(hexapod, 2)
    for _ in range(10):
        odometry.update(both)
        kept.update(both)
    odometry.reset(np.array([0]))
    first = odometry.update(both)
    assert np.array_equal(first[0], new.update(both)[0])
    assert np.array_equal(first[1], kept.update(both)[1])
    odometry.reset()
    assert np.array_equal(odometry.update(both), LegOdometry(hexapod, 2).update(both))


def test_a_broken_sensor_spoils_its_own_robot_only(go2):
    good = standing(go2, [0.3, 0.0, 0.0])
    both = Sensors(*(np.repeat(values, 2, axis=0) for values in _fields(good)))
    both.joint_velocity_rad_s[1, 4] = np.nan
    odometry, single = LegOdometry(go2, 2), LegOdometry(go2, 1)
    for _ in range(5):
        estimate, wanted = odometry.update(both), single.update(good)
    assert np.array_equal(estimate[0], wanted[0])
    odometry.reset(np.array([1]))
    both.joint_velocity_rad_s[1] = both.joint_velocity_rad_s[0]
    assert np.isfinite(odometry.update(both)).all()


def _leg_joints(model, robot, foot):
    body, joints = int(model.geom_bodyid[foot_geoms(model, foot)[0]]), []
    while body and model.body(body).name != robot.base:
        joints.append(robot.contract.joints.index(model.joint(model.body_jntadr[body]).name))
        body = int(model.body_parentid[body])
    return joints


def _fields(sensors):
    return list(sensors.readings().values())


def _rows(sensors, rows):
    return Sensors(*(values[rows] for values in _fields(sensors)))
