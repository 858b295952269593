"""What the search and its intervals rest on: influence of episodes, the metric, slopes and their noise,
coverage. No simulator.
"""

import numpy as np
import pytest
from scipy import stats

from surefoot.adapt import make_knobs
from surefoot.fit.advice import flag_of
from surefoot.fit.intervals import gain_of, student_90, uncertainty
from surefoot.fit.linear import design_around
from surefoot.fit.metric import ALONE, Metric, make_metric
from surefoot.fit.quantile import QuantileSearch
from surefoot.fit.slopes import Design, Slopes, slopes_at
from surefoot.gap.channels import Channel
from surefoot.gap.costs import Quantiles, RobotSamples
from surefoot.gap.distance import sort_channels
from surefoot.sim.parameters import PARAMETERS, Parameter

PIECES, TICKS, CHANNELS, BLOCKS = 100, 15, 3, 8


def plain_metric(m: int) -> Metric:
    """Residuals as they are, each a channel of its own."""
    return Metric(np.ones((m, 1, 1)), np.ones(m))


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


def influence_of(covariance: np.ndarray, rng: np.random.Generator, pieces: int) -> np.ndarray:
    """Pieces (pieces, n) whose products add up to the covariance, exactly."""
    n = len(covariance)
    directions = np.linalg.qr(rng.normal(size=(pieces, n)))[0]
    return directions @ np.linalg.cholesky(covariance).T


class TestMetric:
    def test_uncorrelated_residuals_of_any_size_become_one(self):
        rng = np.random.default_rng(0)
        size = np.array([3.0, 2.0, 4.0, 0.02, 0.03, 0.015])
        metric = make_metric(influence_of(np.diag(size**2), rng, 30), np.zeros(6), np.array(["position", "velocity"]))
        white = metric((rng.normal(size=(20_000, 6)) * size).T)
        np.testing.assert_allclose(np.cov(white), np.eye(6), atol=0.05)
        np.testing.assert_allclose(metric.scatter, size, rtol=1e-9)

    def test_draws_from_a_known_covariance_become_unit(self):
        """Known to the metric: each residual's own share of its scatter is taken into account on both sides."""
        rng = np.random.default_rng(1)
        blocks = 5
        correlation = 0.9 ** np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks)))
        sizes = np.array([[1.0, 2.0, 1.5, 2.5, 1.0], [0.1, 0.1, 0.2, 0.1, 0.2]])
        influence = np.concatenate(
            [influence_of(correlation * np.outer(size, size), rng, 40) for size in sizes], axis=1
        )
        metric = make_metric(influence, np.zeros(2 * blocks), np.array(["position", "position"]))
        root = np.linalg.cholesky((1 - ALONE) * correlation + ALONE * np.eye(blocks))
        draws = np.concatenate([rng.normal(size=(20_000, blocks)) @ root.T * size for size in sizes], axis=1)
        np.testing.assert_allclose(np.cov(metric(draws.T)), np.eye(2 * blocks), atol=0.06)
        plain = draws / np.concatenate(list(sizes))
        assert np.abs(np.cov(plain.T) - np.eye(2 * blocks)).max() > 0.5  # which scaling alone would not do

    def test_of_long_traces_all_residuals_of_a_channel_count_alike_and_each_for_itself(self):
        rng = np.random.default_rng(2)
        influence = rng.normal(size=(5, 1, 300)) * np.array([[1.0], [0.01]]) * rng.uniform(0.2, 3.0, 300)
        metric = make_metric(influence.reshape(5, -1), np.ones(600), np.array(["position", "velocity"]))
        one, two = np.zeros(600), rng.normal(size=600)
        one[[7, 450]] = 1.0
        white = metric(one)
        assert np.flatnonzero(white).tolist() == [7, 450]
        assert white[450] / white[7] == pytest.approx(100.0)
        assert np.unique(metric.scatter).size == 2
        assert np.vdot(metric(one), two) == pytest.approx(np.vdot(one, metric.transposed(two)), rel=1e-12)

    def test_far_from_the_goal_all_residuals_count_alike(self):
        influence = influence_of(np.diag([1.0, 1e-4, 1.0, 1e-4]), np.random.default_rng(3), 10)
        kinds = np.array(["position", "velocity", "action", "error"])
        near, far = (np.diag(make_metric(influence, np.full(4, size), kinds)(np.eye(4))) for size in (0.0, 100.0))
        assert near[1] / near[0] == pytest.approx(100.0)
        assert far[1] / far[0] == pytest.approx(1.0, rel=1e-3)

    def test_a_residual_that_never_moves_does_not_count_without_end(self):
        influence = influence_of(np.diag([1.0, 1.0, 1.0]), np.random.default_rng(4), 10)
        influence[:, 1] = 0.0
        metric = make_metric(influence, np.zeros(3), np.array(["position"]))
        assert np.isfinite(metric.whiten).all()
        assert metric.scatter[1] == pytest.approx(0.5)

    @pytest.mark.parametrize("more", [(), (3,)])
    def test_transposed_is_the_transpose(self, more):
        rng = np.random.default_rng(6)
        covariance = np.cov(rng.normal(size=(8, 30)) + rng.normal(size=30))
        metric = make_metric(influence_of(covariance, rng, 20), rng.normal(size=8), np.array(["position", "velocity"]))
        one, two = rng.normal(size=(8, *more)), rng.normal(size=(8, *more))
        assert np.vdot(metric(one), two) == pytest.approx(np.vdot(one, metric.transposed(two)), rel=1e-12)
        assert np.vdot(metric(one), two) != pytest.approx(np.vdot(one, metric(two)), rel=1e-3)


