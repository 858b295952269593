"""The page of a verdict: reasons, figures with equal decimals, and names that stay text."""

import dataclasses

import numpy as np
import pytest
from support.pages import HOSTILE, checked
from support.verdicts import SMALL, Throw, judged

from surefoot.report.verdict_page import figure_words, verdict_facts, verdict_page
from surefoot.verify.fit_gap import UNKNOWN
from surefoot.verify.rules import Reason


class TestPage:
    def test_reasons_of_one_simulator_stand_together_without_their_intervals(self, toy_loop) -> None:
        full, short = "velocity error 0.1 → 0.2 m/s (+0.1 ± 0.02), clearly worse", "velocity error 0.1 → 0.2 m/s"
        reasons = (
            Reason("not better", "adapted", "no figure is better (97.5 %): velocity error", "no figure is better"),
            Reason("worse", "nominal", full, short),
            Reason("more falls", "nominal", "falls in 9 of 40 episodes instead of 0"),
            Reason(
                "worse", "nominal", "total drift 1.0 → 2.0 m (+1.0 ± 0.2), clearly worse", "total drift 1.0 → 2.0 m"
            ),
        )
        gains = ("yaw-rate error 0.2 → 0.1 rad/s", "total drift 2 → 1 m")
        assert verdict_facts(
            dataclasses.replace(toy_loop.verdict, reasons=reasons, gains=gains, fit=None, aside="")
        ) == [
            ("Against it", "Adapted: no figure is better."),
            (
                "Against it",
                (
                    "Nominal: falls in 9 of 40 episodes instead of 0; clearly worse in velocity error 0.1 → 0.2 m/s,"
                    " total drift 1.0 → 2.0 m."
                ),
            ),
            ("Better", "In the adapted simulator: yaw-rate error 0.2 → 0.1 rad/s; total drift 2 → 1 m."),
            ("The fit", f"{UNKNOWN[:1].upper()}{UNKNOWN[1:]}."),
        ]

    @pytest.mark.parametrize(
        ("value", "figure", "words"),
        [
            (0.00829, "drift_m", "+0.008"),
            (-1.0, "drift_m", "−1.000"),
            (-1e-9, "drift_m", "0.000"),
            (231.44, "power_w", "+231.4"),
            (np.nan, "drift_m", "fell"),
        ],
    )
    def test_a_figure_has_the_same_decimals_everywhere(self, value, figure, words) -> None:
        assert figure_words(value, figure, signed=True) == words

    def test_hostile_names_stay_text_and_falls_draw_nothing(self, go2) -> None:
        found = judged(go2, "trot", lambda n: Throw(), dataclasses.replace(SMALL, candidates=2, seconds=2.0))
        reasons = tuple(dataclasses.replace(reason, says=HOSTILE, short=HOSTILE) for reason in found.reasons)
        facts = {"command": HOSTILE, HOSTILE: HOSTILE} | {
            side: {"name": HOSTILE} for side in ("robot", "before", "after")
        }
        page = verdict_page(dataclasses.replace(found, reasons=reasons, provenance=facts))
        checked(page)
        assert "<script>alert" not in page
        assert page.count("NO-GO") >= 1
