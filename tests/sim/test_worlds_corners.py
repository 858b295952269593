"""Corners of `Worlds` where one thing could spoil another: order of ids, masses, floors, failures, feet,
IMU mounting.
"""

import mujoco
import numpy as np
import pytest
from mujoco.batch import SimulationError
from support.worlds import changed_go2, step

from surefoot.errors import RobotError, TwinError, WorldsError
from surefoot.logs import record
from surefoot.sim import Flat, HeightField, Worlds, load_twin


class TestIds:
    def test_values_go_to_the_worlds_that_were_named_in_their_order(self, go2):
        worlds = Worlds(go2, 3)
        worlds.set("floor_friction", [0.1, 0.9], ids=[2, 0])
        np.testing.assert_array_equal(worlds.get("floor_friction"), [0.9, 0.8, 0.1])
        worlds.kick(np.array([[1.0, 0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0, 0]]), ids=[2, 0])
        np.testing.assert_array_equal(worlds.base_velocity[:, 0], [2, 0, 1])
        worlds.reset([1, 0], base_position_m=np.array([[1.0, 0, 0.3], [2.0, 0, 0.3]]))
        np.testing.assert_array_equal(worlds.base_position_m[:2, 0], [2, 1])

    @pytest.mark.parametrize(
        ("ids", "says"),
        [
            ([0, 0], "twice"),
            ([0.7], "whole numbers"),
            ([True], "mask"),
            ([3], "does not exist"),
            ([-1], "does not exist"),
        ],
    )
    def test_bad_ids(self, go2, ids, says):
        with pytest.raises(WorldsError, match=says):
            Worlds(go2, 3).reset(ids)


class TestMasses:
    def test_base_and_link_masses_are_one_quantity(self, go2):
        worlds = Worlds(go2, 3)
        worlds.set("base_mass_kg", 9.0)
        worlds.set(
            "link_mass_kg",
            np.where(np.array(worlds.names("link_mass_kg")) == "FL_calf", 0.3, worlds.get("link_mass_kg")[0]),
            ids=[1],
        )
        assert worlds.get("base_mass_kg").tolist() == [9.0, 9.0, 9.0]
        assert [worlds.model_of(i).body("trunk").mass[0] for i in range(3)] == [9.0, 9.0, 9.0]
        assert [worlds.model_of(i).body("FL_calf").mass[0] for i in range(3)] == [0.241352, 0.3, 0.241352]

    def test_a_twin_gives_the_base_once(self, tmp_path):
        (tmp_path / "t.yaml").write_text("robot: go2\nbase_mass_kg: 7\nlink_mass_kg: {trunk: 8}\n")
        with pytest.raises(TwinError, match="both give the base's mass"):
            load_twin(tmp_path / "t.yaml")

    def test_unnamed_bodies_have_names_of_their_own(self, go2, tmp_path):
        box = '<body pos="0 0 0.1"><geom type="box" size=".02 .02 .02" mass="{}" contype="0" conaffinity="0"/></body>'
        robot = changed_go2(
            go2, tmp_path / "r", ('<site name="imu"', box.format(0.5) + box.format(0.7) + '<site name="imu"')
        )
        worlds = Worlds(robot, 1)
        worlds.set("link_mass_kg", {"FL_calf": 0.3})
        assert {0.5, 0.7} <= set(worlds.model_of(0).body_mass.tolist())

    def test_props_do_not_count_as_robot(self, go2, tmp_path):
        robot = changed_go2(
            go2,
            tmp_path / "r",
            ("</worldbody>", '<body pos="3 0 1"><freejoint/><geom size=".1" mass="2"/></body></worldbody>'),
        )
        assert robot.mass_kg == pytest.approx(go2.mass_kg)


class TestFloor:
    def contacts(self, worlds):
        step(worlds, 5)
        model, data = worlds.model_of(0), worlds.data_of(0)
        mujoco.mj_forward(model, data)
        assert data.ncon > 0
        return data.contact

    def test_friction_holds_against_feet_with_priority_and_soft_feet_stay_soft(self, go2, tmp_path):
        foot = (
            '<geom type="sphere" size="0.022"',
            '<geom priority="1" friction="0.8" solref="0.1 1" condim="4" type="sphere" size="0.022"',
        )
        worlds = Worlds(changed_go2(go2, tmp_path / "r", foot), 1)
        worlds.set("floor_friction", 0.25)
        for contact in self.contacts(worlds):
            assert contact.friction[0] == 0.25
            assert contact.solref[0] == 0.1
            assert contact.dim == 4

    def test_other_collision_bits(self, go2, tmp_path):
        robot = changed_go2(go2, tmp_path / "r", ('contype="0" conaffinity="1"', 'contype="4" conaffinity="2"'))
        assert len(self.contacts(Worlds(robot, 1))) > 0

    def test_robots_start_on_top_of_a_height_field(self, robot):
        worlds = Worlds(robot, 1, floor=HeightField(np.full((20, 20), 0.5), 6, 6))
        assert worlds.base_position_m[0, 2] == pytest.approx(robot.base_height_m + 0.5)
        step(worlds, 25)
        assert worlds.base_position_m[0, 2] > 0.5 + 0.5 * robot.base_height_m

    def test_bad_floors(self, go2):
        with pytest.raises(WorldsError, match="friction is -1"):
            Worlds(go2, 1, floor=Flat(-1))
        with pytest.raises(WorldsError, match="2 × 2"):
            Worlds(go2, 1, floor=HeightField(np.zeros(3), 1, 1))