class TestSlopes:
    @staticmethod
    def parallel(rng: np.random.Generator, m: int = 200, knobs: int = 6) -> np.ndarray:
        """Slopes of which the first two are nearly parallel."""
        slopes = rng.normal(size=(m, knobs))
        slopes[:, 1] = slopes[:, 0] + 0.1 * rng.normal(size=m)
        return slopes

    @staticmethod
    def design(slopes: np.ndarray, at: np.ndarray, noise: float, rng: np.random.Generator) -> Design:
        knobs = slopes.shape[1]
        candidates = design_around(at, np.full(knobs, -9.0), np.full(knobs, 9.0), 0.5)
        return Design.of(candidates, candidates @ slopes.T + noise * rng.normal(size=(len(candidates), len(slopes))))

    def test_without_noise_a_design_shows_the_slopes_exactly(self):
        rng = np.random.default_rng(0)
        slopes, at = rng.normal(size=(30, 5)), rng.normal(size=5)
        found = self.design(slopes, at, 0.0, rng)
        np.testing.assert_allclose(found.slopes, slopes, atol=1e-10)
        np.testing.assert_allclose(found.where, at, atol=1e-12)
        np.testing.assert_allclose(found.unexplained, 0.0, atol=1e-10)
        assert found.degrees == len(found.unexplained[0]) - 6

    def test_the_noise_of_a_slope_is_what_many_designs_scatter_by(self):
        rng = np.random.default_rng(1)
        slopes = rng.normal(size=(50, 4))
        designs = [self.design(slopes, np.zeros(4), 0.3, rng) for _ in range(300)]
        scatter = np.var([design.slopes for design in designs], axis=0).sum(axis=0)  # over the residuals, for each knob
        said = np.mean([slopes_at([design], np.zeros(4), plain_metric(50)).noise for design in designs], axis=0)
        assert said == pytest.approx(scatter, rel=0.1)

    def test_several_designs_are_less_noisy_than_one(self):
        rng = np.random.default_rng(2)
        designs = [self.design(rng.normal(size=(50, 4)), np.zeros(4), 0.3, rng) for _ in range(4)]
        one, all_four = (slopes_at(some, np.zeros(4), plain_metric(50)).noise for some in (designs[:1], designs))
        assert all_four.mean() == pytest.approx(one.mean() / 4, rel=0.3)

    def test_the_corrected_steepness_is_much_nearer_to_the_truth(self):
        rng = np.random.default_rng(3)
        slopes = self.parallel(rng)
        true, free = slopes.T @ slopes, np.ones(6, dtype=bool)
        flat = np.linalg.eigh(true)[1][:, 0]  # one of the parallel knobs up, the other down
        made = [
            slopes_at([self.design(slopes, np.zeros(6), 1.0, rng)], np.zeros(6), plain_metric(200)) for _ in range(40)
        ]
        corrected, plain = [found.normal(free) for found in made], [found.white.T @ found.white for found in made]
        assert np.mean([np.linalg.norm(one - true) for one in corrected]) < 0.5 * np.mean(
            [np.linalg.norm(one - true) for one in plain]
        )
        close, far, truth = (flat @ np.mean(some, axis=0) @ flat for some in (corrected, plain, [true]))
        assert far > 8 * truth  # the noise makes the flat direction look steep
        assert abs(close - truth) < 0.35 * (far - truth)

    def test_steepness_stays_positive_however_noisy(self):
        rng = np.random.default_rng(4)
        white = rng.normal(size=(20, 3))
        normal = Slopes(white, white, np.full(3, 1e6)).normal(np.ones(3, dtype=bool))
        assert (np.linalg.eigvalsh(normal) > 0).all()

    def test_some_of_the_knobs(self):
        rng = np.random.default_rng(5)
        white = rng.normal(size=(20, 3))
        normal = Slopes(white, white, np.zeros(3)).normal(np.array([True, False, True]))
        np.testing.assert_allclose(normal, (white.T @ white)[np.ix_([0, 2], [0, 2])], rtol=1e-6)

    def test_designs_that_were_taken_far_away_count_less(self):
        rng = np.random.default_rng(6)
        near, far = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
        designs = [self.design(near, np.zeros(3), 0.0, rng), self.design(far, np.full(3, 0.5), 0.0, rng)]
        found = slopes_at(designs, np.zeros(3), plain_metric(30)).plain
        weight = np.linalg.lstsq((far - near).reshape(-1, 1), (found - near).ravel(), rcond=None)[0][0]
        assert weight == pytest.approx(1 / (1 + np.e), rel=1e-6)  # a third of what the near one counts
        beyond = [designs[0], self.design(far, np.full(3, 4.0), 0.0, rng)]
        np.testing.assert_allclose(slopes_at(beyond, np.zeros(3), plain_metric(30)).plain, near, atol=1e-9)


