"""Costs: each sees what it says and nothing else, and the pieces of a log have an influence of their own."""

import dataclasses

import numpy as np
import pytest

from surefoot.errors import GapError
from surefoot.gap import COSTS, Simulated, make_cost
from surefoot.gap.channels import PUBLISHED, Channel, channels_of
from surefoot.gap.costs import Quantiles, RobotSamples
from surefoot.gap.distance import sort_channels
from surefoot.gap.schedule import spread_of

PIECES, TICKS, CHANNELS, BLOCKS = 100, 15, 3, 8


class TestInfluence:
    @staticmethod
    def drawn(rng: np.random.Generator, shared: float) -> tuple[np.ndarray, np.ndarray]:
        """Samples of robot and simulator: each piece has a command, which both meet, and chance of its own
        on each side.
        """
        command = shared * rng.normal(size=(PIECES, 1, CHANNELS))
        sides = [
            command + 0.6 * rng.normal(size=(PIECES, 1, CHANNELS)) + 0.5 * rng.normal(size=(PIECES, TICKS, CHANNELS))
            for _ in range(2)
        ]
        robot, simulator = (side.reshape(-1, CHANNELS).astype(np.float32) for side in sides)
        return robot, simulator

    @staticmethod
    def quantiles(robot: np.ndarray) -> Quantiles:
        channels = tuple(Channel(f"joint {k}", "position") for k in range(CHANNELS))
        return Quantiles(
            RobotSamples(robot, np.repeat(np.arange(PIECES), TICKS), channels, np.array([1.0, 2.0, 0.5])), BLOCKS
        )

    @pytest.mark.parametrize("shared", [0.0, 1.5])
    def test_squares_over_the_pieces_are_the_variance_from_draw_to_draw(self, shared):
        rng = np.random.default_rng(11)
        residuals, squares = [], []
        for _ in range(600):
            robot, simulator = self.drawn(rng, shared)
            quantiles = self.quantiles(robot)
            residuals.append(quantiles.residual(sort_channels(simulator)))
            squares.append(np.square(quantiles.influence_function(simulator)).sum(axis=0))
        expected = np.var(residuals, axis=0)
        assert np.mean(squares, axis=0) == pytest.approx(expected, rel=0.25)

    def test_pieces_add_up_to_zero_even_far_from_zero_in_single_precision(self):
        robot, simulator = self.drawn(np.random.default_rng(5), 1.0)
        found = self.quantiles(robot - 20.0).influence_function(simulator - 20.0)
        assert found.shape == (PIECES, CHANNELS * BLOCKS)
        assert (np.abs(found.sum(axis=0)) < 0.01 * np.linalg.norm(found, axis=0)).all()
        assert np.linalg.norm(found, axis=0).min() > 0.01

    def test_a_simulator_that_is_the_robot_has_none(self):
        robot, _ = self.drawn(np.random.default_rng(5), 1.0)
        assert not self.quantiles(robot).influence_function(robot.copy()).any()

    def test_the_piece_that_is_far_off_pulls_most(self):
        robot, simulator = self.drawn(np.random.default_rng(5), 1.0)
        simulator[7 * TICKS : 8 * TICKS] += 3.0
        pull = np.square(self.quantiles(robot).influence_function(simulator)).sum(axis=1)
        assert int(np.argmax(pull)) == 7


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
