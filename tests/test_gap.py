"""The gap: distances to the last digit, costs that see what they say, schedules that count the right ticks,
floors that hold.
"""

import dataclasses
import json

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from surefoot.adapt import make_knobs
from surefoot.adapt.search_space import SearchSpace
from surefoot.errors import GapError
from surefoot.gap import COSTS, Simulated, Simulator, make_cost, measure, robot_side, schedule_of, score
from surefoot.gap.channels import PUBLISHED, channels_of, columns
from surefoot.gap.costs import Quantiles, RobotSamples
from surefoot.gap.distance import quantile_means, sort_channels, w1_sorted, wasserstein
from surefoot.gap.match_state import match_state
from surefoot.gap.schedule import EDGE_S, spread_of
from surefoot.gap.simulate import refuse_falling
from surefoot.logs import RobotLog, read_log, record, write_log
from surefoot.policy.agents import make_agent
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

POLICIES = {"go2": "walk", "hexapod": "trot"}
OFFSET_RAD = 0.1


def recorded(robot: Robot, seed: int = 1, **parameters: object) -> RobotLog:
    return record(
        Twin("made", Physics(robot, parameters)), POLICIES[robot.name], rollouts=8, seconds=2.5, seed=seed, threads=1
    )


def agents(robot: Robot):
    return lambda n: make_agent(POLICIES[robot.name], robot, n)


@pytest.fixture(scope="module")
def log(robot) -> RobotLog:
    """The nominal robot's own log: there is no gap in it."""
    return recorded(robot)