class TestInputs:
    @pytest.mark.parametrize(
        ("call", "says"),
        [
            (lambda w: w.reset(joint_position_rad=np.full((2, 12), np.nan)), "not finite"),
            (lambda w: w.reset(joint_position_rad=np.zeros((2, 5))), "must be"),
            (lambda w: w.reset(base_quaternion=np.zeros((2, 4))), "row of zeros"),
            (lambda w: w.kick([np.nan, 0, 0, 0, 0, 0]), "not finite"),
            (lambda w: w.push([1, 0], 1.0), "must be"),
            (lambda w: w.push([1, 0, 0], 0.0), "above 0"),
            (lambda w: w.push([1, 0, 0], np.nan), "not finite"),
        ],
    )
    def test_bad_calls(self, go2, call, says):
        with pytest.raises(WorldsError, match=says):
            call(Worlds(go2, 2))

    def test_quaternions_are_normalized(self, go2):
        worlds = Worlds(go2, 1)
        worlds.reset(base_quaternion=np.array([[2.0, 0, 0, 0]]))
        np.testing.assert_allclose(worlds.sensors.gravity, [[0, 0, -1]])

    def test_half_a_torque_speed_limit_is_refused(self, go2):
        worlds = Worlds(go2, 1, torque_speed=True)
        worlds.set("stall_torque_nm", 30.0)
        with pytest.raises(WorldsError, match="set both"):
            step(worlds)
        worlds.set("no_load_speed_rad_s", 20.0)
        step(worlds)

    def test_what_get_returned_does_not_change(self, go2):
        worlds = Worlds(go2, 1)
        worlds.set("kp_nm_per_rad", 20.0)
        old = worlds.get("kp_nm_per_rad")
        worlds.set("kp_nm_per_rad", 30.0)
        assert (old == 20.0).all()


class TestState:
    def test_a_removed_residual_is_gone(self, go2):
        worlds, plain = Worlds(go2, 1), Worlds(go2, 1)
        worlds.residual = lambda error, position, velocity: 3.0 + 0 * error
        step(worlds)
        worlds.residual = None
        worlds.reset()
        step(worlds, 3)
        step(plain, 3)
        np.testing.assert_array_equal(worlds.joint_position_rad, plain.joint_position_rad)
        assert not worlds.data_of(0).qfrc_applied.any()

    def test_one_worlds_observation_delay_leaves_the_others_history(self, go2):
        worlds, alone = Worlds(go2, 2), Worlds(go2, 2)
        for w in (worlds, alone):
            w.set("observation_delay_s", 0.02)
            step(w, 5)
        worlds.set("observation_delay_s", 0.01, ids=[1])
        step(worlds)
        step(alone)
        np.testing.assert_array_equal(worlds.sensors.joint_position_rad[0], alone.sensors.joint_position_rad[0])

    def test_a_hot_motor_cools(self, go2):
        worlds = Worlds(go2, 2)
        worlds.set("start_temperature_c", 140.0)
        worlds.set("thermal_time_s", 0.1)
        worlds.reset()
        step(worlds, 50)
        assert worlds.temperature_c.max() < 26.0

    def test_a_failing_or_reset_world_leaves_the_noise_of_the_others(self, go2):
        def noise(spoil):
            worlds = Worlds(go2, 3, seed=3)
            worlds.set("encoder_noise_rad", 0.01)
            for k in range(6):
                action = np.zeros((3, 12))
                if k == 2 and spoil == "fail":
                    action[2] = np.nan
                if k == 2 and spoil == "reset":
                    worlds.reset([2])
                worlds.step(action)
            return worlds.sensors.joint_position_rad[0]

        quiet = noise("")
        np.testing.assert_array_equal(noise("fail"), quiet)
        np.testing.assert_array_equal(noise("reset"), quiet)

    def test_a_world_that_mujoco_stops_is_named(self, go2, tmp_path):
        """With an arena far too small MuJoCo stops a rollout with a warning that is not one of instability."""
        robot = changed_go2(go2, tmp_path / "r", ("<compiler", '<size memory="4K"/><compiler'))
        worlds = Worlds(robot, 1)
        worlds.set("delay_s", 0.005)
        step(worlds, 3)
        assert not worlds.alive[0]
        assert "MuJoCo" in worlds.failures[0].reason

    @pytest.mark.parametrize("part", ["backlash_rad", "delay_s", "observation_delay_s", "action_offset_rad"])
    def test_a_world_in_which_mujoco_raises_costs_the_others_nothing(self, go2, part):
        worlds, alone = Worlds(go2, 3), Worlds(go2, 3)
        for w in (worlds, alone):
            w.set(part, 0.005)
            w.reset()
        batch = worlds._batch

        def raising(call):
            def inner(*args, **options):
                before = batch.state[0].copy()
                call(*args, **options)
                if worlds.alive[0] and not worlds._raised[0]:
                    batch.state[0] = before  # as MuJoCo leaves it
                    raise SimulationError(np.array([0]), "out of memory")

            return inner

        batch.step, batch.rollout = raising(batch.step), raising(batch.rollout)
        step(worlds, 4)
        step(alone, 4)
        assert [(f.world, "MuJoCo raised" in f.reason) for f in worlds.failures] == [(0, True)]
        for field in ("joint_position_rad", "joint_velocity_rad_s", "time_s"):
            np.testing.assert_array_equal(getattr(worlds.sensors, field)[1:], getattr(alone.sensors, field)[1:])

    def test_failures_are_counted_and_the_list_is_bounded(self, go2, monkeypatch):
        monkeypatch.setattr("surefoot.sim.worlds.KEPT_FAILURES", 3)
        worlds = Worlds(go2, 1)
        for _ in range(5):
            worlds.step(np.full((1, 12), np.nan))
            worlds.reset()
        assert worlds.n_failures == 5
        assert len(worlds.failures) == 3


