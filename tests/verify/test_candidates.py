"""Candidates: robots within the intervals of a fit."""

import numpy as np
import pytest

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