class TestDistance:
    @pytest.mark.parametrize(
        ("n", "m"), [(500, 500), (500, 499), (500, 250), (500, 333), (7, 1000), (1, 1), (1, 9), (2, 3)]
    )
    def test_equals_scipy(self, n, m) -> None:
        rng = np.random.default_rng([n, m])
        a, b = rng.normal(size=(n, 4)), rng.normal(0.3, 2.0, (m, 4))
        expected = [wasserstein_distance(a[:, i], b[:, i]) for i in range(4)]
        np.testing.assert_allclose(wasserstein(a, b), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize(("n", "m"), [(300, 300), (300, 200)])
    def test_equals_scipy_with_ties_and_constants(self, n, m) -> None:
        rng = np.random.default_rng(3)
        a, b = rng.integers(0, 4, (n, 3)).astype(float), rng.integers(0, 4, (m, 3)).astype(float)
        a[:, 2] = b[:, 2] = 1.5
        expected = [wasserstein_distance(a[:, i], b[:, i]) for i in range(3)]
        np.testing.assert_allclose(wasserstein(a, b), expected, rtol=0, atol=1e-9)
        assert wasserstein(a, b)[2] == 0.0

    def test_leading_shapes_broadcast(self) -> None:
        rng = np.random.default_rng(4)
        many, one = rng.normal(size=(5, 40, 3)), rng.normal(size=(30, 3))
        together = w1_sorted(sort_channels(many), sort_channels(one))
        np.testing.assert_array_equal(together, [wasserstein(a, one) for a in many])

    def test_sorting_leaves_the_samples_alone(self) -> None:
        samples = np.random.default_rng(5).normal(size=(20, 1))  # one channel: its transpose is contiguous already
        before = samples.copy()
        sort_channels(samples)
        np.testing.assert_array_equal(samples, before)


class TestQuantileMeans:
    def test_blocks_of_whole_samples_are_plain_means(self) -> None:
        rows = np.sort(np.random.default_rng(0).normal(size=(3, 60)))
        np.testing.assert_allclose(quantile_means(rows, 12), rows.reshape(3, 12, 5).mean(axis=2), atol=1e-12)

    @pytest.mark.parametrize("n", [1, 7, 50, 53, 997])
    def test_the_mean_of_the_blocks_is_the_mean(self, n) -> None:
        rows = np.sort(np.random.default_rng(n).normal(size=(2, n)))
        blocks = quantile_means(rows, 50)
        np.testing.assert_allclose(blocks.mean(axis=1), rows.mean(axis=1), atol=1e-12)
        assert (np.diff(blocks, axis=1) >= -1e-12).all()

    def test_a_sample_across_an_edge_counts_by_its_parts(self) -> None:
        np.testing.assert_allclose(quantile_means(np.array([[0.0, 3.0, 6.0]]), 2), [[1.0, 5.0]])

    def test_single_precision_is_summed_in_double(self) -> None:
        rows = np.sort(np.random.default_rng(1).normal(1000.0, 1.0, (1, 20_000)).astype(np.float32))
        np.testing.assert_allclose(quantile_means(rows, 50), quantile_means(rows.astype(float), 50), atol=1e-7)


@pytest.fixture
def side(go2) -> RobotSamples:
    """Smooth, different waves in each joint, in six pieces."""
    rng = np.random.default_rng(0)
    channels = channels_of(go2.contract, PUBLISHED)
    time_s = 0.02 * np.arange(600)
    waves = [np.sin(2 * np.pi * (1.1 + 0.13 * i) * time_s + i) * (1 + 0.1 * i) for i in range(len(channels))]
    samples = (np.stack(waves, axis=1) + 0.01 * rng.normal(size=(600, len(channels)))).astype(np.float32)
    return RobotSamples(samples, np.repeat(np.arange(6), 100), channels, spread_of(samples, channels))


def as_runs(*samples: np.ndarray) -> Simulated:
    return Simulated(np.stack(samples), np.zeros(len(samples[0]), dtype=int), np.zeros(len(samples)))


class TestCosts:
    @pytest.mark.parametrize("name", COSTS)
    def test_nothing_for_the_robot_itself_and_more_the_more_a_channel_is_shifted(self, side, name) -> None:
        shift = np.zeros(len(side.channels), np.float32)
        shift[0] = side.spread[0]  # the position of a joint, which every cost looks at
        cost = make_cost(name, side)
        same, near, far = cost(as_runs(side.samples, side.samples + np.float32(0.3) * shift, side.samples + shift))
        assert same == pytest.approx(0.0, abs=1e-6)
        assert 10 * same < near < far

    @pytest.mark.parametrize(
        ("name", "sees"), [("wasserstein", False), ("quantiles", False), ("match-o", True), ("lagged", True)]
    )
    def test_who_sees_the_order_of_time(self, side, name, sees) -> None:
        shuffled = side.samples[np.random.default_rng(1).permutation(len(side.samples))]
        assert bool(make_cost(name, side)(as_runs(shuffled))[0] > 0.1) is sees

    @pytest.mark.parametrize(("name", "sees"), [("wasserstein", False), ("mmd", True), ("sliced", True)])
    def test_who_sees_how_joints_go_together(self, side, name, sees) -> None:
        together = dataclasses.replace(
            side, samples=np.repeat(side.samples[:, :1], len(side.channels), axis=1), spread=np.ones(len(side.channels))
        )
        rng = np.random.default_rng(2)
        apart = np.stack([column[rng.permutation(len(column))] for column in together.samples.T], axis=1)
        assert bool(make_cost(name, together)(as_runs(apart))[0] > 0.1) is sees

    def test_quantile_residuals_are_a_vector_whose_size_is_the_cost(self, side) -> None:
        cost = Quantiles(side)
        runs = as_runs(side.samples * np.float32(1.2))
        residuals = cost.residuals(runs)
        assert residuals.shape == (1, len(side.channels) * cost.blocks)
        assert cost(runs)[0] == pytest.approx(np.sqrt(np.mean(residuals**2)))

    def test_a_population_is_scored_one_by_one(self, side) -> None:
        rng = np.random.default_rng(3)
        runs = [side.samples + 0.1 * rng.normal(size=side.samples.shape).astype(np.float32) for _ in range(3)]
        for name in COSTS:
            cost = make_cost(name, side)
            np.testing.assert_allclose(cost(as_runs(*runs)), [cost(as_runs(run))[0] for run in runs])

    def test_unknown_ones_are_refused_with_the_nearest(self, side) -> None:
        with pytest.raises(GapError, match=r"unknown cost 'waserstein' \(did you mean 'wasserstein'"):
            make_cost("waserstein", side)

    def test_a_joint_that_does_not_move_does_not_divide_by_zero(self, side) -> None:
        samples = side.samples.copy()
        samples[:, 2] = 0.7
        spread = spread_of(samples, side.channels)
        assert 0 < spread[2] < 0.02 * spread.max()


class TestChannels:
    def test_tracking_error_is_against_the_target_before(self, go2) -> None:
        contract = go2.contract
        rng = np.random.default_rng(0)
        position, velocity, action = rng.normal(size=(3, 5, contract.n_joints))
        made = columns(contract, ("error", "change"), position, velocity, action)
        target = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * action
        np.testing.assert_allclose(made[1:, : contract.n_joints], target[:-1] - position[1:], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(made[:-1, contract.n_joints :], np.diff(velocity, axis=0), rtol=1e-5, atol=1e-6)

    def test_targets_are_clipped_as_the_robot_clips_them(self, go2) -> None:
        contract = go2.contract
        still = np.zeros((3, contract.n_joints))
        wild, clipped = (
            columns(contract, ("error",), still, still, np.full_like(still, value))
            for value in (1e6, contract.action_clip)
        )
        np.testing.assert_array_equal(wild, clipped)


class TestSchedule:
    def test_episodes_are_pieces_and_settling_is_not_counted(self, robot, log) -> None:
        schedule = schedule_of(log, robot, settle_s=0.4)
        hz = robot.contract.control_hz
        assert schedule.n == 8
        assert list(schedule.episode) == list(range(8))
        settle, edge = round(0.4 * hz), round(EDGE_S * hz)
        assert not schedule.counted[:, :settle].any()
        assert schedule.counted[:, settle + edge : -edge].all()
        ramp = np.r_[schedule.counted[:, settle : settle + edge].mean(), schedule.counted[:, -edge:].mean()]
        assert ((ramp > 0.3) & (ramp < 0.7)).all()  # half of the ticks near the ends count
        np.testing.assert_array_equal(schedule.command[3], log.command[schedule.rows[3]])
        np.testing.assert_array_equal(
            schedule.start_rad[3].astype(np.float32), log.joint_position_rad[schedule.rows[3].start].astype(np.float32)
        )

    def test_a_replay_counts_every_tick_after_settling(self, robot, log) -> None:
        schedule = schedule_of(log, robot, settle_s=0.4, replay=True)
        assert schedule.counted[:, round(0.4 * robot.contract.control_hz) :].all()
        np.testing.assert_array_equal(schedule.replay[3], log.action[schedule.rows[3]])
        np.testing.assert_array_equal(schedule.pick(np.array([3])).replay[0], schedule.replay[3])

    def test_unusable_rows_and_gaps_in_time_split(self, robot, log) -> None:
        rows = log.episodes()
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[rows[0].start + 60] = False
        time_s = log.time_s.copy()
        time_s[rows[1].start + 55 : rows[1].stop] += 0.3
        schedule = schedule_of(dataclasses.replace(log, time_s=time_s), robot, usable)
        pieces = [
            (piece.start - rows[e].start, piece.stop - rows[e].start)
            for e, piece in zip(schedule.episode, schedule.rows, strict=True)
            if e < 2
        ]
        length = rows[0].stop - rows[0].start
        assert pieces == [(0, 60), (61, length), (0, 55), (55, length)]

    def test_short_pieces_are_left_out_and_padding_is_not_counted(self, robot, log) -> None:
        rows = log.episodes()
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[rows[0].start + 30 : rows[0].stop] = False  # 0.6 s: hardly more than settling
        usable[rows[1].start + 70 : rows[1].stop] = False
        schedule = schedule_of(log, robot, usable)
        assert list(schedule.episode) == list(range(1, 8))
        settle = round(0.5 * robot.contract.control_hz)
        assert not schedule.counted[0, 70:].any()
        assert 0.5 * (70 - settle) < schedule.counted[0].sum() <= 70 - settle
        np.testing.assert_array_equal(
            schedule.command[0, 70:], np.tile(log.command[rows[1].start + 69], (schedule.command.shape[1] - 70, 1))
        )
        side = robot_side(log, schedule, robot, PUBLISHED)
        assert len(side.samples) == schedule.counted.sum()
        assert (side.piece == 0).sum() == schedule.counted[0].sum()
        first = int(np.argmax(schedule.counted[0]))
        n_joints = robot.contract.n_joints
        np.testing.assert_allclose(side.samples[0, :n_joints], log.joint_position_rad[rows[1].start + first], rtol=1e-6)

    def test_what_is_not_a_number_matters_only_in_usable_rows(self, robot, log) -> None:
        position = log.joint_position_rad.copy()
        position[5, 2] = np.nan
        ill = dataclasses.replace(log, joint_position_rad=position)
        with pytest.raises(GapError, match="joint_position_rad holds values that are not finite"):
            schedule_of(ill, robot)
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[:10] = False
        assert schedule_of(ill, robot, usable).n == 8

    def test_commands_that_were_made_up_are_refused_and_a_late_first_one_is_not(self, robot, log) -> None:
        said = {**log.metadata, "assumed": {"command": "zero for 0.3 s before the first command"}}
        assert schedule_of(dataclasses.replace(log, metadata=said), robot).n == 8
        with pytest.raises(GapError, match="no velocity commands"):
            schedule_of(dataclasses.replace(log, metadata=said, command=np.zeros_like(log.command)), robot)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"settle_s": -1.0}, "settle_s is -1"),
            ({"settle_s": float("nan")}, "settle_s is nan"),
            ({"settle_s": 2.45}, "no episode of the log has"),
            ({"settle_s": 2.0}, "s of the log can be compared"),
        ],
    )
    def test_settling_that_leaves_nothing(self, robot, log, change, says) -> None:
        with pytest.raises(GapError, match=says):
            schedule_of(log, robot, **change)

    def test_one_episode_is_not_enough(self, robot, log) -> None:
        usable = log.episode == 0
        with pytest.raises(GapError, match=r"only one episode.*compared with itself.*record more"):
            schedule_of(log, robot, usable)

    def test_joints_in_another_order_are_refused(self, robot, log) -> None:
        with pytest.raises(GapError, match="another order"):
            schedule_of(dataclasses.replace(log, joints=log.joints[::-1]), robot)

    def test_another_rate_is_refused(self, robot, log) -> None:
        with pytest.raises(GapError, match=r"a row every 4\d ms.*acts every 20 ms"):
            schedule_of(dataclasses.replace(log, time_s=2.2 * log.time_s), robot)

    def test_picked_pieces_keep_their_rows(self, robot, log) -> None:
        schedule = schedule_of(log, robot)
        picked = schedule.pick(np.array([5, 2]))
        assert list(picked.episode) == [5, 2]
        assert picked.rows == (schedule.rows[5], schedule.rows[2])


