"""Edges of `Worlds`: one world must not change another, no path through the chain may hide a failure,
sensors never change physics.
"""

import ctypes

import mujoco
import numpy as np
import pytest
from support.worlds import changed_go2, step

from surefoot.errors import WorldsError
from surefoot.sim import HeightField, Worlds


def walk(worlds, ticks=8, seed=0):
    """The same random actions in all worlds."""
    rng = np.random.default_rng(seed)
    for _ in range(ticks):
        worlds.step(np.tile(rng.normal(0, 0.6, worlds.robot.contract.n_joints), (worlds.n, 1)))
    return worlds


def starved(go2, folder, memory):
    """A Go2 whose model leaves MuJoCo too little memory for its contacts."""
    return changed_go2(go2, folder, ("<compiler", f'<size memory="{memory}"/><compiler'))


class TestOneWorldAlone:
    def test_heat_of_one_world_leaves_the_others(self, go2):
        worlds, alone = Worlds(go2, 2), Worlds(go2, 2)
        for w in (worlds, alone):
            w.set("derate_per_c", 0.01)
            w.set("start_temperature_c", 140.0)
            w.set("thermal_time_s", 0.3)
        worlds.set("thermal_rise_c_per_nm2", 9.0, ids=[1])
        for w in (worlds, alone):
            w.reset()
            walk(w)
        np.testing.assert_array_equal(worlds.joint_position_rad[0], alone.joint_position_rad[0])
        np.testing.assert_array_equal(worlds.temperature_c[0], alone.temperature_c[0])
        assert worlds.temperature_c[1, 0] != alone.temperature_c[1, 0]

    @pytest.mark.parametrize("part", ["backlash_rad", "delay_s", "observation_delay_s", "action_offset_rad"])
    def test_a_world_in_which_mujoco_truly_raises(self, go2, tmp_path, part):
        """World 0 lies in the ground and needs memory that is not there; world 1 in the air must not notice."""
        robot = starved(go2, tmp_path / "r", "50K")
        worlds, alone = Worlds(robot, 2), Worlds(robot, 1)
        for w in (worlds, alone):
            w.set(part, 0.005)
        worlds.reset(base_position_m=[[0, 0, 0.05], [0, 0, 3.0]])
        alone.reset(base_position_m=[[0, 0, 3.0]])
        walk(worlds)
        walk(alone)
        assert [failure.world for failure in worlds.failures] == [0]
        assert "out of memory" in worlds.failures[0].reason
        assert "\n" not in worlds.failures[0].reason
        np.testing.assert_array_equal(worlds._qpos[1], alone._qpos[0])
        np.testing.assert_array_equal(worlds.sensors.joint_position_rad[1], alone.sensors.joint_position_rad[0])
        assert worlds.time_s[1] == pytest.approx(8 * go2.contract.control_dt_s)

    @pytest.mark.parametrize("part", ["backlash_rad", "delay_s", "observation_delay_s", "action_offset_rad"])
    def test_a_warning_stops_a_world_on_every_path(self, go2, tmp_path, part):
        """Without memory for any constraint, MuJoCo's step goes on and its rollout stops; both lack the floor."""
        worlds = Worlds(starved(go2, tmp_path / "r", "4K"), 1)
        worlds.set(part, 0.005)
        worlds.reset()
        step(worlds, 2)
        assert not worlds.alive[0]
        assert "CNSTRFULL" in worlds.failures[0].reason
        assert "memory" in worlds.failures[0].reason

    def test_masses_are_refreshed_where_they_changed(self, go2):
        worlds = Worlds(go2, 3)
        worlds.set("base_mass_kg", 9.0, ids=[2, 0])
        worlds.set("link_mass_kg", {"FL_calf": 0.3}, ids=[1])
        worlds.reset()
        for i in range(3):
            model = worlds.model_of(i)
            assert model.body_subtreemass[1] == pytest.approx(model.body_mass[1:].sum())
        base = worlds.names("link_mass_kg").index("trunk")
        np.testing.assert_array_equal(worlds.get("base_mass_kg"), worlds.get("link_mass_kg")[:, base])
        assert worlds.get("base_mass_kg")[[0, 2]].tolist() == [9.0, 9.0]

    def test_one_worlds_observation_delay_leaves_the_history_of_the_others(self, robot):
        """A delay longer than a control period: what is read next was seen before the change."""
        worlds, alone = Worlds(robot, 2), Worlds(robot, 2)
        for w in (worlds, alone):
            w.set("observation_delay_s", 0.05)
            w.reset()
            walk(w)
        worlds.set("observation_delay_s", 0.07, ids=[1])
        worlds.set("observation_delay_s", 0.0, ids=[1])
        for w in (worlds, alone):
            walk(w, 1, seed=1)
        np.testing.assert_array_equal(worlds.sensors.joint_position_rad[0], alone.sensors.joint_position_rad[0])
        assert not np.array_equal(worlds.sensors.joint_position_rad[1], alone.sensors.joint_position_rad[1])


