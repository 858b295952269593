"""The search: designs, least squares within bounds, knobs, and a Gauss-Newton that finds a known answer."""

import numpy as np
import pytest

from surefoot.adapt import Static, make_knobs, read_priors
from surefoot.errors import FitError
from surefoot.fit.linear import bounded_least_squares, two_level_design
from surefoot.fit.quantile import QuantileSearch
from surefoot.robot.legs import joint_types
from surefoot.sim import Worlds


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
            assert float(knob.value(np.array(knob.turns(0.5 * (knob.low + knob.high))))) == pytest.approx(0.5 * (knob.low + knob.high))
            assert float(knob.value(np.array(100.0))) == knob.high

    def test_each_candidate_reaches_its_own_worlds(self, robot):
        family = Static(robot, make_knobs(robot, ("dry_friction_nm", "delay_s", "floor_friction"), "type"), {"motor_strength": 0.9})
        turns = np.array([[0.0] * len(family.knobs), [0.5] * len(family.knobs)])
        worlds = Worlds(robot, 4)
        family.apply(worlds, turns, 2)
        expected = family.values(turns)
        friction, floor = worlds.get("dry_friction_nm"), worlds.get("floor_friction")
        for candidate in range(2):
            for row in (2 * candidate, 2 * candidate + 1):
                for k, knob in enumerate(family.knobs):
                    if knob.parameter == "dry_friction_nm":
                        np.testing.assert_allclose(friction[row, list(knob.entries)], expected[candidate, k])
                assert floor[row] == pytest.approx(expected[candidate, -1])
        assert (worlds.get("motor_strength") == 0.9).all()
        np.testing.assert_allclose(family.settings(turns[1])["floor_friction"], expected[1, -1])

    def test_ties(self, go2):
        counts = {tie: len(make_knobs(go2, ("dry_friction_nm", "delay_s"), tie)) for tie in ("none", "mirror", "type", "all")}
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


class TestQuantileSearch:
    @staticmethod
    def solve(iterations: int, last: float = 2.5, noise: float = 0.01) -> tuple[QuantileSearch, np.ndarray]:
        """A curved problem with six knobs; residuals scatter with the seed."""
        rng = np.random.default_rng(3)
        a, bend = rng.normal(size=(120, 6)), 0.05 * rng.normal(size=(120, 6))
        truth = np.array([1.0, -0.8, 0.3, 2.0, -2.0, last])
        search = QuantileSearch(np.full(6, -3.0), np.full(6, 3.0))
        while search.iteration < iterations:
            ask = search.ask()
            off = ask.candidates - truth
            scatter = noise * np.random.default_rng(ask.seed).normal(size=(1, 120))
            search.tell(ask, off @ a.T + np.square(off) @ bend.T + scatter, np.abs(off).mean(axis=1), np.zeros(len(off)))
        return search, truth

    def test_finds_the_answer(self):
        search, truth = self.solve(10)
        assert np.abs(search.at - truth).max() < 0.1
        assert search.costs[-1] < 0.2 * search.costs[0]

    def test_stays_within_bounds(self):
        search, _ = self.solve(10, last=4.0)
        assert search.at[-1] == 3.0

    def test_is_the_same_again(self):
        one, two = self.solve(3)[0], self.solve(3)[0]
        assert np.array_equal(one.at, two.at)