class Friction:
    """Candidates with different dry friction."""

    torque_speed = False

    def apply(self, worlds, candidates, pieces) -> None:
        worlds.set("dry_friction_nm", np.repeat(candidates, pieces, axis=0) * np.ones(worlds.robot.contract.n_joints))


class TestSimulator:
    def test_candidates_differ_by_their_change_alone(self, robot, log) -> None:
        schedule = schedule_of(log, robot).pick(np.arange(3))
        simulator = Simulator(robot, agents(robot), schedule, PUBLISHED, threads=1)
        run = simulator.run(Friction(), np.array([[0.2], [0.2], [0.4]]), seed=7)
        assert run.samples.shape == (3, schedule.counted.sum(), 3 * robot.contract.n_joints)
        np.testing.assert_array_equal(run.samples[0], run.samples[1])
        assert not np.array_equal(run.samples[0], run.samples[2])
        alone = simulator.run(Friction(), np.array([[0.4]]), seed=7)
        np.testing.assert_array_equal(alone.samples[0], run.samples[2])
        assert not np.array_equal(simulator.run(Friction(), np.array([[0.4]]), seed=8).samples, alone.samples)

    def test_large_populations_run_in_turns_to_the_same_end(self, go2, monkeypatch) -> None:
        log = recorded(go2)
        simulator = Simulator(go2, agents(go2), schedule_of(log, go2).pick(np.arange(2)), PUBLISHED, threads=1)
        candidates = np.array([[0.1], [0.2], [0.3]])
        whole = simulator.run(Friction(), candidates, seed=3)
        monkeypatch.setattr("surefoot.gap.simulate.MOST_WORLDS", 4)
        seen: list[tuple[int, int]] = []
        parts = simulator.run(Friction(), candidates, seed=3, tick=lambda done, total: seen.append((done, total)))
        np.testing.assert_array_equal(parts.samples, whole.samples)
        assert seen[-1][0] == seen[-1][1] == len(seen)

    def test_a_policy_that_falls_is_refused(self, go2) -> None:
        refuse_falling(0.5, go2, "the policy")
        with pytest.raises(GapError, match=r"falls in 80% of the simulated episodes on go2.*surefoot doctor"):
            refuse_falling(0.8, go2, "the policy")