class TestFeet:
    def test_a_standing_robot_touches_with_its_feet_alone(self, robot):
        worlds = Worlds(robot, 2, feet=True)
        assert worlds.foot_position_m.any()  # known right after the reset
        step(worlds, 25)
        assert worlds.foot_contact.all()
        assert not worlds.body_contact.any()
        model, data = worlds.model_of(0), worlds.data_of(0)
        mujoco.mj_forward(model, data)
        for i, foot in enumerate(robot.feet):
            np.testing.assert_allclose(worlds.foot_position_m[0, i], data.geom(foot).xpos, atol=1e-3)

    def test_a_robot_on_its_back(self, go2):
        worlds = Worlds(go2, 1, feet=True)
        worlds.reset(base_quaternion=np.array([[0.0, 1.0, 0.0, 0.0]]), base_position_m=np.array([[0, 0, 0.12]]))
        step(worlds, 10)
        assert worlds.body_contact[0]

    def test_without_sensors_it_says_so(self, go2):
        with pytest.raises(WorldsError, match="feet=True"):
            _ = Worlds(go2, 1).foot_contact


class TestImu:
    def test_a_turned_imu_reads_in_its_own_frame_and_standing_is_not_falling(self, go2, tmp_path):
        robot = changed_go2(go2, tmp_path / "r", ('<site name="imu"', '<site name="imu" euler="2.6 -0.5 1.1"'))
        worlds = Worlds(robot, 2)
        rng = np.random.default_rng(0)
        for _ in range(5):
            worlds.step(rng.normal(0, 0.5, (2, 12)))
        model, data = worlds.model, worlds.data_of(0)
        mujoco.mj_forward(model, data)
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, model.site("imu").id, velocity, 1)
        np.testing.assert_allclose(worlds.sensors.gyro_rad_s[0], velocity[:3], atol=1e-12)
        np.testing.assert_allclose(worlds.sensors.gravity[0], -data.site("imu").xmat.reshape(3, 3)[2], atol=1e-12)
        (tmp_path / "t.yaml").write_text(f"robot: {robot.path}\n")
        log = record(load_twin(tmp_path / "t.yaml"), "zero", rollouts=2, seconds=1.0)
        assert log.metadata["fallen_episodes"] == 0


class TestModels:
    def test_a_pair_with_the_models_own_floor_goes_with_it(self, go2, tmp_path):
        scene = (
            '<geom name="ground" type="plane" size="1 1 .1"/></worldbody><contact><pair geom1="ground"'
            ' geom2="FL_foot"/></contact>'
        )
        step(Worlds(changed_go2(go2, tmp_path / "r", ("</worldbody>", scene)), 1))

    def test_a_foot_that_does_not_collide_is_refused(self, go2, tmp_path):
        with pytest.raises(RobotError, match="no shape that collides"):
            changed_go2(
                go2,
                tmp_path / "r",
                ('<site name="imu"', '<geom name="ghost" size=".1" contype="0" conaffinity="0"/><site name="imu"'),
                yaml=[("feet: [FL_foot", "feet: [ghost, FL_foot")],
            )

    def test_sleep_is_turned_off(self, go2, tmp_path):
        robot = changed_go2(
            go2, tmp_path / "r", ('timestep="0.002"/>', 'timestep="0.002"><flag sleep="enable"/></option>')
        )
        step(Worlds(robot, 1))
