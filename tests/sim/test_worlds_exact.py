"""`Worlds` against a plain loop over one MjData, to the last bit, for each part of the chain."""

import mujoco
import numpy as np
import pytest
from support.plain import Plain

from surefoot.sim import HeightField, Worlds
from surefoot.sim.sensing import gravity_in_base

TICKS = 15


def actions_for(robot, seed=0, ticks=TICKS):
    return np.random.default_rng(seed).normal(0, 0.6, (ticks, robot.contract.n_joints))


def compare(worlds: Worlds, plain: Plain, world=1, seed=0, ticks=TICKS):
    """Both run the same actions; the chosen world must end in the plain loop's state, bit for bit."""
    actions = actions_for(plain.robot, seed, ticks)
    worlds.reset()
    plain.start()
    for action in actions:
        worlds.step(np.tile(action, (worlds.n, 1)))
        plain.step(action)
        data = worlds.data_of(world)
        np.testing.assert_array_equal(data.qpos, plain.data.qpos)
        np.testing.assert_array_equal(data.qvel, plain.data.qvel)
    assert worlds.alive.all()
    assert np.abs(plain.data.qvel).max() > 1e-3  # it did move


def varied(robot, low, high):
    """Three worlds' values; world 1 is the one compared, its neighbours differ."""
    return np.random.default_rng(5).uniform(low, high, (3, robot.contract.n_joints))


def test_nominal(robot):
    compare(Worlds(robot, 3), Plain(robot))


def test_one_kilohertz(robot):
    compare(Worlds(robot, 3, physics_hz=1000), Plain(robot, physics_hz=1000))
    assert Worlds(robot, 1, physics_hz=1000).physics_dt_s == 0.001


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("armature_kgm2", "dof_armature", 0.01, 0.05),
        ("dry_friction_nm", "dof_frictionloss", 0.1, 0.6),
        ("viscous_friction_nms", "dof_damping", 0.05, 0.4),
    ],
)
def test_joint_fields(robot, name, field, low, high):
    values = varied(robot, low, high)
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set(name, values)
    getattr(plain.model, field)[plain.v] = values[1]
    compare(worlds, plain)


