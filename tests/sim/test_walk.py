"""The walk against a plain loop to the last bit, and each probe on a case that is computed by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from surefoot.errors import WorldsError
from surefoot.policy.agents import make_agent
from surefoot.robot.posture import LEVEL, Posture
from surefoot.sim import Push, Script, Worlds, planar_push, rollout, walk
from surefoot.sim.falls import Falls
from surefoot.sim.probes import (
    AccelerationProbe,
    ActionChangeProbe,
    EffortProbe,
    FallProbe,
    PathProbe,
    TrackingProbe,
    pooled_mean,
    world_means,
    world_sums,
)
from surefoot.sim.walk import rise_ticks

TICKS, N = 30, 3
QUARTER_TURN = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])  # to the left


class Throw:
    """Throws all robots over but the first."""

    label, hash = "throw", "0"

    def reset(self, ids=None):
        pass

    def act(self, sensors, command):
        action = np.where(sensors.time_s[:, None] < 0.3, 10.0, -10.0) * np.array([1, 1, 1] * 2 + [-1, 1, 1] * 2)
        action[0] = 0.0
        return action


class Everything:
    """Keeps all that a probe is given."""

    def start(self, worlds, script):
        self.seen = []

    def tick(self, k, sensors, action, worlds):
        self.seen.append((k, *state(sensors, action, worlds)))


def state(sensors, action, worlds):
    """What a robot measured and did at a tick, and its true state after it."""
    return (
        *(value.copy() for value in sensors.readings().values()),
        action.copy(),
        worlds.joint_position_rad,
        worlds.joint_velocity_rad_s,
        worlds.base_position_m,
        worlds.base_quaternion,
        worlds.base_velocity,
        worlds.torque_nm,
        worlds.alive.copy(),
    )


def noisy_worlds(robot, n=N):
    worlds = Worlds(robot, n, seed=4, threads=1)
    worlds.set("encoder_noise_rad", 0.01)
    worlds.set("delay_s", 0.01)
    worlds.reset()
    return worlds


def random_commands(seed=0, n=N):
    return np.random.default_rng(seed).uniform(-0.6, 0.6, (TICKS, n, 3))


def after(probe, script, *states):
    """What a probe says after these states: (k, action, worlds) each, of which the first is the start."""
    (_, _, worlds), *ticks = states
    probe.start(worlds, script)
    for k, action, worlds in ticks:
        probe.tick(k, None, action, worlds)
    return probe.result()


class TestLoop:
    def test_it_is_the_plain_loop_to_the_last_bit(self, robot):
        commands, rising = random_commands(), np.full((N, 3), 0.1)
        kick = np.array([[0.3, -0.2, 0.0, 0.0, 0.0, 0.5]])
        plain, agent = noisy_worlds(robot), make_agent("trot", robot, N)
        expected = []
        for k in range(-5, TICKS):
            sensors = plain.sensors
            action = agent.act(sensors, commands[k] if k >= 0 else rising)
            plain.step(action)
            if k == 7:
                plain.kick(kick, np.array([1]))
            expected.append((k, *state(sensors, action, plain)))

        everything = Everything()
        script = Script(commands, n_rise=5, rise_command=rising, pushes=(Push(7, np.array([1]), kick),))
        walk(noisy_worlds(robot), make_agent("trot", robot, N), script, (everything,))
        assert len(everything.seen) == len(expected)
        for walked, by_hand in zip(everything.seen, expected, strict=True):
            for a, b in zip(walked, by_hand, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_probes_do_not_change_the_walk(self, robot):
        script, watched, alone = Script(random_commands()), Everything(), Everything()
        posture = robot.posture
        measuring = (TrackingProbe(posture), FallProbe(posture), EffortProbe(), PathProbe(posture, (1,)), watched)
        for probes in (measuring, (alone,)):
            walk(noisy_worlds(robot), make_agent("trot", robot, N), script, probes)
        for a, b in zip(watched.seen[-1], alone.seen[-1], strict=True):
            np.testing.assert_array_equal(a, b)

    def test_the_order_within_a_tick(self):
        events: list[Any] = []
        worlds: Any = SimpleNamespace(
            n=2,
            sensors="sensors",
            step=lambda action: events.append(("step", action)),
            kick=lambda velocity, ids: events.append(("kick", ids.tolist())),
        )
        agent = SimpleNamespace(act=lambda sensors, command: events.append(("act", *command[0])) or "action")
        probe = SimpleNamespace(
            start=lambda worlds, script: events.append(("start", script.commands.shape)),
            tick=lambda k, sensors, action, worlds: events.append(("probe", k, sensors, action)),
        )
        script = Script(
            np.full((2, 1, 3), 0.5),
            n_rise=1,
            pushes=(planar_push(0, np.array([1]), 0.5, np.zeros(1)),),
            before_tick=lambda k: events.append(("before", k)),
        )
        walk(worlds, agent, script, (probe,), lambda done, total: events.append((done, total)))
        still, given = (0.0, 0.0, 0.0), (0.5, 0.5, 0.5)
        assert events == [
            ("start", (2, 2, 3)),
            *(("before", -1), ("act", *still), ("step", "action"), ("probe", -1, "sensors", "action"), (1, 3)),
            *(("before", 0), ("act", *given), ("step", "action"), ("kick", [1])),
            *(("probe", 0, "sensors", "action"), (2, 3)),
            *(("before", 1), ("act", *given), ("step", "action"), ("probe", 1, "sensors", "action"), (3, 3)),
        ]

    def test_one_command_for_all_worlds(self, robot):
        commands, seen = random_commands(n=1), []
        for given in (commands, commands.repeat(N, axis=1)):
            everything = Everything()
            walk(noisy_worlds(robot), make_agent("trot", robot, N), Script(given), (everything,))
            seen.append(everything.seen[-1])
        for a, b in zip(*seen, strict=True):
            np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize(
        ("script", "message"),
        [
            (Script(np.zeros((5, 2, 3))), r"\(5, 2, 3\); it must be \(ticks, 3, 3\), or \(ticks, 1, 3\)"),
            (Script(np.zeros((5, 3))), r"\(5, 3\); it must be"),
            (Script(np.zeros((5, 3, 2))), r"\(5, 3, 2\); it must be"),
            (
                Script(np.zeros((5, 1, 3)), pushes=(planar_push(5, np.array([0]), 0.5, np.zeros(1)),)),
                "a push comes at tick 5; the walk has the ticks 0 to 4",
            ),
        ],
    )
    def test_what_does_not_fit_is_refused_before_anything_moves(self, go2, script, message):
        worlds = Worlds(go2, N, threads=1)
        with pytest.raises(WorldsError, match=message):
            walk(worlds, make_agent("zero", go2, N), script, ())
        assert not worlds.time_s.any()

    def test_the_ticks_of_a_rise(self, go2):
        posture = Posture(name="up", pitch_rad=1.5, rise_s=0.5)
        assert rise_ticks(go2) == 0
        assert rise_ticks(replace(go2, posture=posture)) == round(0.5 * go2.contract.control_hz)


class TestPushes:
    def test_a_push_changes_the_velocity_of_its_worlds_at_its_tick_alone(self, robot):
        push = planar_push(4, np.array([2, 0]), 0.5, np.array([0.0, np.pi / 2]))
        seen = []
        for pushes in ((), (push,)):
            everything = Everything()
            walk(
                noisy_worlds(robot),
                make_agent("trot", robot, N),
                Script(random_commands()[:8], pushes=pushes),
                (everything,),
            )
            seen.append(everything.seen)
        velocity = [[one[-3] for one in walked] for walked in seen]
        for k in range(4):
            np.testing.assert_array_equal(velocity[0][k], velocity[1][k])
        by_hand = np.array([[0.0, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0.5, 0.0, 0, 0, 0, 0]])
        np.testing.assert_allclose(velocity[1][4] - velocity[0][4], by_hand, rtol=0, atol=1e-15)
        for k in range(8):
            np.testing.assert_array_equal(velocity[0][k][1], velocity[1][k][1])
        assert not np.array_equal(velocity[0][7][0], velocity[1][7][0])


class TestMeans:
    values = np.array([[1.0, 2.0, 4.0], [np.nan, 7.0, 8.0], [5.0, 5.0, 5.0]])
    counted = np.array([[True, True, False], [False, True, True], [False, False, False]])

    def test_of_all_and_of_each_world(self):
        assert pooled_mean(self.values, self.counted) == (1 + 2 + 7 + 8) / 4
        np.testing.assert_array_equal(world_sums(self.values, self.counted), [3.0, 15.0, 0.0])
        np.testing.assert_array_equal(world_means(self.values, self.counted), [1.5, 7.5, np.nan])
        assert np.isnan(pooled_mean(self.values, np.zeros((3, 3), dtype=bool)))

    def test_a_world_has_the_same_sum_alone_and_beside_others(self):
        values = np.random.default_rng(0).uniform(size=(50, 700))
        by_hand = np.zeros(50)
        for k in range(700):
            by_hand += values[:, k]
        up = np.ones(values.shape, dtype=bool)
        np.testing.assert_array_equal(world_sums(values, up), by_hand)
        np.testing.assert_array_equal(world_sums(values[7:8], up[7:8]), by_hand[7:8])


class TestTracking:
    def test_velocity_counts_along_the_heading(self, go2):
        worlds = Worlds(go2, 2, threads=1)
        worlds.reset(
            base_quaternion=np.array([QUARTER_TURN, [1.0, 0.0, 0.0, 0.0]]),
            base_velocity=np.array([[0.0, 0.5, 0.1, 0.0, 0.0, 0.3], [0.2, -0.1, 0.0, 0.0, 0.0, -0.3]]),
        )
        script = Script(np.array([[[0.8, 0.4, 0.1], [0.2, -0.1, 0.1]]]))
        record = after(TrackingProbe(LEVEL), script, (0, None, worlds), (-1, None, None), (0, None, worlds))
        np.testing.assert_allclose(record.velocity[:, 0], [[0.5, 0.0, 0.3], [0.2, -0.1, -0.3]], atol=1e-15)
        np.testing.assert_allclose(record.velocity_error_m_s, [[0.5], [0.0]], atol=1e-15)
        np.testing.assert_allclose(record.turn_error_rad_s, [[0.2], [0.4]], atol=1e-15)

    def test_in_the_frame_of_a_posture(self, go2):
        """With the nose straight up, the base turns about its own x axis, and its belly points ahead."""
        posture = Posture(name="up", pitch_rad=np.pi / 2, rise_s=1.0)
        worlds = Worlds(go2, 1, threads=1)
        worlds.reset(
            base_quaternion=posture.base_quaternion[None], base_velocity=np.array([[0.4, 0.1, 0.0, 0.7, 0.0, 0.0]])
        )
        script = Script(np.zeros((1, 1, 3)))
        record = after(TrackingProbe(posture), script, (0, None, worlds), (0, None, worlds))
        np.testing.assert_allclose(record.velocity, [[[0.4, 0.1, 0.7]]], atol=1e-12)


class TestPath:
    def test_is_seen_from_where_the_robot_stood_at_tick_0(self, go2):
        def standing(x, y, quaternion):
            worlds = Worlds(go2, 1, threads=1)
            worlds.reset(base_position_m=np.array([[x, y, 0.4]]), base_quaternion=quaternion[None])
            return worlds

        half_turn = np.array([0.0, 0.0, 0.0, 1.0])
        states = [
            (0, None, standing(9.0, 9.0, half_turn)),
            (-1, None, standing(1.0, 2.0, QUARTER_TURN)),  # the end of the rise
            (0, None, standing(1.0, 3.0, QUARTER_TURN)),
            (1, None, standing(0.0, 5.0, half_turn)),
        ]
        script = Script(np.zeros((2, 1, 3)), n_rise=1)
        record = after(PathProbe(LEVEL, (2, 1, 2)), script, *states)
        np.testing.assert_allclose(record.position_m, [[[1.0, 0.0], [3.0, 1.0]]], atol=1e-12)
        np.testing.assert_allclose(record.turned_rad, [[0.0, np.pi / 2]], atol=1e-12)
        record = after(PathProbe(LEVEL, (2,)), Script(np.zeros((2, 1, 3))), *states[1:2], *states[2:])
        np.testing.assert_allclose(record.position_m, [[[3.0, 1.0]]], atol=1e-12)

    @pytest.mark.parametrize("ticks", [0, 3])
    def test_a_tick_that_the_walk_has_not_is_refused(self, go2, ticks):
        with pytest.raises(WorldsError, match=f"after {ticks} ticks; the walk has 2"):
            PathProbe(LEVEL, (1, ticks)).start(Worlds(go2, 1, threads=1), Script(np.zeros((2, 1, 3))))


class TestFalls:
    def test_a_fall_is_a_fall_for_good(self, go2):
        def tilted(*rolls_rad):
            worlds = Worlds(go2, len(rolls_rad), threads=1)
            half = np.array(rolls_rad) / 2
            worlds.reset(base_quaternion=np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1))
            return worlds

        stopped = tilted(0.0, 0.0, 0.0)
        stopped.step(np.array([[0.0], [0.0], [np.nan]]) + np.zeros((3, 12)))
        states = [tilted(0.0, 0.0, 0.0), tilted(0.0, 1.2, 0.0), tilted(0.9, 0.0, 0.0), stopped]
        ticks = [(k, None, worlds) for k, worlds in zip((0, -1, 0, 1), states, strict=True)]
        record = after(FallProbe(LEVEL), Script(np.zeros((2, 3, 3)), n_rise=1), *ticks)
        np.testing.assert_array_equal(record.down, [[False, False], [True, True], [False, True]])
        np.testing.assert_array_equal(record.fell, [False, True, True])
        np.testing.assert_allclose(record.risen_s, go2.contract.control_dt_s)

    def test_when_a_robot_had_risen(self, go2):
        dt_s = go2.contract.control_dt_s
        posture = Posture(name="up", pitch_rad=np.pi / 2, rise_s=2 * dt_s)
        level, up = Worlds(go2, 2, threads=1), Worlds(go2, 2, threads=1)
        up.reset(base_quaternion=np.array([posture.base_quaternion, [1.0, 0.0, 0.0, 0.0]]))
        ticks = [(0, None, level), (-2, None, level), (-1, None, up), (0, None, up), (1, None, level)]
        record = after(FallProbe(posture), Script(np.zeros((2, 2, 3)), n_rise=2), *ticks)
        np.testing.assert_allclose(record.risen_s, [2 * dt_s, np.nan])
        np.testing.assert_array_equal(record.down, [[False, True], [True, True]])  # the other should be up by tick 0

    def test_on_a_walk(self, go2):
        worlds, plain = Worlds(go2, N, threads=1), Worlds(go2, N, threads=1)
        probe = FallProbe(go2.posture)
        walk(worlds, Throw(), Script(np.zeros((60, 1, 3))), (probe,))
        falls, down, expected = Falls(go2.posture, N, plain.control_dt_s), np.zeros(N, dtype=bool), []
        for _ in range(60):
            plain.step(Throw().act(plain.sensors, None))
            down = down | falls.look(plain.base_quaternion, plain.base_position_m[:, 2])
            expected.append(down)
        np.testing.assert_array_equal(probe.result().down, np.array(expected).T)
        np.testing.assert_array_equal(probe.result().fell, [False, True, True])


class TestEffortAndSmoothness:
    script = Script(np.zeros((3, 2, 3)))
    up = np.array([[True, True, True], [True, True, False]])

    def test_only_positive_power_counts_and_only_speed_along_the_floor(self):
        worlds = SimpleNamespace(
            n=2,
            torque_nm=np.array([[2.0, -3.0], [4.0, -1.0]]),
            joint_velocity_rad_s=np.array([[1.5, 2.0], [0.5, -3.0]]),
            base_velocity=np.array([[3.0, 4.0, 9.0, 0, 0, 0], [0.0, 0.0, 1.0, 0, 0, 0]]),
        )
        record = after(EffortProbe(), self.script, (0, None, worlds), (-1, None, None), (1, None, worlds))
        np.testing.assert_array_equal(record.power_w, [[0.0, 3.0, 0.0], [0.0, 5.0, 0.0]])
        np.testing.assert_array_equal(record.speed_m_s, [[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])

    def test_root_mean_square_of_action_changes(self):
        """The rise does not count, nor does the change from it to tick 0, nor robots that are down."""
        worlds = SimpleNamespace(n=2)
        actions = [[[9.0, 9.0], [9.0, 9.0]], [[0, 0], [0, 0]], [[1, -1], [3, 1]], [[1, 2], [np.nan, 0]]]
        ticks = [(k - 1, np.array(action, dtype=float), worlds) for k, action in enumerate(actions)]
        record = after(ActionChangeProbe(), self.script, (0, None, worlds), *ticks)
        np.testing.assert_array_equal(record.square, [[0.0, 1.0, 4.5], [0.0, 5.0, np.nan]])
        np.testing.assert_array_equal(record.rms(self.up), np.sqrt([(1.0 + 4.5) / 2, 5.0]))

    def test_joint_acceleration(self):
        moving = [
            SimpleNamespace(n=2, control_dt_s=0.5, joint_velocity_rad_s=np.array(velocity, dtype=float))
            for velocity in ([[9, 9], [9, 9]], [[0, 0], [0, 0]], [[1, 0], [0, 2]], [[1, 1], [0, np.nan]])
        ]
        ticks = [(k - 1, None, worlds) for k, worlds in enumerate(moving)]
        record = after(AccelerationProbe(), self.script, (0, None, moving[0]), *ticks)
        np.testing.assert_array_equal(record.square, [[0.0, 2.0, 2.0], [0.0, 8.0, np.nan]])
        np.testing.assert_array_equal(record.rms(self.up), np.sqrt([2.0, 8.0]))


class TestRollout:
    def test_rows_hold_the_state_that_a_tick_begins_in(self, robot):
        command = random_commands().swapaxes(0, 1)
        run = rollout(noisy_worlds(robot), make_agent("trot", robot, N), command, truth=True)
        worlds, agent = noisy_worlds(robot), make_agent("trot", robot, N)
        falls = Falls(robot.posture, N, worlds.control_dt_s)
        for k in range(TICKS):
            sensors = worlds.sensors
            action = agent.act(sensors, command[:, k])
            for name, value in sensors.readings().items():
                np.testing.assert_array_equal(getattr(run, name)[:, k], value)
            np.testing.assert_array_equal(run.action[:, k], action)
            np.testing.assert_array_equal(run.base_position_m[:, k], worlds.base_position_m)
            np.testing.assert_array_equal(run.quaternion[:, k], worlds.base_quaternion)
            np.testing.assert_array_equal(run.base_velocity[:, k], worlds.base_velocity)
            np.testing.assert_array_equal(
                run.fallen[:, k], falls.look(worlds.base_quaternion, worlds.base_position_m[:, 2])
            )
            worlds.step(action)
        np.testing.assert_array_equal(run.command, command)
        assert run.valid.all()