class TestMeasure:
    def test_a_robot_like_the_simulator_has_no_measurable_gap(self, robot, log) -> None:
        seen: list[tuple[int, int]] = []
        measured = measure(
            log,
            schedule_of(log, robot),
            robot,
            agents(robot),
            seed=4,
            threads=1,
            progress=lambda done, total: seen.append((done, total)),
        )
        gap = measured.gap
        assert not gap.measurable
        assert gap.total == pytest.approx(gap.total_floor, rel=0.5)
        assert gap.robot_floor == pytest.approx(gap.total_floor, rel=0.6)
        assert gap.interval[0] <= gap.total <= gap.interval[1]
        assert (gap.distance <= gap.limit).mean() > 0.9
        assert seen[-1][0] == seen[-1][1] == len(seen)
        assert json.loads(json.dumps(gap.to_dict()))["measurable"] is False
        one = score(measured, "wasserstein")
        assert (one.value, one.floor, one.limit) == pytest.approx((gap.total, gap.total_floor, gap.total_limit))

    def test_a_change_of_one_joint_is_found_there(self, robot) -> None:
        joint = robot.contract.joints[10]
        offset = tuple(OFFSET_RAD if name == joint else 0.0 for name in robot.contract.joints)
        log = recorded(robot, action_offset_rad=offset)
        gap = measure(log, schedule_of(log, robot), robot, agents(robot), threads=1, runs=4).gap
        assert gap.measurable
        assert gap.interval[0] > gap.total_limit
        assert gap.channels[gap.worst[0]].where == joint
        places, kinds, distance, limit = gap.matrix()
        assert places == list(robot.contract.joints)
        assert kinds == list(PUBLISHED)
        at = places.index(joint), kinds.index(gap.channels[gap.worst[0]].kind)
        assert distance[at] > limit[at]
        assert distance[at] - limit[at] == np.max(distance - limit)


