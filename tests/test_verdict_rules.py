"""The rules of a verdict on made-up figures: each of them alone turns GO into NO-GO, and nothing else does."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from surefoot.adapt import Adaptation, Fitted
from surefoot.verify.candidates import (
    KnobInterval,
    characterized,
    correlations,
    draw,
    settings_at,
    spans_of,
    worst_corner,
)
from surefoot.verify.compare import PER_EPISODE, Compared, Estimate, FallCounts, Side, estimate, student, widened
from surefoot.verify.rules import (
    ADAPTED,
    CLEARLY_WORSE,
    ENERGY_FACTOR,
    LEAST_GAIN,
    MOST_FALLS,
    NOMINAL,
    POOLED,
    ROUGH_FACTOR,
    TOGETHER,
    TRIFLE,
    better,
    judge,
    worse,
)

FULL = {"velocity_error_m_s": 1.0, "turn_error_rad_s": 1.0, "drift_m": 12.0, "way_error_m": 12.0}
OLD = {
    "velocity_error_m_s": 0.1,
    "turn_error_rad_s": 0.1,
    "drift_m": 2.0,
    "way_error_m": 2.0,
    "power_w": 50.0,
    "action_change": 0.2,
    "joint_acceleration_rad_s2": 100.0,
}
NO_FALLS = FallCounts(40, 0, 0, 0)


def about(value: float, half: float = 0.0) -> Estimate:
    return Estimate(value, value - half, value + half, 10)


def made(
    name: str,
    half: float = 0.001,
    falls: FallCounts = NO_FALLS,
    pushed: FallCounts = NO_FALLS,
    cost: float = 1.0,
    **new: float,
) -> Compared:
    """A simulator in which the new policy is like the old one but for what is given."""
    after = OLD | new
    sides = [Side({name: about(value) for name, value in figures.items()}, 1.0, {}, {}, {}) for figures in (OLD, after)]
    sides[1] = dataclasses.replace(sides[1], cost_of_transport=cost)
    return Compared(
        name, sides[0], sides[1], {figure: about(after[figure] - OLD[figure], half) for figure in OLD}, falls, pushed
    )


GOOD = made(ADAPTED, velocity_error_m_s=0.08)
SAME = made(NOMINAL)


def rules(
    *named: Compared, pooled: Compared | None = None, candidates: tuple[Compared, ...] = ()
) -> set[tuple[str, str]]:
    reasons, _ = judge(named, pooled, candidates, FULL)
    return {(reason.rule, reason.simulator) for reason in reasons}


def test_made_up_figures_are_those_that_are_compared() -> None:
    assert set(OLD) == set(PER_EPISODE)


class TestJudge:
    def test_better_where_it_counts_and_the_same_elsewhere_is_go(self) -> None:
        reasons, gains = judge([SAME, GOOD], made(POOLED), [made("candidate 1")], FULL)
        assert reasons == ()
        assert gains == ("velocity error 0.100 → 0.080 m/s (-0.020 ± 0.001)",)

    @pytest.mark.parametrize("figure", list(FULL))
    def test_any_of_the_four_is_a_gain(self, figure) -> None:
        assert rules(SAME, made(ADAPTED, **{figure: 0.8 * OLD[figure]})) == set()

    def test_no_change_is_not_better(self) -> None:
        reasons, gains = judge([SAME, made(ADAPTED)], None, [], FULL)
        assert [reason.rule for reason in reasons] == ["not better"]
        assert gains == ()

    def test_a_gain_within_its_uncertainty_is_not_better(self) -> None:
        assert rules(SAME, made(ADAPTED, half=0.021, velocity_error_m_s=0.08)) == {("not better", ADAPTED)}

    def test_one_of_several_figures_is_held_to_more_than_one_alone(self) -> None:
        assert rules(SAME, made(ADAPTED, half=0.018, velocity_error_m_s=0.08)) == {("not better", ADAPTED)}
        assert rules(SAME, made(ADAPTED, half=0.012, velocity_error_m_s=0.08)) == set()

    def test_a_certain_trifle_is_not_better(self) -> None:
        gain = 1 - 0.9 * LEAST_GAIN
        assert rules(SAME, made(ADAPTED, half=1e-6, velocity_error_m_s=0.1 * gain)) == {("not better", ADAPTED)}

    def test_what_cannot_be_measured_is_not_better(self) -> None:
        nothing = dict.fromkeys(OLD, estimate(np.array([])))
        assert ("not better", ADAPTED) in rules(SAME, dataclasses.replace(GOOD, change=nothing))

    @pytest.mark.parametrize("where", [NOMINAL, POOLED, "twin worn"])
    def test_paid_for_elsewhere(self, where) -> None:
        hurt = made(where, turn_error_rad_s=0.12)
        named = [SAME if where != NOMINAL else hurt, GOOD, *([hurt] if where.startswith("twin") else [])]
        assert rules(*named, pooled=hurt if where == POOLED else None) == {("worse", where)}

    def test_paid_for_in_another_figure_of_the_same_simulator(self) -> None:
        assert rules(SAME, made(ADAPTED, velocity_error_m_s=0.08, drift_m=2.5)) == {("worse", ADAPTED)}

    def test_the_worst_candidate_is_named_and_the_others_counted(self) -> None:
        bad = [made(f"candidate {k}", drift_m=2.0 + k) for k in range(4)]
        reasons, _ = judge([SAME, GOOD], made(POOLED), bad, FULL)
        assert [(reason.rule, reason.simulator) for reason in reasons] == [("worse", "candidate 3")]
        assert "and in 2 more of 4" in reasons[0].says

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({"cost": 1.01 * ENERGY_FACTOR}, "energy"),
            ({"action_change": 0.2 * 1.01 * ROUGH_FACTOR}, "rough"),
            ({"joint_acceleration_rad_s2": 101 * ROUGH_FACTOR}, "rough"),
        ],
    )
    def test_effort_that_explodes(self, change, expected) -> None:
        assert rules(SAME, made(ADAPTED, velocity_error_m_s=0.08, **change)) == {(expected, ADAPTED)}
        assert rules(SAME, GOOD, candidates=(made("corner 1", **change),)) == {(expected, "corner 1")}
        below = {name: 0.98 * value for name, value in change.items()}
        assert rules(SAME, made(ADAPTED, velocity_error_m_s=0.08, **below)) == set()

    def test_worse_needs_size_and_certainty(self) -> None:
        assert worse(made("a", velocity_error_m_s=0.1 * (1 + 1.1 * CLEARLY_WORSE)), "velocity_error_m_s", FULL)
        assert not worse(made("a", velocity_error_m_s=0.1 * (1 + 0.9 * CLEARLY_WORSE)), "velocity_error_m_s", FULL)
        assert not worse(made("a", half=0.03, velocity_error_m_s=0.12), "velocity_error_m_s", FULL)
        assert not worse(
            made("a", drift_m=2.0 + 0.5), "drift_m", FULL | {"drift_m": 0.6 / TRIFLE}
        )  # large against itself, not against the way
        assert better(GOOD, "velocity_error_m_s")


class TestFalls:
    @pytest.mark.parametrize("kind", ["falls", "pushed"])
    @pytest.mark.parametrize("where", [NOMINAL, ADAPTED, POOLED])
    def test_more_than_chance_explains(self, kind, where) -> None:
        falls = {kind: FallCounts(100, 0, 4, 4)}
        named = [
            made(NOMINAL, **(falls if where == NOMINAL else {})),
            made(ADAPTED, velocity_error_m_s=0.08, **(falls if where == ADAPTED else {})),
        ]
        assert rules(*named, pooled=made(POOLED, **falls) if where == POOLED else None) == {("more falls", where)}

    def test_a_few_everywhere_are_too_many_together(self) -> None:
        few = {"falls": FallCounts(40, 0, 3, 3)}
        assert rules(made(NOMINAL, **few), GOOD) == set()
        better = made(ADAPTED, velocity_error_m_s=0.08, **few)
        assert rules(made(NOMINAL, **few), better, pooled=made(POOLED, **few)) == {("more falls", TOGETHER)}

    def test_a_virtual_robot_that_falls_often_now(self) -> None:
        assert ("falls too often", "twin") in rules(SAME, GOOD, made("twin", falls=FallCounts(20, 1, 4, 3)))

    def test_what_chance_explains(self) -> None:
        assert rules(made(NOMINAL, falls=FallCounts(100, 3, 4, 3)), GOOD) == set()

    def test_fewer_falls_are_no_reason(self) -> None:
        assert rules(made(NOMINAL, falls=FallCounts(100, 20, 2, 1)), GOOD) == set()

    def test_one_of_many_candidates_needs_more(self) -> None:
        four = made("candidate 1", pushed=FallCounts(8, 0, 4, 4))
        assert rules(SAME, GOOD, candidates=(four,)) == {("more falls", "candidate 1")}
        assert rules(SAME, GOOD, candidates=(four, *[made(f"candidate {k}") for k in range(2, 17)])) == set()

    def test_a_robot_that_falls_as_often_as_before_is_still_not_ready(self) -> None:
        count = round(100 * MOST_FALLS) + 1
        assert rules(SAME, made(ADAPTED, velocity_error_m_s=0.08, falls=FallCounts(100, count, count, 0))) == {
            ("falls too often", ADAPTED)
        }

    @pytest.mark.parametrize(("only_before", "only_after"), [(0, 0), (0, 4), (3, 5), (7, 1)])
    def test_chance_is_the_sign_test(self, only_before, only_after) -> None:
        both = 2
        found = FallCounts(50, both + only_before, both + only_after, only_after).chance
        differ = only_before + only_after
        assert found == pytest.approx(
            stats.binomtest(only_after, differ, alternative="greater").pvalue if differ else 1.0
        )

    def test_counted_in_pairs(self) -> None:
        old, new = np.array([1, 1, 0, 0, 0], bool), np.array([1, 0, 1, 1, 0], bool)
        assert FallCounts.of(old, new) == FallCounts(5, 2, 3, 2)


class TestEstimates:
    @pytest.mark.parametrize("level", [0.9, 0.99])
    @pytest.mark.parametrize("degrees", [1, 2, 3, 7, 39])
    def test_student(self, level, degrees) -> None:
        assert student(level, degrees) == pytest.approx(stats.t.ppf(0.5 + level / 2, degrees), rel=0.02)

    def test_an_interval_covers_its_mean_as_often_as_it_says(self) -> None:
        rows = np.random.default_rng(0).normal(3.0, 2.0, (2000, 8))
        inside = [one.low < 3.0 < one.high for one in map(estimate, rows)]
        assert np.mean(inside) == pytest.approx(0.9, abs=0.02)

    def test_widened_for_the_best_of_several(self) -> None:
        values = np.array([1.0, 2.0, 4.0, 4.5])
        found, expected = widened(estimate(values), 4), estimate(values, 1 - 0.1 / 4)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))

    def test_one_episode_tells_no_interval_and_none_tells_nothing(self) -> None:
        assert estimate(np.array([2.0, math.nan])) == Estimate(2.0, -math.inf, math.inf, 1)
        assert math.isnan(estimate(np.array([math.nan])).value)


class TestCandidates:
    @staticmethod
    def adaptation(robot) -> Adaptation:
        n = robot.contract.n_joints
        first = robot.contract.joints[0]
        knobs = (
            Fitted(f"dry_friction_nm[{first}]", "dry_friction_nm", (first,), "N·m", 0.2, 0.3, (0.2, 0.4), (0.0, 2.0)),
            Fitted("delay_s", "delay_s", (), "s", 0.0, 0.01, (-0.5, 0.03), (0.0, 0.02)),
            Fitted("torque_noise_nm", "torque_noise_nm", (), "N·m", 0.0, 0.0, (0.0, 0.0), (0.0, 5.0)),
            Fitted("floor_friction", "floor_friction", (), "1", 0.8, 0.8, (0.1, 2.0), (0.1, 2.0), "no effect"),
        )
        settings = {
            "dry_friction_nm": [0.3] + [0.1] * (n - 1),
            "delay_s": [0.01] * n,
            "torque_noise_nm": [0.0] * n,
            "floor_friction": 0.8,
        }
        return Adaptation(robot.name, robot.hash, "static", knobs, settings)

    def test_intervals_are_cut_at_bounds_and_what_has_no_room_stays(self, robot) -> None:
        spans = spans_of(self.adaptation(robot))
        assert [(span.knob.parameter, span.low, span.high) for span in spans] == [
            ("dry_friction_nm", 0.2, 0.4),
            ("delay_s", 0.0, 0.02),
        ]
        assert [span.place(span.knob.value) for span in spans] == pytest.approx([0.0, 0.0])

    def test_draws_fill_every_interval_evenly_and_repeat_with_the_seed(self, robot) -> None:
        spans = spans_of(self.adaptation(robot))
        places = draw(spans, 16, 3)
        assert places.shape == (16, 2)
        np.testing.assert_array_equal(np.sort(np.floor((places + 1) * 8), axis=0), np.tile(np.arange(16.0)[:, None], 2))
        np.testing.assert_array_equal(places, draw(spans, 16, 3))
        assert (places != draw(spans, 16, 4)).any()

    def test_settings_change_the_knobs_alone(self, robot) -> None:
        adaptation = self.adaptation(robot)
        n = robot.contract.n_joints
        settings = settings_at(adaptation, robot, spans_of(adaptation), np.array([1.0, -1.0]))
        assert settings["dry_friction_nm"] == [0.4] + [0.1] * (n - 1)
        assert settings["delay_s"] == [0.0] * n
        assert settings["floor_friction"] == 0.8
        assert adaptation.settings["delay_s"] == [0.01] * n

    @staticmethod
    def spans(count: int) -> list[KnobInterval]:
        return [
            KnobInterval(Fitted(f"k{i}", "delay_s", (), "s", 0.0, 0.6, (0.0, 1.0), (0.0, 1.0)), 0.0, 1.0)
            for i in range(count)
        ]

    def test_the_knob_that_hurts_is_named(self) -> None:
        spans = self.spans(4)
        places = draw(spans, 16, 0)
        score = 3.0 - places[:, 2]
        correlation = correlations(places, score)
        assert correlation[2] == pytest.approx(-1.0)
        assert characterized(spans, places[np.argmax(score)], correlation, 16).startswith("k2 low (")
        corner = worst_corner(spans, correlation)
        assert corner is not None
        assert corner[2] == -1.0
        assert np.sum(np.abs(corner) == 1.0) == 3
        assert sorted(corner)[-1] in (1.0, pytest.approx(0.2))
        assert "k2 low (0, correlation -1.00)" in characterized(spans, corner, correlation, 16)

    def test_where_nothing_hurts_nothing_is_named(self) -> None:
        spans = self.spans(3)
        places = draw(spans, 8, 0)
        flat = correlations(places, np.ones(8))
        assert not flat.any()
        assert worst_corner(spans, flat) is None
        assert characterized(spans, places[0], flat, 8) == ""