class TestGround:
    FIELD = HeightField(np.random.default_rng(2).uniform(0, 1, (31, 21)), length_m=4.0, width_m=9.0)

    def test_around_is_never_below_what_lies_within_reach(self):
        rng, reach = np.random.default_rng(0), 0.5
        x, y = rng.uniform(-2, 2, 50), rng.uniform(-4.5, 4.5, 50)
        raised = self.FIELD.around(reach).height_at(x, y)
        for place in zip(x, y, raised, strict=True):
            near_x = np.clip(place[0] + np.linspace(-reach, reach, 41), -2, 2)
            near_y = np.clip(place[1] + np.linspace(-reach, reach, 41), -4.5, 4.5)
            within = self.FIELD.height_at(*(grid.ravel() for grid in np.meshgrid(near_x, near_y)))
            assert place[2] >= within.max()
        assert raised.max() <= self.FIELD.height_m.max()

    def test_rows_run_along_y_as_in_mujoco(self, go2):
        field = np.zeros((21, 41))
        field[:, 30:] = 0.4  # from x = 2 m on
        worlds = Worlds(go2, 3, floor=HeightField(field, length_m=8, width_m=8))
        worlds.reset([2, 0], base_position_m=[[3.0, 0, go2.base_height_m], [0, 3.0, go2.base_height_m]])
        np.testing.assert_allclose(worlds.base_position_m[:, 2], go2.base_height_m + np.array([0, 0, 0.4]))
        step(worlds, 20)
        np.testing.assert_allclose(worlds.base_position_m[:, 2], go2.base_height_m + np.array([0, 0, 0.4]), atol=0.05)

    def test_a_field_without_extent_is_refused(self, go2):
        with pytest.raises(WorldsError, match="above 0"):
            Worlds(go2, 1, floor=HeightField(np.zeros((3, 3)), 0, 1))


class TestRefusals:
    @pytest.mark.parametrize("hz", [float("nan"), float("inf"), 0, -50, "500"])
    def test_physics_hz(self, go2, hz):
        with pytest.raises(WorldsError, match="finite number above 0"):
            Worlds(go2, 1, physics_hz=hz)

    @pytest.mark.parametrize("option", [{"n": 2.5}, {"n": 1, "threads": 1.5}, {"n": 1, "seed": 0.5}])
    def test_whole_numbers(self, go2, option):
        with pytest.raises(WorldsError, match="whole number"):
            Worlds(go2, **option)

    def test_a_battery_in_a_world_without_a_torque_speed_limit(self, go2):
        worlds = Worlds(go2, 2, torque_speed=True)
        worlds.set("stall_torque_nm", 30.0, ids=[0])
        worlds.set("no_load_speed_rad_s", 20.0, ids=[0])
        worlds.set("battery_level", 0.8)
        with pytest.raises(WorldsError, match="of world 1"):
            step(worlds)
        worlds.set("battery_level", 1.0, ids=[1])
        step(worlds)

    def test_what_get_returned_cannot_be_written(self, go2):
        with pytest.raises(ValueError, match="read-only"):
            Worlds(go2, 1).get("kp_nm_per_rad")[:] = 1.0


def test_quaternions_are_normalized(go2):
    worlds = Worlds(go2, 1)
    worlds.reset(base_quaternion=[[0.5, 0.5, 0, 0]])  # a quarter turn about x, at 0.7 of its length
    np.testing.assert_allclose(worlds.sensors.gravity, [[0, -1, 0]], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(worlds.base_quaternion), 1.0)


def test_a_removed_residual_is_gone_at_once(go2):
    worlds = Worlds(go2, 1)
    worlds.residual = lambda error, position, velocity: 3.0 + 0 * error
    step(worlds)
    worlds.residual = None
    step(worlds)
    assert not worlds.data_of(0).qfrc_applied.any()


