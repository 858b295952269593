"""CMA-ES: finds a known answer under noise, stays within bounds, and goes on exactly where it was interrupted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from surefoot.errors import FitError
from surefoot.fit.cma import CmaSearch, CmaSettings
from surefoot.fit.quantile import Ask

Answers = tuple[np.ndarray, np.ndarray, np.ndarray]  # residuals, cost, fallen
TRUTH = np.array([1.0, -0.8, 0.3, 2.0, -2.0, 2.5])


def curved(truth: np.ndarray, noise: float) -> Callable[[Ask], Answers]:
    """A curved problem; each candidate has noise of its own, which changes with the seed."""
    rng, n = np.random.default_rng(3), len(truth)
    a, bend = rng.normal(size=(20 * n, n)), 0.05 * rng.normal(size=(20 * n, n))

    def answer(ask: Ask) -> Answers:
        off = ask.candidates - truth
        residuals = off @ a.T + np.square(off) @ bend.T
        residuals += noise * np.random.default_rng(ask.seed).normal(size=residuals.shape)
        return residuals, np.abs(residuals).mean(axis=1), np.zeros(len(off))

    return answer


def solve(search: CmaSearch, answer: Callable[[Ask], Answers], generations: int) -> CmaSearch:
    while search.iteration < generations and search.done is None:
        ask = search.ask()
        search.tell(ask, *answer(ask))
    return search


def six(seed: int = 0, **settings: Any) -> CmaSearch:
    return CmaSearch(np.full(6, -3.0), np.full(6, 3.0), seed, CmaSettings(**settings))


def answers_of(ask: Ask, cost: np.ndarray, fallen: float | np.ndarray = 0.0) -> Answers:
    return np.zeros((len(cost), 1)), cost, np.broadcast_to(fallen, len(cost))


class TestFindsTheAnswer:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_under_noise_that_hides_small_steps(self, seed):
        search = solve(six(seed), curved(TRUTH, 1.0), 150)
        assert np.abs(search.at - TRUTH).max() < 0.15
        assert search.costs[-1] < 0.3 * search.costs[0]

    def test_adapting_the_learning_rate_helps_under_heavy_noise(self):
        def off(adapt: bool) -> float:
            ends = [solve(six(seed, lr_adapt=adapt), curved(TRUTH, 3.0), 150).at for seed in range(4)]
            return np.abs(np.array(ends) - TRUTH).mean()

        assert off(True) < 0.6 * off(False)

    def test_beyond_a_bound_it_ends_there(self):
        beyond = np.where(np.arange(6) == 5, 4.0, TRUTH)
        search = solve(six(), curved(beyond, 0.3), 150)
        assert 2.9 < search.at[-1] <= 3.0

    def test_candidates_are_within_bounds_however_narrow(self):
        low, high = np.array([-0.01, 0.0, 2.0]), np.array([0.01, 5.0, 2.5])
        search = CmaSearch(low, high)
        assert np.array_equal(search.at, [0.0, 0.0, 2.0])
        for _ in range(20):
            ask = search.ask()
            assert ((ask.candidates >= low) & (ask.candidates <= high)).all()
            search.tell(ask, *curved(np.array([0.0, 1.0, 3.0]), 0.1)(ask))

    def test_sixty_knobs_without_their_correlations(self):
        truth = np.random.default_rng(5).uniform(-0.5, 2.0, 60)
        search = CmaSearch(np.full(60, -0.5), np.full(60, 8.0), settings=CmaSettings(separable=True))
        solve(search, curved(truth, 0.3), 250)
        assert np.abs(search.at - truth).mean() < 0.1

    @pytest.mark.parametrize("separable", [False, True])
    def test_one_knob(self, separable):
        search = CmaSearch(np.array([-3.0]), np.array([3.0]), settings=CmaSettings(separable=separable))
        assert solve(search, curved(np.array([1.5]), 0.01), 60).at == pytest.approx([1.5], abs=0.02)


class TestHonesty:
    def test_costs_are_of_the_estimate_and_not_of_a_lucky_candidate(self):
        """Where nothing but noise decides, the best candidate looks good and the estimate does not."""
        search, best = six(), []
        for _ in range(60):
            ask = search.ask()
            cost = 1.0 + 0.1 * np.random.default_rng(ask.seed).normal(size=len(ask.candidates))
            search.tell(ask, *answers_of(ask, cost))
            best.append(cost.min())
        assert np.mean(search.costs) == pytest.approx(1.0, abs=0.04)
        assert np.mean(best) < 0.9

    def test_the_path_holds_what_was_measured(self):
        search = six()
        for _ in range(3):
            before, ask = search.at, search.ask()
            residuals, cost, fallen = curved(TRUTH, 0.1)(ask)
            search.tell(ask, residuals, cost, fallen)
            assert np.array_equal(search.path[-1], before)
            assert search.costs[-1] == cost[0]
            assert not np.array_equal(search.at, before)

    def test_noise_is_shared_in_a_generation_and_new_in_the_next(self):
        searches = [six(seed) for seed in (0, 1)]
        seeds = []
        for search in searches:
            for _ in range(200):
                ask = search.ask()
                seeds.append(ask.seed)
                search.tell(ask, *curved(TRUTH, 1.0)(ask))
        assert len(set(seeds)) == len(seeds)
        assert (ask.kind, ask.share, len(ask.candidates)) == ("population", 1.0, 4 + int(3 * np.log(6)) + 1)


class TestScoring:
    @staticmethod
    def moved(cost: Callable[[np.ndarray], np.ndarray], fallen: Callable[[np.ndarray], np.ndarray]) -> CmaSearch:
        search = six()
        for _ in range(10):
            ask = search.ask()
            search.tell(ask, *answers_of(ask, cost(ask.candidates[:, 0]), fallen(ask.candidates[:, 0])))
        return search

    def test_falling_counts(self):
        away = self.moved(lambda x: np.full(len(x), 2.0), lambda x: np.clip(x, 0.0, 1.0))
        assert away.at[0] < -0.1
        assert away.objective[0] == 2.0
        fell = self.moved(lambda x: np.full(len(x), 2.0), lambda x: np.full(len(x), 0.5))
        assert (fell.objective[-1], fell.costs[-1]) == (3.0, 2.0)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_cost_that_is_not_finite_is_the_worst(self, bad):
        search = self.moved(lambda x: np.where(x < 0, bad, 5.0 + 0.1 * x), np.zeros_like)
        assert search.at[0] > 0.1
        assert np.isfinite(search.at).all()
        assert search.done is None

    def test_a_generation_without_any_answer_changes_nothing_but_the_draw(self):
        search = six()
        first = search.ask()
        search.tell(first, *answers_of(first, np.full(len(first.candidates), np.nan)))
        second = search.ask()
        assert np.array_equal(search.at, np.zeros(6))
        assert search.iteration == 1
        assert not np.array_equal(first.candidates[1:], second.candidates[1:])


class TestDone:
    def test_when_the_population_has_settled(self):
        search = solve(six(lr_adapt=False), curved(TRUTH, 0.0), 400)
        assert "less than 0.001 turns" in (search.done or "")
        assert search.iteration < 400
        assert np.abs(search.at - TRUTH).max() < 0.01

    def test_when_the_costs_are_flat(self):
        search = six(lr_adapt=False, sigma=0.5)
        solve(search, lambda ask: answers_of(ask, np.ones(len(ask.candidates))), 400)
        assert "costs are flat" in (search.done or "")

    @pytest.mark.parametrize(
        ("settings", "says"), [({"population": 3}, "population is 3"), ({"sigma": 0.0}, "sigma is 0.0")]
    )
    def test_settings_that_cannot_work(self, settings, says):
        with pytest.raises(FitError, match=says):
            CmaSettings(**settings)

    def test_the_smallest_population(self):
        assert np.abs(solve(six(population=4, lr_adapt=False), curved(TRUTH, 0.0), 400).at - TRUTH).max() < 0.2


class TestReplay:
    """A search that is told what an earlier one was told is that search, to the last bit."""

    @pytest.mark.parametrize("settings", [{}, {"lr_adapt": False}, {"separable": True}, {"population": 20}])
    @pytest.mark.parametrize("asking", [True, False])
    def test_rebuilt_at_any_generation(self, settings, asking):
        answer, told = curved(TRUTH, 1.0), []
        whole = six(7, **settings)
        for _ in range(30):
            ask = whole.ask()
            whole.ask()  # asking again, or whether it is done, must not matter
            told.append((ask, answer(ask)))
            whole.tell(ask, *told[-1][1])
        for interrupted in (0, 1, 2, 13, 29):
            search = six(7, **settings)
            for ask, answers in told[:interrupted]:
                if asking:
                    again = search.ask()
                    assert np.array_equal(again.candidates, ask.candidates)
                    assert search.done is None
                search.tell(ask, *answers)
            for ask, answers in told[interrupted:]:
                again = search.ask()
                assert again.seed == ask.seed
                assert np.array_equal(again.candidates, ask.candidates)
                search.tell(again, *answers)
            assert np.array_equal(search.at, whole.at)
            assert search.costs == whole.costs
            assert np.array_equal(search.path, whole.path)

    def test_another_seed_is_another_search(self):
        one, two = six(0).ask(), six(1).ask()
        assert not np.array_equal(one.candidates[1:], two.candidates[1:])
