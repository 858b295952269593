"""What a verdict says about the fit that it stands on: what was left of the gap, a fit that came no nearer,
one that is not known.
"""

import dataclasses
import json

import pytest
from support.gaps import ADAPTED_GAP, BEFORE_GAP
from support.verdicts import FEW, FULL, GOOD, SAME, adaptation_of, made, rules

from surefoot.adapt import write_adaptation
from surefoot.verify.compare import FallCounts
from surefoot.verify.fit_gap import UNKNOWN, fit_gap_of, read_fit_gap
from surefoot.verify.rules import ADAPTED, NOMINAL, judge, set_aside

LEFT = BEFORE_GAP | {"total": 0.031, "floor": 0.012}
WORSE = BEFORE_GAP | {"total": 0.25}


def figures(after=ADAPTED_GAP, held=ADAPTED_GAP, adaptation=None) -> dict:
    """As fit.json holds them."""
    gaps = {"before": BEFORE_GAP, "after": after, "held_out_before": held and BEFORE_GAP, "held_out_after": held}
    return {
        "gaps": gaps,
        "knobs": [dataclasses.asdict(knob) for knob in adaptation.knobs] if adaptation else [],
        "traces_rad": None,
    }


class TestSentence:
    def test_closed(self) -> None:
        found = fit_gap_of(figures())
        assert (found.nearer, found.left) == (True, False)
        assert found.says == "the fit closed the gap: 0.192 → 0.012 (floor 0.011) on held-out episodes"

    def test_left_on_held_out_episodes_counts_and_not_what_was_fitted(self) -> None:
        found = fit_gap_of(figures(held=LEFT))
        assert found.left
        assert (
            found.says == "the fit left 0.031 of a gap of 0.192 (floor 0.012) on held-out episodes: "
            "what is better in the adapted simulator may be less on the robot"
        )

    def test_nothing_held_back(self) -> None:
        found = fit_gap_of(figures(after=LEFT, held=None))
        assert found.left
        assert "on the episodes that were fitted: what is better" in found.says

    @pytest.mark.parametrize("where", ["after", "held"])
    def test_no_nearer(self, where) -> None:
        found = fit_gap_of(figures(**{where: WORSE}))
        assert not found.nearer
        assert found.held_out == (where == "held")
        assert found.says.startswith("the fit left a gap of 0.250 where 0.192 was before (floor 0.012) on")

    def test_joint_positions_of_a_stand(self) -> None:
        fitted, held = {"before": 0.05, "after": 0.01}, {"before": 0.05, "after": 0.012}
        found = fit_gap_of(figures() | {"traces_rad": [fitted, held]})
        assert (
            found.says
            == "with the fit, joint positions are 0.012 rad off the recorded ones instead of 0.050, on held-out"
            " episodes"
        )
        assert not fit_gap_of(figures() | {"traces_rad": [{"before": 0.05, "after": 0.06}, None]}).nearer


class TestRead:
    def test_from_the_folder_and_from_beside_the_file(self, go2, tmp_path) -> None:
        adaptation = adaptation_of(go2)
        (tmp_path / "fit.json").write_text(json.dumps(figures(adaptation=adaptation)))
        assert read_fit_gap(tmp_path, adaptation) == fit_gap_of(figures())
        assert read_fit_gap(tmp_path / "adaptation.json", adaptation) == fit_gap_of(figures())

    @pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"knobs": [], "gaps": {}}', '{"knobs": [3]}'])
    def test_what_is_not_there_or_not_readable_is_not_known(self, go2, tmp_path, text) -> None:
        if text is not None:
            (tmp_path / "fit.json").write_text(text)
        assert read_fit_gap(tmp_path, adaptation_of(go2)) is None

    def test_figures_of_another_fit_or_without_numbers_are_not_known(self, go2, tmp_path) -> None:
        adaptation = adaptation_of(go2)
        other = dataclasses.replace(
            adaptation, knobs=(dataclasses.replace(adaptation.knobs[0], value=0.123), *adaptation.knobs[1:])
        )
        (tmp_path / "fit.json").write_text(json.dumps(figures(adaptation=other)))
        assert read_fit_gap(tmp_path, adaptation) is None
        (tmp_path / "fit.json").write_text(
            json.dumps(figures(held=ADAPTED_GAP | {"total": None}, adaptation=adaptation))
        )
        assert read_fit_gap(tmp_path, adaptation) is None