class TestFeetSensors:
    def test_they_change_nothing_else(self, robot):
        """Reading the feet after a reset computes torques; they must not heat a motor nor warm-start a solver."""
        seen = []
        for feet in (False, True):
            worlds = Worlds(robot, 3, feet=feet)
            worlds.set("thermal_rise_c_per_nm2", 30.0)
            worlds.set("thermal_time_s", 1.0)
            worlds.set("derate_start_c", 20.0)
            worlds.set("derate_per_c", 0.01)
            worlds.reset(joint_position_rad=np.array(robot.contract.pose_rad) + 0.1)
            assert not worlds.torque_nm.any()
            walk(worlds, 4)
            worlds.reset([1], joint_position_rad=np.array(robot.contract.pose_rad) - 0.1)
            seen.append(walk(worlds, 4)._qpos.copy())
        np.testing.assert_array_equal(*seen)

    def test_they_are_current_after_a_partial_reset(self, robot):
        worlds = walk(Worlds(robot, 3, feet=True))
        before = worlds.foot_position_m[[0, 2]].copy()
        worlds.reset([1], base_position_m=[[5.0, 0, 1.0]])
        data = worlds.data_of(1)
        mujoco.mj_forward(worlds.model, data)
        expected = [data.geom(foot).xpos for foot in robot.feet]
        np.testing.assert_allclose(worlds.foot_position_m[1], expected, atol=1e-12)
        assert not worlds.foot_contact[1].any()
        np.testing.assert_array_equal(worlds.foot_position_m[[0, 2]], before)

    def test_feet_that_touch_each_other_do_not_hide_the_body_on_the_floor(self, go2, tmp_path):
        robot = changed_go2(
            go2, tmp_path / "r", ('contype="0" conaffinity="1"', 'contype="1" conaffinity="1"'), ("0.022", "0.04")
        )
        worlds = Worlds(robot, 1, feet=True)
        pose = np.array(robot.contract.pose_rad)
        pose[1::3], pose[2::3] = 0.9, -1.8
        for hip in np.linspace(-1.0, 0.0, 101):  # on its back, legs folded in until left and right feet meet
            pose[0::3] = [hip, -hip, hip, -hip]
            worlds.reset(joint_position_rad=pose, base_position_m=[[0, 0, 0.0565]], base_quaternion=[0, 1, 0, 0])
            model, data = worlds.model_of(0), worlds.data_of(0)
            mujoco.mj_forward(model, data)
            pairs = {frozenset(model.geom(g).name for g in contact.geom) for contact in data.contact}
            if {frozenset(("FL_foot", "FR_foot")), frozenset(("surefoot_floor", "trunk"))} <= pairs:
                break
        else:
            pytest.fail("the feet never met")
        assert worlds.body_contact[0]
        assert not worlds.foot_contact.any()


class TestBacklash:
    @pytest.mark.parametrize("torque_speed", [False, True])
    def test_within_the_play_neither_gain_sees_the_joint_move(self, go2, torque_speed):
        """The joints swing inside a wide play: the motors' side rests, so their torque is kp (target -
        rest) and nothing else.
        """
        worlds = Worlds(go2, 2, torque_speed=torque_speed)
        worlds.set("backlash_rad", 1.0, ids=[0])
        worlds.reset(joint_velocity_rad_s=np.full((2, 12), 2.0), base_position_m=[0, 0, 2.0])
        action = np.full((2, 12), 0.4)
        worlds.step(action)
        assert np.abs(worlds.joint_velocity_rad_s[0]).min() > 0.1
        expected = np.array(go2.contract.kp_nm_per_rad) * np.array(go2.contract.action_scale_rad) * 0.4
        np.testing.assert_allclose(worlds.torque_nm[0], expected, atol=1e-9)
        np.testing.assert_array_equal(worlds.sensors.joint_velocity_rad_s[0], 0.0)
        np.testing.assert_array_equal(worlds.sensors.joint_velocity_rad_s[1], worlds.joint_velocity_rad_s[1])

    def test_a_world_without_play_steps_as_if_nobody_had_any(self, robot):
        worlds, alone = Worlds(robot, 2), Worlds(robot, 2)
        worlds.set("backlash_rad", 0.05, ids=[1])
        for w in (worlds, alone):
            w.reset()
            walk(w)
        np.testing.assert_array_equal(worlds._qpos[0], alone._qpos[0])
        assert not np.array_equal(worlds._qpos[1], alone._qpos[1])


class TestModel:
    def test_a_warning_callback_of_the_users_own_stays(self, go2):
        before = mujoco.get_mju_user_warning()
        mine = ctypes.CDLL(None).puts
        try:
            mujoco.set_mju_user_warning(mine)
            installed = ctypes.cast(mujoco.get_mju_user_warning(), ctypes.c_void_p).value
            Worlds(go2, 1)
            assert ctypes.cast(mujoco.get_mju_user_warning(), ctypes.c_void_p).value == installed
        finally:
            mujoco.set_mju_user_warning(before)
