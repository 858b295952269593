"""The search by quantiles: a Gauss-Newton that finds a known answer."""

from typing import Any

import numpy as np
import pytest

from surefoot.fit.quantile import Ask, QuantileSearch, QuantileSettings


class Toy:
    """A curved problem with six knobs and a log of 32 pieces: robot and simulator scatter from piece to piece, the
    simulator with the seed too.
    """

    def __init__(self, last: float = 2.5, scatter: float = 0.3, pieces: int = 32):
        rng = np.random.default_rng(3)
        self.truth = np.array([1.0, -0.8, 0.3, 2.0, -2.0, last])
        self.kinds = np.repeat(["position", "velocity"], 3)
        self._slopes, self._bend = rng.normal(size=(120, 6)), 0.05 * rng.normal(size=(120, 6))
        self._scatter, self._robot = scatter, scatter * rng.normal(size=(pieces, 120))
        self.asked: list[Ask] = []

    def search(self, seed: int = 0, **settings: Any) -> QuantileSearch:
        return QuantileSearch(np.full(6, -3.0), np.full(6, 3.0), self.kinds, seed, QuantileSettings(**settings))

    def advance(self, search: QuantileSearch) -> None:
        ask = search.ask()
        self.asked.append(ask)
        rng, n = np.random.default_rng(ask.seed), len(self._robot)
        chosen = rng.permutation(n)[: max(4, round(ask.share * n))]
        pulls = self._robot[chosen] + self._scatter * rng.normal(size=(len(chosen), 120))
        off = ask.candidates - self.truth
        residuals = off @ self._slopes.T + np.square(off) @ self._bend.T + pulls.mean(axis=0)
        influence = (pulls - pulls.mean(axis=0)) / len(chosen) if ask.influence_function else None
        search.tell(ask, residuals, np.abs(residuals).mean(axis=1), np.zeros(len(off)), influence)

    def solve(self, search: QuantileSearch, most: int = 100) -> QuantileSearch:
        for _ in range(most):
            if search.done is not None:
                return search
            self.advance(search)
        raise AssertionError(f"not done after {most} questions")


class TestQuantileSearch:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_finds_the_answer_and_says_that_it_is_done(self, seed):
        toy = Toy()
        search = toy.solve(toy.search(seed))
        assert search.done == "settled"
        assert np.abs(search.at - toy.truth).max() < 0.1
        assert search.costs[-1] < 0.5 * search.costs[0]
        assert len(search.path) == len(search.costs) == len(search.objective) == search.iteration

    def test_the_answer_beyond_a_bound_ends_there_and_no_candidate_leaves_the_bounds(self):
        toy = Toy(last=4.0)
        search = toy.solve(toy.search())
        assert search.at[-1] == 3.0
        assert all((np.abs(ask.candidates) <= 3.0).all() for ask in toy.asked)

    def test_a_start_outside_of_the_bounds_is_moved_onto_them(self):
        search = QuantileSearch(np.array([0.5]), np.array([2.0]), np.array(["position"]))
        assert np.array_equal(search.at, [0.5])

    def test_is_the_same_again_bit_for_bit_and_another_seed_is_not(self):
        one, two, other = (toy.solve(toy.search(seed)) for toy, seed in ((Toy(), 4), (Toy(), 4), (Toy(), 5)))
        assert np.array_equal(np.array(one.path), np.array(two.path))
        assert one.costs == two.costs
        assert not np.array_equal(one.at, other.at)

    def test_looks_then_designs_then_steps_and_polishes_at_the_end(self):
        toy = Toy()
        toy.solve(toy.search())
        kinds = [ask.kind for ask in toy.asked]
        assert kinds[:3] == ["look", "design", "steps"]
        assert kinds.count("look") == 1
        assert kinds.count("polish") == QuantileSettings().polish_runs * QuantileSettings().polish_rounds
        first = kinds.index("polish")
        assert "steps" not in kinds[first:]
        assert all(kinds[k - 1] == "design" for k, kind in enumerate(kinds) if kind == "steps")

    def test_asks_for_more_pieces_when_few_no_longer_tell_the_way(self):
        toy = Toy()
        search = toy.solve(toy.search())
        for kind in ("design", "steps"):
            share = [ask.share for ask in toy.asked if ask.kind == kind]
            assert share == sorted(share)
            assert share[-1] > share[0]
        assert search.level == len(search.settings.levels) - 1
        assert {ask.share for ask in toy.asked if ask.kind == "polish"} == {1.0}

    def test_every_question_has_noise_of_its_own_and_its_candidates_share_it(self):
        toy = Toy()
        toy.solve(toy.search())
        walking = [ask.seed for ask in toy.asked if ask.kind == "steps"]
        polishing = [ask.seed for ask in toy.asked if ask.kind == "polish"]
        assert len({*walking, *polishing}) == len(walking) + len(polishing)
        assert all(
            np.array_equal(ask.candidates[0], ask.candidates.mean(axis=0)) for ask in toy.asked if ask.kind == "polish"
        )

    def test_asking_changes_nothing(self):
        toy = Toy()
        search = toy.search()
        for _ in range(6):
            one, two = search.ask(), search.ask()
            assert (one.kind, one.seed, one.share, one.influence_function) == (
                two.kind,
                two.seed,
                two.share,
                two.influence_function,
            )
            assert np.array_equal(one.candidates, two.candidates)
            toy.advance(search)

    def test_a_candidate_that_falls_is_not_taken_for_a_slightly_better_residual(self):
        toy = Toy()
        search = toy.search()
        while search.ask().kind != "steps":
            toy.advance(search)
        ask = search.ask()
        near = 0.01 * np.random.default_rng(0).normal(size=120)
        residuals = near * np.array([1.0, 0.9, 0.95, 1.0])[:, None]
        search.tell(ask, residuals, np.ones(4), np.array([0.0, 1.0, 0.0, 0.0]))
        assert np.array_equal(search.at, ask.candidates[2])

    def test_ends_after_most_iterations_even_if_it_never_settles(self):
        toy = Toy()
        toy.solve(toy.search(settled=0.0, most_iterations=5))
        assert sum(ask.kind == "steps" for ask in toy.asked) <= 6

    def test_what_the_log_cannot_tell_stays_where_it_was(self):
        toy = Toy()
        toy._slopes[:, 2] = toy._bend[:, 2] = 0.0
        search = toy.solve(toy.search())
        assert abs(search.at[2]) < 0.1
        data_share = search.uncertainty().data_share
        assert data_share[2] < 0.5
        assert (np.delete(data_share, 2) > 0.95).all()

    def test_what_the_log_cannot_tell_is_pulled_back_from_elsewhere(self):
        toy = Toy()
        toy._slopes[:, 2] = toy._bend[:, 2] = 0.0
        search = toy.search()
        search.start = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
        assert abs(toy.solve(search).at[2]) < 0.5

    def test_remaining_time_falls_to_nothing(self):
        toy = Toy()
        search = toy.search()
        assert np.isnan(search.remaining(0.0))
        left = []
        while search.done is None:
            toy.advance(search)
            left.append(search.remaining(60.0))
        assert left[-1] == 0.0
        assert np.nanmax(left) > 10.0