class TestUncertainty:
    @staticmethod
    def covered(pieces: int, logs: int) -> np.ndarray:
        """Share of the 90 % intervals that hold the truth, for each knob: a linear problem, its slopes seen
        with noise, many logs.

        Residuals as of a robot with 30 channels: neighbouring blocks go together, and all channels share
        what an episode was like.
        """
        rng = np.random.default_rng(17)
        knobs, channels, blocks = 4, 30, 20
        m = channels * blocks
        slopes = 0.2 * rng.normal(size=(channels, blocks, knobs)).cumsum(axis=1).reshape(m, knobs)
        truth = np.array([0.7, -0.4, 0.0, 0.3])
        neighbours = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks))))
        shared = rng.normal(size=(20, m)) / np.sqrt(20)
        held = []
        for _ in range(logs):
            own = (rng.normal(size=(pieces, channels, blocks)) @ neighbours.T).reshape(pieces, m)
            pulls = 0.5 * (own + rng.normal(size=(pieces, 20)) @ shared) / pieces
            search = QuantileSearch(np.full(knobs, -9.0), np.full(knobs, 9.0), np.arange(channels) % 5)
            for kind in ("look", "design"):
                ask = search.ask()
                assert ask.kind == kind
                residuals = (
                    (ask.candidates - truth) @ slopes.T
                    + pulls.sum(axis=0)
                    + 0.01 * rng.normal(size=(len(ask.candidates), m))
                )
                unused = np.zeros(len(residuals))
                search.tell(
                    ask, residuals, unused, unused, pulls - pulls.mean(axis=0) if ask.influence_function else None
                )
            held.append(np.abs(search.at + search.step() - truth) <= search.uncertainty().half_width)
        return np.mean(held, axis=0)

    @pytest.mark.parametrize("pieces", [6, 12, 50])
    def test_90_percent_intervals_hold_the_truth_about_as_often(self, pieces):
        assert 0.80 < self.covered(pieces, 60).mean() < 0.97

    def test_what_is_held_at_its_bound_neither_moves_nor_takes_part(self):
        rng = np.random.default_rng(0)
        white = rng.normal(size=(20, 3))
        slopes, influence = Slopes(white, white, np.zeros(3)), rng.normal(size=(10, 20))
        free = np.array([True, False, True])
        found = uncertainty(plain_metric(20), slopes, 0.0, free, influence)
        assert found.error[1] == found.half_width[1] == found.data_share[1] == 0.0
        assert (found.error[free] > 0).all()
        only = white[:, free]
        expected = np.linalg.solve(only.T @ only, only.T)
        np.testing.assert_allclose(gain_of(plain_metric(20), slopes, 0.0, free)[free], expected, rtol=1e-6)

    def test_all_at_their_bounds(self):
        white = np.random.default_rng(0).normal(size=(20, 2))
        found = uncertainty(
            plain_metric(20), Slopes(white, white, np.zeros(2)), 0.1, np.zeros(2, dtype=bool), np.ones((5, 20))
        )
        assert not found.error.any()
        assert not found.half_width.any()

    def test_knobs_that_do_the_same_have_errors_that_go_together(self):
        rng = np.random.default_rng(8)
        white = TestSlopes.parallel(rng, knobs=3)
        found = uncertainty(
            plain_metric(200),
            Slopes(white, white, np.zeros(3)),
            0.0,
            np.ones(3, dtype=bool),
            rng.normal(size=(50, 200)),
        )
        assert found.correlation[0, 1] < -0.95
        assert abs(found.correlation[0, 2]) < 0.5
        np.testing.assert_allclose(np.diag(found.correlation), 1.0)
        assert found.error[0] > 3 * found.error[2]

    @pytest.mark.parametrize("pieces", [5, 30])
    def test_half_widths_are_students_with_the_number_of_pieces(self, pieces):
        rng = np.random.default_rng(9)
        white = rng.normal(size=(20, 3))
        found = uncertainty(
            plain_metric(20),
            Slopes(white, white, np.zeros(3)),
            0.0,
            np.ones(3, dtype=bool),
            rng.normal(size=(pieces, 20)),
        )
        np.testing.assert_allclose(found.half_width, student_90(pieces - 1) * found.error)

    def test_told_is_the_share_that_comes_from_the_log(self):
        white = np.eye(3) * np.array([10.0, 1.0, 0.0])
        found = uncertainty(
            plain_metric(3), Slopes(white, white, np.zeros(3)), 1.0, np.ones(3, dtype=bool), np.ones((5, 3))
        )
        np.testing.assert_allclose(found.data_share, [100 / 101, 0.5, 0.0], atol=1e-3)

    @pytest.mark.parametrize("degrees", [3, 4, 5, 8, 12, 30, 200, 10_000])
    def test_students_distribution(self, degrees):
        assert student_90(degrees) == pytest.approx(stats.t.ppf(0.95, degrees), rel=0.01)

    def test_fewer_degrees_than_three_are_taken_as_three(self):
        assert student_90(0) == student_90(1) == student_90(3)


