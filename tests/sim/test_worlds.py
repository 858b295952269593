"""What `Worlds` promises beyond physics: names and units, resets, randomness, and what happens when a world fails."""

import numpy as np
import pytest

from surefoot.errors import WorldsError
from surefoot.sim import PARAMETERS, Worlds


def run(worlds, ticks=10, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(ticks):
        worlds.step(np.tile(rng.normal(0, 0.6, worlds.robot.contract.n_joints), (worlds.n, 1)))
    s = worlds.sensors
    return np.concatenate([s.joint_position_rad, s.joint_velocity_rad_s, s.gyro_rad_s, s.gravity], axis=1)


# A value for each parameter that differs from nominal, and what else must be on for it to act.
DIFFERENT = {
    "armature_kgm2": 0.03,
    "dry_friction_nm": 0.5,
    "viscous_friction_nms": 0.5,
    "spring_stiffness_nm_per_rad": 5.0,
    "spring_rest_rad": -0.3,
    "kp_nm_per_rad": 15.0,
    "kd_nms_per_rad": 0.2,
    "torque_limit_nm": 0.5,
    "motor_strength": 0.8,
    "stall_torque_nm": 5.0,
    "no_load_speed_rad_s": 1.0,
    "backlash_rad": 0.05,
    "torque_noise_nm": 1.0,
    "start_temperature_c": 140.0,
    "ambient_temperature_c": 200.0,
    "thermal_rise_c_per_nm2": 900.0,
    "thermal_time_s": 0.1,
    "derate_start_c": 30.0,
    "derate_per_c": 0.05,
    "battery_level": 0.5,
    "battery_sag_per_kw": 20.0,
    "action_scale_rad": 0.1,
    "action_offset_rad": 0.05,
    "delay_s": 0.007,
    "encoder_noise_rad": 0.01,
    "encoder_bias_rad": 0.02,
    "velocity_noise_rad_s": 0.1,
    "gyro_noise_rad_s": 0.01,
    "gyro_drift_rad_s_per_sqrt_s": 0.1,
    "gravity_noise": 0.02,
    "observation_delay_s": 0.006,
    "base_mass_kg": 9.0,
    "base_com_offset_m": [0.03, 0.0, 0.0],
    "link_mass_kg": 0.6,
    "floor_friction": 0.05,
    "residual_constant_nm": 1.0,
    "residual_position_nm_per_rad": -5.0,
    "residual_velocity_nms": -0.5,
    "residual_direction_nm": -0.5,
    "residual_error_nm_per_rad": 5.0,
    "delta_position_rad_per_rad": 0.3,
    "delta_velocity_s": 0.02,
    "delta_error_rad_per_rad": 0.4,
}
ALONGSIDE = {
    "spring_rest_rad": {"spring_stiffness_nm_per_rad": 5.0},
    **{
        name: {"stall_torque_nm": 20.0, "no_load_speed_rad_s": 8.0}
        for name in ("stall_torque_nm", "no_load_speed_rad_s", "battery_level", "battery_sag_per_kw")
    },
    **{
        name: {"derate_per_c": 0.01, "thermal_rise_c_per_nm2": 300.0, "thermal_time_s": 0.5}
        for name in (
            "start_temperature_c",
            "ambient_temperature_c",
            "thermal_rise_c_per_nm2",
            "thermal_time_s",
            "derate_start_c",
            "derate_per_c",
        )
    },
}


@pytest.mark.parametrize("name", list(PARAMETERS))
def test_every_parameter_acts_in_its_world_only(robot, name):
    """A parameter that is silently not applied is the classic failure: each must change its world and no other."""
    needs_motor = bool({"stall_torque_nm", "battery_level"} & set(ALONGSIDE.get(name, {}))) or name == "battery_level"
    worlds = Worlds(robot, 3, torque_speed=needs_motor, noise_period=1)
    for other, value in ALONGSIDE.get(name, {}).items():
        worlds.set(other, value)
    worlds.set(name, DIFFERENT[name], ids=np.array([1]))
    worlds.reset()
    seen = run(worlds)
    if PARAMETERS[name].meaning.startswith("standard deviation") or name == "torque_noise_nm":
        assert (worlds.get(name)[0] == 0).all()
    np.testing.assert_array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[0], seen[1])


