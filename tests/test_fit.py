"""The search: designs, least squares within bounds, knobs, and a Gauss-Newton that finds a known answer."""

import numpy as np
import pytest

from surefoot.adapt import SearchSpace, make_knobs, read_priors
from surefoot.errors import FitError
from surefoot.fit.linear import bounded_least_squares, two_level_design
from surefoot.fit.quantile import Ask, QuantileSearch, QuantileSettings
from surefoot.robot.legs import joint_types
from surefoot.sim import Worlds
from surefoot.sim.physics import Physics


class TestDesign:
    @pytest.mark.parametrize("knobs", [1, 3, 7, 12, 27, 38])
    def test_columns_are_orthogonal(self, knobs):
        made = two_level_design(knobs)
        assert set(np.unique(made)) <= {-1.0, 1.0}
        assert len(made) <= knobs + 12
        np.testing.assert_allclose(made.T @ made, len(made) * np.eye(knobs), atol=1e-9)
        np.testing.assert_allclose(made.sum(axis=0), 0.0, atol=1e-9)


class TestBoundedLeastSquares:
    def test_inside_it_is_plain_least_squares(self):
        rng = np.random.default_rng(0)
        a, x = rng.normal(size=(20, 4)), np.array([0.1, -0.2, 0.3, 0.0])
        np.testing.assert_allclose(bounded_least_squares(a, a @ x, np.full(4, -1.0), np.full(4, 1.0)), x, atol=1e-9)

    def test_what_leaves_its_bounds_is_held_and_the_rest_makes_up_for_it(self):
        a = np.array([[1.0, 1.0], [0.0, 0.1]])
        found = bounded_least_squares(a, a @ np.array([3.0, 0.0]), np.array([-1.0, -5.0]), np.array([1.0, 5.0]))
        assert found[0] == 1.0
        assert found[1] == pytest.approx(2 * 1 / 1.01, rel=1e-6)


class TestJointTypes:
    def test_joints_of_the_same_part_are_together(self, robot):
        types = joint_types(robot)
        assert sorted(k for joints in types.values() for k in joints) == list(range(robot.contract.n_joints))
        assert len(types) == 3
        for label, joints in types.items():
            assert len(joints) == len(robot.feet)
            assert all(robot.contract.joints[k].endswith(label) for k in joints)


class TestKnobs:
    def test_turns_and_values_are_inverse(self, robot):
        for knob in make_knobs(robot, ("armature_kgm2", "dry_friction_nm", "delay_s", "floor_friction"), "type"):
            assert knob.value(np.array(0.0)) == pytest.approx(knob.origin)
            assert float(knob.value(np.array(knob.coordinate(0.5 * (knob.low + knob.high))))) == pytest.approx(
                0.5 * (knob.low + knob.high)
            )
            assert float(knob.value(np.array(100.0))) == knob.high

    def test_each_candidate_reaches_its_own_worlds(self, robot):
        family = SearchSpace(
            Physics(robot, {"motor_strength": 0.9}),
            make_knobs(robot, ("dry_friction_nm", "delay_s", "floor_friction"), "type"),
        )
        coordinates = np.array([[0.0] * len(family.knobs), [0.5] * len(family.knobs)])
        worlds = Worlds(robot, 4)
        family.apply(worlds, coordinates, 2)
        expected = family.values(coordinates)
        friction, floor = worlds.get("dry_friction_nm"), worlds.get("floor_friction")
        for candidate in range(2):
            for row in (2 * candidate, 2 * candidate + 1):
                for k, knob in enumerate(family.knobs):
                    if knob.parameter == "dry_friction_nm":
                        np.testing.assert_allclose(friction[row, list(knob.entries)], expected[candidate, k])
                assert floor[row] == pytest.approx(expected[candidate, -1])
        assert (worlds.get("motor_strength") == 0.9).all()
        np.testing.assert_allclose(family.at(coordinates[1]).parameters["floor_friction"], expected[1, -1])

    def test_ties(self, go2):
        counts = {
            tie: len(make_knobs(go2, ("dry_friction_nm", "delay_s"), tie)) for tie in ("none", "mirror", "type", "all")
        }
        assert counts == {"none": 13, "mirror": 7, "type": 4, "all": 2}
        assert len(make_knobs(go2, ("dry_friction_nm[*_calf_joint]",))) == 4

    @pytest.mark.parametrize(
        ("names", "tie", "says"),
        [
            (("dry_frictoin_nm",), "none", "dry_friction_nm"),
            (("dry_friction_nm[*_elbow]",), "none", "names no joint"),
            (("dry_friction_nm", "dry_friction_nm"), "none", "free twice"),
            (("link_mass_kg",), "none", "link_mass_kg"),
            (("dry_friction_nm",), "legs", "must be one of"),
        ],
    )
    def test_bad_names(self, go2, names, tie, says):
        with pytest.raises(FitError, match=says):
            make_knobs(go2, names, tie)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("dry_friction_nm: {low: 1, high: 0, step: 0.1}", "low < high"),
            ("dry_friction_nm: {low: 0, high: 1}", "it takes start"),
            ("armature_kgm2: {low: 0, high: 1, step: 2, log: true}", "above 0, on a log scale"),
            ("dry_friktion: {low: 0, high: 1, step: 0.1}", "dry_friction_nm"),
        ],
    )
    def test_bad_priors(self, tmp_path, text, says):
        (tmp_path / "priors.yaml").write_text(text)
        with pytest.raises(FitError, match=says):
            read_priors(tmp_path / "priors.yaml")

    def test_a_users_prior_wins(self, go2, tmp_path):
        (tmp_path / "priors.yaml").write_text("dry_friction_nm: {start: 0.5, low: 0.1, high: 2, step: 0.2}")
        knob = make_knobs(go2, ("dry_friction_nm",), "all", read_priors(tmp_path / "priors.yaml"))[0]
        assert (knob.start, knob.low, knob.high) == (0.5, 0.1, 2.0)


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

    def search(self, seed: int = 0, **settings: object) -> QuantileSearch:
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