class TestNominal:
    """A nominal simulator in which the new policy is worse."""

    POOR = made(NOMINAL, velocity_error_m_s=0.15)

    @pytest.mark.parametrize(
        ("fit", "counts"),
        [
            (None, True),
            (fit_gap_of(figures()), False),
            (fit_gap_of(figures(held=LEFT)), False),
            (fit_gap_of(figures(held=None)), True),
            (fit_gap_of(figures(held=BEFORE_GAP | {"total": 0.12})), True),
        ],
    )
    def test_counts_unless_held_out_episodes_say_that_the_robot_is_elsewhere(self, fit, counts) -> None:
        reasons, _ = judge([self.POOR, GOOD], None, [], FULL, fit=fit)
        assert [(reason.rule, reason.simulator) for reason in reasons] == ([("worse", NOMINAL)] if counts else [])
        aside = set_aside([self.POOR, GOOD], FULL, fit)
        assert bool(aside) != counts
        if aside:
            assert "velocity error 0.100 → 0.150 m/s" in aside
            assert "a gap of 0.192" in aside

    def test_falls_and_strain_there_always_count(self) -> None:
        poor = dataclasses.replace(made(NOMINAL, cost=5.0), falls=FallCounts(40, 0, 20, 20))
        reasons, _ = judge([poor, GOOD], None, [], FULL, fit=fit_gap_of(figures()))
        assert {reason.rule for reason in reasons} == {"more falls", "energy", "falls too often"}

    def test_elsewhere_it_counts(self) -> None:
        twin = made("twin of it", velocity_error_m_s=0.15)
        reasons, _ = judge([SAME, GOOD, twin], None, [], FULL, fit=fit_gap_of(figures()))
        assert [(reason.rule, reason.simulator) for reason in reasons] == [("worse", "twin of it")]
        assert not set_aside([SAME, GOOD, twin], FULL, fit_gap_of(figures()))


class TestVerdict:
    def test_a_fit_that_came_no_nearer_is_a_reason_of_its_own(self) -> None:
        reasons, gains = judge([SAME, GOOD], None, [], FULL, fit=fit_gap_of(figures(held=WORSE)))
        assert [(reason.rule, reason.simulator) for reason in reasons] == [("no nearer", ADAPTED)]
        assert gains

    @pytest.mark.parametrize("fit", [None, fit_gap_of(figures()), fit_gap_of(figures(held=LEFT))])
    def test_what_is_left_or_not_known_is_none(self, fit) -> None:
        assert judge([SAME, GOOD], None, [], FULL, fit=fit)[0] == ()
        assert rules(SAME, GOOD) == set()

    def test_said_under_a_go(self, surefoot, here, go2) -> None:
        adaptation = adaptation_of(go2)
        write_adaptation(here / "fit" / "adaptation.json", adaptation)
        (here / "fit" / "fit.json").write_text(json.dumps(figures(held=LEFT, adaptation=adaptation)))
        words = (
            "verdict",
            "--before",
            "trot",
            "--after",
            "walk",
            "--adaptation",
            "fit",
            "--episodes",
            6,
            "--candidates",
            0,
            *FEW[2:4],
            *FEW[8:],
        )
        code, said, error = surefoot(*words)
        assert (code, error) == (0, "")
        expected = fit_gap_of(figures(held=LEFT)).says
        assert f"nothing got clearly worse\n{expected}\n" in said
        content = json.loads((here / "verdict" / "verdict.json").read_text())
        assert content["fit"]["says"] == expected
        assert content["fit"]["measurable"] is True
        assert expected[1:] in (here / "verdict" / "verdict.html").read_text()
        assert UNKNOWN not in said