def test_set_takes_numbers_lists_patterns_and_arrays(go2):
    worlds = Worlds(go2, 2)
    nominal = worlds.get("armature_kgm2").copy()
    worlds.set("armature_kgm2", {"*_calf_joint": 0.04, "FL_calf_joint": 0.05})
    assert worlds.get("armature_kgm2")[1, 2] == 0.05
    assert worlds.get("armature_kgm2")[1, 5] == 0.04
    assert worlds.get("armature_kgm2")[1, 0] == nominal[1, 0]
    worlds.set("armature_kgm2", list(np.linspace(0.01, 0.02, 12)), ids=np.array([0]))
    assert worlds.get("armature_kgm2")[0, 11] == 0.02
    assert worlds.get("armature_kgm2")[1, 2] == 0.05
    worlds.set("floor_friction", [0.3, 0.7])
    np.testing.assert_array_equal(worlds.get("floor_friction"), [0.3, 0.7])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("armature", 0.1, "did you mean 'armature_kgm2'"),
        ("armature_kgm2", [0.1, 0.2], "12 numbers"),
        ("armature_kgm2", -0.1, "between 0 and 1e"),
        ("armature_kgm2", float("nan"), "must be finite"),
        ("armature_kgm2", {"*_knee": 0.1}, "matches none of"),
        ("delay_s", 3.0, "between 0 and 1"),
        ("floor_friction", {"x": 1}, "one value per world"),
        ("kp_nm_per_rad", "hard", "it takes one number"),
        ("battery_level", 0.9, "torque_speed=True"),
        ("torque_limit_nm", float("inf"), "must be finite"),
        ("torque_limit_nm", 1e300, "between 0 and 1e"),
        ("kp_nm_per_rad", "20", "has '20'; it takes one number"),
        ("kp_nm_per_rad", True, "has True; it takes one number"),
        ("kp_nm_per_rad", ["20"] * 12, "it takes one number"),
        ("kp_nm_per_rad", [[20, 20], [20]], "it takes one number"),
        ("kp_nm_per_rad", 10**400, "it takes one number"),
        ("floor_friction", 0.0, "between 0.001 and"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(go2, name, value, says):
    worlds = Worlds(go2, 2)
    with pytest.raises(WorldsError, match=says.replace("(", r"\(")):
        worlds.set(name, value)


def test_bad_calls_are_refused_with_a_sentence(go2):
    with pytest.raises(WorldsError, match="at least 1"):
        Worlds(go2, 0)
    with pytest.raises(WorldsError, match="the seed is -1"):
        Worlds(go2, 1, seed=-1)
    with pytest.raises(WorldsError, match="-2 threads"):
        Worlds(go2, 1, threads=-2)
    worlds = Worlds(go2, 2)
    with pytest.raises(WorldsError, match=r"must be \(2, 12\)"):
        worlds.step(np.zeros(12))
    with pytest.raises(WorldsError, match="world 7 does not exist"):
        worlds.reset(np.array([7]))


def test_a_partial_reset_equals_a_fresh_start(robot):
    worlds = Worlds(robot, 3)
    worlds.set("delay_s", 0.013)
    worlds.set("observation_delay_s", 0.007)
    run(worlds)
    worlds.reset(np.array([1]))
    fresh = Worlds(robot, 1)
    fresh.set("delay_s", 0.013)
    fresh.set("observation_delay_s", 0.007)
    fresh.reset()
    np.testing.assert_array_equal(run(worlds, seed=3)[1], run(fresh, seed=3)[0])


def test_reset_to_a_given_state(robot):
    worlds = Worlds(robot, 3)
    joints = np.array(robot.contract.pose_rad) + 0.05
    worlds.reset(
        np.array([0, 2]),
        joint_position_rad=np.tile(joints, (2, 1)),
        base_velocity=np.tile([1.0, 0, 0, 0, 0, 0.5], (2, 1)),
    )
    np.testing.assert_allclose(worlds.joint_position_rad[2], joints)
    np.testing.assert_allclose(worlds.base_velocity[0], [1, 0, 0, 0, 0, 0.5])
    np.testing.assert_allclose(worlds.base_velocity[1], 0)


def noisy(robot, n, **options):
    worlds = Worlds(robot, n, **options)
    worlds.set("torque_noise_nm", 0.5)
    worlds.set("encoder_noise_rad", 0.01)
    worlds.set("gyro_drift_rad_s_per_sqrt_s", 0.01)
    worlds.reset()
    return worlds


def test_randomness_comes_from_the_seed_alone(robot):
    first = run(noisy(robot, 8, seed=4, threads=1))
    np.testing.assert_array_equal(first, run(noisy(robot, 8, seed=4, threads=2)))
    assert not np.array_equal(first, run(noisy(robot, 8, seed=5)))
    assert len(np.unique(first[:, 0])) == 8


def test_common_random_numbers(robot):
    seen = run(noisy(robot, 6, noise_period=3))
    np.testing.assert_array_equal(seen[:3], seen[3:])
    assert not np.array_equal(seen[0], seen[1])


def test_noise_has_the_stated_size(go2):
    worlds = Worlds(go2, 4000)
    worlds.set("encoder_noise_rad", 0.02)
    worlds.set("gyro_noise_rad_s", 0.3)
    worlds.set("gravity_noise", 0.01)
    worlds.reset()
    error = worlds.sensors.joint_position_rad - worlds.joint_position_rad
    assert error.std() == pytest.approx(0.02, rel=0.02)
    assert worlds.sensors.gyro_rad_s.std() == pytest.approx(0.3, rel=0.03)
    assert worlds.sensors.gravity[:, 0].std() == pytest.approx(0.01, rel=0.05)
    np.testing.assert_allclose(np.linalg.norm(worlds.sensors.gravity, axis=1), 1)
    assert worlds._values.set("torque_noise_nm", 2.0, np.arange(4000)) is not None
    draw = worlds._draw_torque()
    assert draw.std() == pytest.approx(2.0, rel=0.01)
    assert abs(np.corrcoef(draw[:, 0, 0], draw[:, 1, 0])[0, 1]) < 0.06


def test_gyro_drift_grows_with_the_root_of_time(go2):
    worlds = Worlds(go2, 500)
    worlds.set("gyro_drift_rad_s_per_sqrt_s", 0.1)
    worlds.reset()
    for _ in range(50):
        worlds.step(np.zeros((500, 12)))
    drift = worlds.sensors.gyro_rad_s - worlds.base_velocity[:, 3:]
    assert drift.std() == pytest.approx(0.1, rel=0.1)  # after one second


def test_an_unstable_world_is_named_and_stopped_and_the_others_go_on(robot):
    worlds, alone = Worlds(robot, 4), Worlds(robot, 4)
    worlds.set("kp_nm_per_rad", 1e9, ids=np.array([2]))
    worlds.set("torque_limit_nm", 1e12, ids=np.array([2]))
    for w in (worlds, alone):
        w.reset()
    seen, expected = run(worlds), run(alone)
    assert [failure.world for failure in worlds.failures] == [2]
    assert "unstable" in worlds.failures[0].reason
    assert worlds.alive.tolist() == [True, True, False, True]
    assert np.isfinite(seen).all()
    assert np.isfinite(worlds.base_velocity).all()
    assert np.isfinite(worlds.torque_nm).all()
    np.testing.assert_array_equal(seen[[0, 1, 3]], expected[[0, 1, 3]])
    worlds.set("kp_nm_per_rad", robot.contract.kp_nm_per_rad)
    worlds.set("torque_limit_nm", robot.contract.torque_limit_nm)
    worlds.reset(np.array([2]))
    run(worlds)
    assert worlds.alive.all()


@pytest.mark.parametrize("part", ["residual", "delay_s", "observation_delay_s", "torque_noise_nm", "backlash_rad"])
def test_nothing_non_finite_leaves_worlds(robot, part):
    """Instability is caught on every path through the chain."""
    worlds = Worlds(robot, 3)
    if part == "residual":
        worlds.residual = lambda error, position, velocity: (
            np.where(np.arange(3)[:, None] == 1, np.nan, 0.0) + 0 * error
        )
    else:
        worlds.set(part, 0.004)
        worlds.set("torque_limit_nm", 1e14, ids=np.array([1]))
        worlds.set("kp_nm_per_rad", 1e12, ids=np.array([1]))
    worlds.reset()
    assert np.isfinite(run(worlds)).all()
    assert worlds.alive.tolist() == [True, False, True]


def test_a_non_finite_action_stops_its_world(robot):
    worlds = Worlds(robot, 2)
    action = np.zeros((2, robot.contract.n_joints))
    action[1, 0] = np.nan
    worlds.step(action)
    assert worlds.alive.tolist() == [True, False]
    assert "not finite" in worlds.failures[0].reason


def test_instability_leaves_no_file_behind(go2, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    worlds = Worlds(go2, 1)
    worlds.kick([1e11, 0, 0, 0, 0, 0])
    run(worlds, ticks=1)
    assert not worlds.alive.any()
    assert list(tmp_path.iterdir()) == []


def test_memory_is_flat_over_time(go2):
    """Resident memory after a warm-up must not grow with the number of steps."""
    import os

    def resident_kb():
        with open(f"/proc/{os.getpid()}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

    if not os.path.exists("/proc/self/statm"):
        return
    worlds = noisy(go2, 64)
    worlds.set("delay_s", 0.005)
    worlds.set("observation_delay_s", 0.003)
    action = np.zeros((64, 12))
    for _ in range(100):
        worlds.step(action)
    before = resident_kb()
    for _ in range(300):
        worlds.step(action)
    assert resident_kb() - before < 4000
