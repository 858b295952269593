"""Families of changes: which one is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from surefoot.adapt import Fitted
from surefoot.errors import FitError
from surefoot.fit.family import Family, FitSettings
from surefoot.fit.ladder import JOINT, NETWORK, RUNGS, STATIC, TYPE, Rung, choose, climb
from surefoot.fit.result import SearchIteration, Traces
from surefoot.fit.run import MatchesByFalling


@dataclass(frozen=True)
class Adapted:
    """As much of an adaptation."""

    knobs: tuple[Fitted, ...]
    settings: dict


@dataclass(frozen=True)
class Found:
    """As much of a result as the ladder looks at."""

    held_after: SimpleNamespace
    after: SimpleNamespace
    adaptation: Adapted
    steps: tuple[SearchIteration, ...]
    tried: tuple = ()
    remarks: tuple[str, ...] = ()
    knots: tuple = ()
    correlation: np.ndarray | None = None
    before: SimpleNamespace | None = None
    held_before: SimpleNamespace | None = None
    traces: tuple | None = None
    gave_up: bool = False


def found(
    total: float, floor: float = 0.010, limit: float = 0.012, knobs: tuple[Fitted, ...] = (), steps: int = 1
) -> Any:
    """In the place of a `FitResult`."""
    gap = SimpleNamespace(
        total=total, total_floor=floor, total_limit=limit, measurable=total > limit, robot_floor=0.010
    )
    step = SearchIteration(1, total, 10, 100.0, 5.0, ())
    return Found(SimpleNamespace(gap=gap), SimpleNamespace(gap=replace_total(gap)), Adapted(knobs, {}), (step,) * steps)


def replace_total(gap: SimpleNamespace) -> SimpleNamespace:
    """A fitted gap that looks closed, so that a choice by it would differ."""
    return SimpleNamespace(**{**vars(gap), "total": 0.0, "measurable": False})


class TestChoice:
    @pytest.mark.parametrize(
        ("gaps", "chosen"),
        [
            ((0.011,), STATIC),
            ((0.1, 0.011), TYPE),
            ((0.1, 0.05, 0.011), JOINT),
            ((0.1, 0.05, 0.0495), TYPE),
            ((0.1, 0.101, 0.12), STATIC),
            ((0.1, 0.05, 0.049, 0.02), NETWORK),
        ],
    )
    def test_the_simplest_that_no_richer_one_clearly_beats(self, gaps, chosen) -> None:
        rungs = [Rung(family, found(gap)) for family, gap in zip(RUNGS, gaps, strict=False)]
        assert choose(rungs).family == chosen

    def test_it_climbs_no_further_than_needed(self) -> None:
        asked = []

        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            asked.append(settings.family)
            return found({STATIC: 0.1, TYPE: 0.011}[settings.family])

        result = climb(FitSettings(), fit)
        assert asked == [STATIC, TYPE]
        assert [(one.family, one.chosen) for one in result.tried] == [("static", False), ("residual by type", True)]

    def test_only_parameters_that_others_may_follow_are_given_up(self) -> None:
        asked = []

        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            asked.append((settings.family, settings.give_up is not None))
            return found(0.1)

        climb(FitSettings(), fit, (STATIC, TYPE))
        climb(FitSettings(), fit, (STATIC,))
        assert [family for family, hopeless in asked if hopeless] == [STATIC]
        assert len([family for family, _ in asked if family == STATIC]) == 2

    @pytest.mark.parametrize(("richer", "settled"), [(0.1, True), (0.02, False)])
    def test_what_was_given_up_and_is_kept_is_settled(self, richer, settled) -> None:
        asked = []

        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            asked.append((settings.family, settings.give_up))
            if settings.family == STATIC:
                return replace(found(0.1 if settings.give_up else 0.09), gave_up=settings.give_up is not None)
            return found(richer)

        result = climb(FitSettings(), fit, (STATIC, TYPE))
        assert (asked[-1] == (STATIC, None)) == settled
        assert [one.family for one in result.tried if one.chosen] == ["static" if settled else "residual by type"]
        assert result.tried[0].gap == (0.09 if settled else 0.1)

    def test_no_gap_at_all_ends_it(self) -> None:
        result = climb(FitSettings(), lambda *_: found(0.2, steps=0))
        assert [one.family for one in result.tried] == ["static"]

    @pytest.mark.parametrize("falls", [STATIC, TYPE])
    def test_a_family_that_falls_is_given_up_and_named(self, falls) -> None:
        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            if settings.family == falls:
                raise MatchesByFalling("it falls")
            return found(0.011 if settings.family == JOINT else 0.1)

        result = climb(FitSettings(), fit)
        assert [one.family for one in result.tried] == [
            family.name for family in (STATIC, TYPE, JOINT) if family != falls
        ]
        assert result.remarks == (f"{falls.name} was given up: it falls",)

    def test_all_that_fall_and_other_refusals_are_raised(self) -> None:
        def falling(*_: object) -> Any:
            raise MatchesByFalling("it falls")

        def refused(*_: object) -> Any:
            raise FitError("other settings")

        with pytest.raises(FitError, match="it falls"):
            climb(FitSettings(), falling)
        with pytest.raises(FitError, match="other settings"):
            climb(FitSettings(), lambda settings, *rest: found(0.1) if settings.family == STATIC else refused())

    def test_without_held_out_episodes_nothing_richer_is_tried(self) -> None:
        result = climb(FitSettings(), lambda *_: replace(found(0.1), held_after=None, after=found(0.1).held_after))
        assert [one.family for one in result.tried] == ["static"]
        assert "nothing was held back" in result.remarks[0]

    def test_a_floor_that_noise_raised_does_not_end_it(self) -> None:
        gaps = {STATIC: found(0.019, floor=0.018, limit=0.02), TYPE: found(0.011)}
        result = climb(FitSettings(), lambda settings, *_: gaps[settings.family])
        assert [(one.family, one.chosen) for one in result.tried] == [("static", False), ("residual by type", True)]

    def test_on_a_stand_the_traces_decide(self) -> None:
        def rung(family: Family, off_rad: float) -> Rung:
            return Rung(family, replace(found(0.0, 0.0, 0.0), traces=(Traces(0.1, 0.0), Traces(0.1, off_rad))))

        assert choose([rung(STATIC, 0.050), rung(TYPE, 0.049)]).family == STATIC
        assert choose([rung(STATIC, 0.050), rung(TYPE, 0.040)]).family == TYPE
        assert not rung(STATIC, 0.0).closed

    @pytest.mark.parametrize("first", [0.022, 0.1])
    def test_each_begins_where_the_one_before_ended(self, first) -> None:
        begun = []
        knob = Fitted("dry[hip]", "residual_constant_nm", ("a", "b"), "N·m", 0.0, 1.5, (1.0, 2.0), (0.0, 4.0))

        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            begun.append(dict(start))
            return found(first - 0.002 * len(begun), knobs=(knob,))

        climb(FitSettings(), fit, RUNGS[:3])
        assert begun[0] == {}
        assert begun[1] == ({} if first > 0.024 else {"dry[hip]": 1.5})  # unless that was far off
        assert begun[2]["residual_constant_nm[a]"] == begun[2]["residual_constant_nm[b]"] == 1.5

    @pytest.mark.parametrize(("by_joint", "shared"), [(0.0495, False), (0.02, True)])
    def test_a_network_adds_to_the_terms_that_did_best(self, by_joint, shared) -> None:
        bases = {}
        gaps = {"static": 0.1, "residual by type": 0.05, "residual by joint": by_joint}

        def fit(settings: FitSettings, start: Mapping, base: Mapping) -> Any:
            name = settings.family.name
            bases[name] = dict(base)
            result = found(gaps.get(name, 0.011))
            settled = {"residual_constant_nm": [len(bases)], "dry_friction_nm": [0.3]}
            dry = Fitted("dry", "dry_friction_nm", (), "N·m", 0.0, 0.3, (0.2, 0.4), (0.0, 4.0))
            pull = replace(dry, name=f"pull {len(bases)}", parameter="residual_constant_nm")
            knobs = (dry,) if settings.family.curved else (dry, pull)
            return replace(result, adaptation=Adapted(knobs, settled), correlation=np.eye(len(knobs)))

        result = climb(FitSettings(), fit)
        name = f"residual network by {'joint' if shared else 'type'}"
        assert [one.family for one in result.tried if one.chosen] == [name]
        assert bases.pop(name) == {"residual_constant_nm": [3 if shared else 2]}
        assert not any(bases.values())
        assert [knob.name for knob in result.adaptation.knobs] == [
            "dry",
            f"pull {3 if shared else 2}",
        ]  # the terms come along
        assert result.correlation.shape == (2, 2)

    def test_before_is_the_robot_as_it_was(self) -> None:
        results = [replace(found(gap), before=SimpleNamespace(gap=gap)) for gap in (0.1, 0.011)]
        assert climb(FitSettings(), lambda settings, *_: results[settings.family != STATIC]).before.gap == 0.1