def test_spring(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    joint = robot.contract.joints[2]
    worlds.set("spring_stiffness_nm_per_rad", {joint: 4.0})
    worlds.set("spring_rest_rad", {joint: -0.7})
    plain.model.jnt_stiffness[plain.model.joint(joint).id] = 4.0
    plain.model.qpos_spring[plain.model.joint(joint).qposadr] = -0.7
    compare(worlds, plain)


def test_gains_limits_and_strength(robot):
    contract = robot.contract
    kp, kd = varied(robot, 0.7, 1.2) * contract.kp_nm_per_rad, varied(robot, 0.7, 1.2) * contract.kd_nms_per_rad
    limit, strength = varied(robot, 0.1, 0.3) * contract.torque_limit_nm, varied(robot, 0.8, 1.1)
    worlds, plain = Worlds(robot, 3), Plain(robot)
    for name, value in (
        ("kp_nm_per_rad", kp),
        ("kd_nms_per_rad", kd),
        ("torque_limit_nm", limit),
        ("motor_strength", strength),
    ):
        worlds.set(name, value)
    s = strength[1]
    plain.model.actuator_gainprm[:, 0] = s * kp[1]
    plain.model.actuator_biasprm[:, 1] = -s * kp[1]
    plain.model.actuator_biasprm[:, 2] = -s * kd[1]
    plain.model.actuator_forcerange[:] = np.stack([-s * limit[1], s * limit[1]], axis=1)
    compare(worlds, plain)
    assert (np.abs(worlds.torque_nm) <= strength * limit + 1e-12).all()


@pytest.mark.parametrize("delay_s", [0.0005, 0.002, 0.005, 0.006, 0.0195, 0.02, 0.033, 0.047])
def test_delay(robot, delay_s):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("delay_s", np.array([[0.011], [delay_s], [0.0]]))
    steps = delay_s * robot.physics_hz
    plain.delay_steps = round(steps) if abs(steps - round(steps)) < 1e-9 else delay_s / worlds.physics_dt_s
    compare(worlds, plain)


def test_delay_per_joint(robot):
    delay = np.array([0.002, 0.005] * robot.contract.n_joints)[: robot.contract.n_joints]
    worlds = Worlds(robot, 2)
    worlds.set("delay_s", delay)
    worlds.reset()
    line = worlds._motors.line
    worlds.step(np.ones((2, robot.contract.n_joints)))
    seen = (line.sequence()[0] - robot.contract.pose_rad) / robot.contract.action_scale_rad
    np.testing.assert_allclose(seen[:4, 0], [0, 1, 1, 1])  # 2 ms: one step of 2 ms
    np.testing.assert_allclose(seen[:4, 1], [0, 0, 0.5, 1], atol=1e-12)  # 5 ms: two steps and a half


@pytest.mark.parametrize("delay_s", [0.002, 0.0033, 0.006, 0.015])
def test_delay_equals_the_buffer_of_mujoco(go2, delay_s):
    """From one time step on, our delay is MuJoCo's own buffer with linear interpolation, filled with the start pose."""
    worlds, plain = Worlds(go2, 2), Plain(go2)
    worlds.set("delay_s", delay_s)
    worlds.reset()
    spec = go2.spec()
    spec.option.timestep = 0.002
    from surefoot.sim.floor import Flat, add_floor

    add_floor(spec, Flat())
    for i, joint in enumerate(go2.contract.joints):
        motor = spec.add_actuator(name=f"m{i}", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=go2.contract.kp_nm_per_rad[i], kv=go2.contract.kd_nms_per_rad[i])
        motor.forcelimited, motor.forcerange = True, [-go2.contract.torque_limit_nm[i], go2.contract.torque_limit_nm[i]]
        motor.nsample, motor.delay, motor.interp = 16, delay_s, 1
    plain.model = spec.compile()
    plain.start()
    times = np.arange(-16, 0) * 0.002
    for i in range(go2.contract.n_joints):
        mujoco.mj_initCtrlHistory(plain.model, plain.data, i, times, np.full(16, go2.contract.pose_rad[i]))
    for action in actions_for(go2, ticks=10):
        worlds.step(np.tile(action, (2, 1)))
        plain.step(action)
    np.testing.assert_allclose(worlds.data_of(0).qpos, plain.data.qpos, atol=1e-9)


def test_action_scale_offset_and_encoder_bias(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    scale, offset, bias = varied(robot, 0.1, 0.3), varied(robot, -0.05, 0.05), varied(robot, -0.02, 0.02)
    worlds.set("action_scale_rad", scale)
    worlds.set("action_offset_rad", offset)
    worlds.set("encoder_bias_rad", bias)
    plain.scale, plain.offset = scale[1], np.array(robot.contract.pose_rad) + offset[1] - bias[1]
    compare(worlds, plain)
    np.testing.assert_allclose(worlds.sensors.joint_position_rad, worlds.joint_position_rad + bias, atol=1e-15)


def test_action_delta(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.action_delta = lambda sensors, action: 0.03 * sensors.joint_velocity_rad_s - 0.1 * action
    actions = actions_for(robot)
    plain.start()
    for action in actions:
        worlds.step(np.tile(action, (3, 1)))
        plain.step(action + (0.03 * plain.data.qvel[plain.v] - 0.1 * action))
    np.testing.assert_array_equal(worlds.data_of(1).qpos, plain.data.qpos)


def test_residual_torque_sees_the_delayed_error(robot):
    def spring(error, position, velocity):
        return 2.0 * np.tanh(3 * error) - 0.5 * position - 0.02 * velocity

    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("delay_s", 0.005)
    worlds.residual = plain.residual = spring
    plain.delay_steps = 0.005 / 0.002
    compare(worlds, plain)


def test_backlash(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("backlash_rad", 0.03)
    plain.backlash = 0.03
    compare(worlds, plain)
    assert (worlds.sensors.joint_velocity_rad_s == 0).any()  # motors at rest inside their play
    lead = worlds.joint_position_rad - worlds.sensors.joint_position_rad
    assert np.abs(lead).max() <= 0.015 + 1e-12
    assert np.abs(lead).max() > 0.001


def test_torque_speed_limit_and_battery(robot):
    contract = robot.contract
    stall, no_load = 1.2 * np.array(contract.torque_limit_nm), np.full(contract.n_joints, 4.0)
    worlds, plain = Worlds(robot, 3, torque_speed=True), Plain(robot, torque_speed=True)
    worlds.set("stall_torque_nm", stall)
    worlds.set("no_load_speed_rad_s", no_load)
    worlds.set("battery_level", 0.8)
    plain.model.actuator_gainprm[:, 0] = no_load / stall
    plain.model.actuator_gainprm[:, 7] = no_load * 0.8
    compare(worlds, plain)


def test_torque_speed_curve_is_the_stated_one(go2):
    """At speed w a motor gives at most stall · (level - w / no_load), and never more than its torque limit."""
    worlds = Worlds(go2, 40, torque_speed=True)
    worlds.set("stall_torque_nm", 30.0)
    worlds.set("no_load_speed_rad_s", 20.0)
    worlds.set("battery_level", 0.9)
    worlds.set("torque_limit_nm", 22.0)
    speed = np.linspace(-30, 30, 40)
    for world, w in enumerate(speed):
        model, data = worlds.model_of(world), worlds.data_of(world)
        data.qvel[6:] = w
        data.ctrl[:] = 100.0  # a position error that asks for all there is
        mujoco.mj_forward(model, data)
        expected = np.clip(30.0 * (0.9 - w / 20.0), -22.0, 22.0)
        np.testing.assert_allclose(data.actuator_force, expected, atol=1e-9)


def test_battery_sags_under_load(robot):
    worlds, plain = Worlds(robot, 3, torque_speed=True), Plain(robot, torque_speed=True)
    stall, no_load = 1.2 * np.array(robot.contract.torque_limit_nm), np.full(robot.contract.n_joints, 6.0)
    worlds.set("stall_torque_nm", stall)
    worlds.set("no_load_speed_rad_s", no_load)
    worlds.set("battery_sag_per_kw", 2.0)
    plain.model.actuator_gainprm[:, 0] = no_load / stall

    def sag(twin):
        power = np.maximum(twin.data.actuator_force * twin.data.qvel[twin.v], 0.0).sum() / 1000.0
        twin.model.actuator_gainprm[:, 7] = no_load * max(1.0 - 2.0 * power, 0.1)

    plain.before_tick = sag
    compare(worlds, plain)


def test_heat_takes_torque(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("start_temperature_c", 60.0)
    worlds.set("thermal_rise_c_per_nm2", 30.0)
    worlds.set("thermal_time_s", 2.0)
    worlds.set("derate_start_c", 50.0)
    worlds.set("derate_per_c", 0.01)
    contract, dt = robot.contract, robot.contract.control_dt_s
    kp, kd, limit = (
        np.array(getattr(contract, name)) for name in ("kp_nm_per_rad", "kd_nms_per_rad", "torque_limit_nm")
    )
    plain.temperature = np.full(contract.n_joints, 60.0)

    def heat(twin):
        goal = 25.0 + 30.0 * twin.data.actuator_force**2
        twin.temperature += (goal - twin.temperature) * -np.expm1(-dt / 2.0)
        share = 1.0 - np.minimum(0.01 * np.maximum(twin.temperature - 50.0, 0.0), 0.9)
        twin.model.actuator_gainprm[:, 0] = share * kp
        twin.model.actuator_biasprm[:, 1] = -(share * kp)
        twin.model.actuator_biasprm[:, 2] = -(share * kd)
        twin.model.actuator_forcerange[:] = np.stack([-(share * limit), share * limit], axis=1)

    plain.before_tick = heat
    compare(worlds, plain)
    np.testing.assert_array_equal(worlds.temperature_c[1], plain.temperature)
    assert worlds.temperature_c.max() > 61.0


def test_masses_and_centre_of_mass(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    base = plain.model.body(robot.base).id
    masses = np.random.default_rng(1).uniform(0.8, 1.2, (3, plain.model.nbody - 1)) * plain.model.body_mass[1:]
    worlds.set("link_mass_kg", masses)
    worlds.set("base_com_offset_m", [0.02, -0.01, 0.005])
    scale = masses[1] / plain.model.body_mass[1:]
    plain.model.body_inertia[1:] *= scale[:, None]
    plain.model.body_mass[1:] = masses[1]
    plain.model.body_ipos[base] = plain.model.body_ipos[base] + [0.02, -0.01, 0.005]
    compare(worlds, plain)


def test_base_mass(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    base = plain.model.body(robot.base).id
    worlds.set("base_mass_kg", 2.0 * plain.model.body_mass[base])
    plain.model.body_mass[base] *= 2.0
    plain.model.body_inertia[base] *= 2.0
    compare(worlds, plain)


def test_floor_friction_is_the_friction_of_the_contact(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("floor_friction", [0.3, 0.2, 0.9])
    plain.model.geom_friction[plain.model.geom("surefoot_floor").id, 0] = 0.2
    compare(worlds, plain)
    model, data = worlds.model_of(1), worlds.data_of(1)
    mujoco.mj_forward(model, data)
    assert data.ncon > 0
    assert all(contact.friction[0] == 0.2 for contact in data.contact)


def test_height_field(robot):
    rng = np.random.default_rng(0)
    floor = HeightField(rng.uniform(0, 0.02, (40, 40)), length_m=4, width_m=4)
    worlds, plain = Worlds(robot, 3, floor=floor), Plain(robot, floor=floor)
    plain.height = worlds.base_position_m[0, 2]
    assert robot.base_height_m < plain.height <= robot.base_height_m + 0.02
    compare(worlds, plain)


def test_push_and_kick(robot):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    base = plain.model.body(robot.base).id
    free = int(plain.model.body(robot.base).dofadr[0])
    actions = actions_for(robot, ticks=10)
    plain.start()
    for k, action in enumerate(actions):
        if k == 2:
            worlds.push([5.0, 3.0, 0.0], duration_s=3 * worlds.control_dt_s, ids=np.array([1]))
            plain.data.xfrc_applied[base, :3] = [5.0, 3.0, 0.0]
        if k == 5:
            plain.data.xfrc_applied[base, :3] = 0.0
        if k == 7:
            worlds.kick([0.3, 0, 0, 0, 0, 0.2], ids=np.array([1]))
            plain.data.qvel[free : free + 6] += [0.3, 0, 0, 0, 0, 0.2]
        worlds.step(np.tile(action, (3, 1)))
        plain.step(action)
    np.testing.assert_array_equal(worlds.data_of(1).qpos, plain.data.qpos)
    assert not np.array_equal(worlds.data_of(0).qpos, plain.data.qpos)


@pytest.mark.parametrize("delay_s", [0.002, 0.0033, 0.02, 0.031])
def test_observation_delay(robot, delay_s):
    worlds, plain = Worlds(robot, 3), Plain(robot)
    worlds.set("observation_delay_s", [0.004, delay_s, 0.0])
    worlds.reset()
    plain.start()
    for action in actions_for(robot):
        worlds.step(np.tile(action, (3, 1)))
        plain.step(action)
        age = delay_s / worlds.physics_dt_s
        age = round(age) if abs(age - round(age)) < 1e-9 else age
        newer, older = (plain.states[max(len(plain.states) - 1 - int(age) - extra, 0)] for extra in (0, 1))
        f = age - int(age)
        for part, index, field in ((0, plain.q, "joint_position_rad"), (1, plain.v, "joint_velocity_rad_s")):
            expected = newer[part][index] + f * (older[part][index] - newer[part][index])
            np.testing.assert_array_equal(getattr(worlds.sensors, field)[1], expected)
        np.testing.assert_array_equal(worlds.data_of(1).qpos, plain.data.qpos)
    np.testing.assert_array_equal(worlds.sensors.joint_position_rad[2], worlds.joint_position_rad[2])


def test_sensors_are_current_and_in_the_imu_frame(robot):
    """Gyro and gravity against MuJoCo's own sensors at the same state."""
    worlds = Worlds(robot, 2)
    for action in actions_for(robot):
        worlds.step(np.tile(action, (2, 1)))
    model, data = worlds.model, worlds.data_of(0)
    mujoco.mj_forward(model, data)
    site = model.site(robot.imu).id
    rotation = data.site_xmat[site].reshape(3, 3)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, velocity, 1)
    np.testing.assert_allclose(worlds.sensors.gyro_rad_s[0], velocity[:3], atol=1e-12)
    np.testing.assert_allclose(worlds.sensors.gravity[0], -rotation[2], atol=1e-12)
    np.testing.assert_allclose(gravity_in_base(np.array([1.0, 0, 0, 0])), [0, 0, -1])