class TestMatchState:
    """match-s, on logs that say where the base was."""

    @pytest.fixture(scope="class")
    @staticmethod
    def setting(go2):
        logs = {
            name: record(Twin("t", Physics(go2, parameters)), "walk", rollouts=3, seconds=2.5, seed=2, base=True)
            for name, parameters in (("nominal", {}), ("heavy", {"base_mass_kg": 12.0}))
        }
        return logs, {name: schedule_of(log, go2) for name, log in logs.items()}

    @pytest.mark.parametrize("horizon", [1, 20, 0])
    def test_the_true_simulator_repeats_what_was_recorded(self, go2, setting, horizon):
        logs, schedules = setting
        right, wrong = (
            match_state(logs[name], schedules[name], go2, lambda n: make_agent("walk", go2, n), horizon)[0]
            for name in ("nominal", "heavy")
        )
        assert right < (
            0.05 if horizon else 0.5
        )  # contacts are not quite what they were: the solver's warm start is not in the state
        assert wrong > 2 * right

    def test_candidates_are_scored_by_themselves(self, go2, setting):
        logs, schedules = setting
        family = SearchSpace(Physics(go2), make_knobs(go2, ("base_mass_kg",)))
        coordinates = np.array([[0.0], [family.knobs[0].coordinate(12.0)]])
        costs = match_state(
            logs["heavy"], schedules["heavy"], go2, lambda n: make_agent("walk", go2, n), 20, family, coordinates
        )
        assert costs[1] < 0.5 * costs[0]

    def test_a_joint_log_is_refused_with_the_reason(self, go2, setting):
        logs, schedules = setting
        bare = dataclasses.replace(logs["nominal"], base_position_m=None)
        with pytest.raises(GapError, match=r"does not hold base_position_m.*wasserstein"):
            match_state(bare, schedules["nominal"], go2, lambda n: make_agent("walk", go2, n), 1)

    def test_a_clock_cannot_start_in_the_middle(self, go2, setting):
        logs, schedules = setting
        with pytest.raises(GapError, match="takes a policy"):
            match_state(logs["nominal"], schedules["nominal"], go2, lambda n: make_agent("trot", go2, n), 1)

    def test_the_base_comes_back_from_a_file(self, setting, tmp_path):
        logs, _ = setting
        write_log(logs["nominal"], tmp_path / "log.parquet")
        again = read_log(tmp_path / "log.parquet")
        np.testing.assert_allclose(again.base_position_m, logs["nominal"].base_position_m, atol=1e-5)
        np.testing.assert_allclose(again.base_velocity, logs["nominal"].base_velocity, atol=1e-5)
