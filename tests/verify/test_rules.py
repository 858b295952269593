"""The rules of a verdict on made-up figures: each of them alone turns GO into NO-GO, and nothing else does."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from support.verdicts import FULL, GOOD, OLD, SAME, made, rules

from surefoot.verify.compare import PER_EPISODE, FallCounts, estimate
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


def test_made_up_figures_are_those_that_are_compared() -> None:
    assert set(OLD) == set(PER_EPISODE)


class TestJudge:
    def test_better_where_it_counts_and_the_same_elsewhere_is_go(self) -> None:
        reasons, gains = judge([SAME, GOOD], made(POOLED), [made("candidate 1")], FULL)
        assert reasons == ()
        assert gains == ("velocity error 0.100 → 0.080 m/s (-0.020 ± 0.001)",)

    @pytest.mark.parametrize("figure", list(FULL))
    def test_any_of_the_four_is_a_gain(self, figure) -> None:
        gain: dict[str, Any] = {figure: 0.8 * OLD[figure]}
        assert rules(SAME, made(ADAPTED, **gain)) == set()

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
        falls: dict[str, Any] = {kind: FallCounts(100, 0, 4, 4)}
        named = [
            made(NOMINAL, **(falls if where == NOMINAL else {})),
            made(ADAPTED, velocity_error_m_s=0.08, **(falls if where == ADAPTED else {})),
        ]
        assert rules(*named, pooled=made(POOLED, **falls) if where == POOLED else None) == {("more falls", where)}

    def test_a_few_everywhere_are_too_many_together(self) -> None:
        few: dict[str, Any] = {"falls": FallCounts(40, 0, 3, 3)}
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