class TestAdvice:
    def test_every_parameter_that_walks_are_fitted_with_has_an_advice(self):
        from surefoot.fit.family import STAND, WALKING

        assert all(PARAMETERS[name].excitation != Parameter.excitation for name in {*WALKING, *STAND})

    @pytest.mark.parametrize(
        ("value", "half_width", "data_share", "flag", "says"),
        [
            (0.5, 0.3, 1.0, "", ""),
            (4.0, 0.3, 1.0, "at its bound", "upper bound, 4 N·m"),
            (0.0, 0.3, 1.0, "", ""),
            (0.0, 2.0, 1.0, "at its bound", "lower bound, 0 N·m"),
            (0.5, 2.0, 1.0, "not identifiable", "slow motion"),
            (0.5, 0.3, 0.4, "not identifiable", "slow motion"),
            (0.5, np.inf, 0.0, "not identifiable", "slow motion"),
        ],
    )
    def test_flags(self, robot, value, half_width, data_share, flag, says):
        knob = make_knobs(robot, ("dry_friction_nm",), "all")[0]
        knob = type(knob)(**{**vars(knob), "start": 0.0})
        found, why = flag_of(knob, knob.coordinate(value), half_width, data_share)
        assert found == flag
        assert says in why
        assert bool(why) == bool(flag)
