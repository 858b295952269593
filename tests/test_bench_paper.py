"""bench/paper.py: which cells there are, that a stopped run goes on, what counts as the same figure again,
and what the page says.
"""

import dataclasses
import json
import os
import sys
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from surefoot.adapt import Fitted
from surefoot.cores import allowed_cores
from surefoot.errors import SurefootError
from surefoot.fit.family import FitSettings
from surefoot.gap import schedule_of
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import paper
import weights
from paper_tables import (
    biped,
    cells,
    data,
    failures,
    fits,
    page_biped,
    page_failures,
    page_recovery,
    pages,
    plots,
    policies,
    recovery,
    render,
    spread,
    tables,
)
from paper_tables import quick as quick_module
from paper_tables.cells import Cell, Kept, Refused, Settings, Table, measured, only, order, read_kept, run, write_kept
from paper_tables.quick import by_itself, keep_to, quick
from paper_tables.spread import Spread, apart, judge, shared
from paper_tables.words import Figures, by
from weights import Weights

ROOT = Path(__file__).parents[1]
FEW = (("a", "x"), ("a", "y"), ("b", "x"))
SETTINGS = Settings(simulated_s=10.0, iterations=2)


class Counted:
    """A measurement that says what was asked of it."""

    def __init__(self, figures=lambda cell: {"error": float(cell.seed)}):
        self.calls: list[tuple[str, str, int]] = []
        self.settings: list[Settings] = []
        self.figures = figures

    def __call__(self, cell: Cell, settings: Settings) -> dict:
        self.calls.append((cell.row, cell.column, cell.seed))
        self.settings.append(settings)
        return self.figures(cell)


def fake(measure, name: str = "fake", **more) -> Table:
    return Table(name, FEW, measure, figure="error", quick=("a", "x"), **more)


def kept(row: str, column: str, *values: float, figure: str = "error", **more: object) -> list[Kept]:
    return [
        Kept(row, column, seed, {figure: value, **more}, {"simulated_s": 40000.0}, "abc", "", 60.0)
        for seed, value in enumerate(values)
    ]


class TestCells:
    def test_the_first_seed_of_all_comes_before_the_second_of_any(self):
        listed = list(order([fake(None, "one"), fake(None, "two")], range(2)))
        assert [cell.seed for _, cell in listed] == [0] * 6 + [1] * 6
        assert [table.name for table, _ in listed[:6]] == ["one"] * 3 + ["two"] * 3
        assert [(cell.row, cell.column) for _, cell in listed[:3]] == list(FEW)

    def test_what_the_tables_hold(self):
        assert list(tables.TABLES) == list(render.ABOUT) == list(render.SECTIONS) == list(plots.PLOTS)
        sizes = {name: len(table.places) for name, table in tables.TABLES.items()}
        assert sizes == {"recovery": 27, "families": 8, "horizon": 9, "data": 8, "biped": 7, "failures": 16}
        for table in tables.TABLES.values():
            assert len(set(table.places)) == len(table.places)
            assert table.quick in table.places
        assert {"wasserstein", "match-o", "match-s-1", "match-s-20", "match-s", "mmd"} < {
            row for row, _ in recovery.RECOVERY.places
        }
        assert {int(count) for count, _ in data.SIZES} == {8, 16, 32, 64, 128}

    def test_some_rows_alone(self, tmp_path, capsys):
        few = only(list(tables.TABLES.values()), ["ours", "mmd"])
        assert [(table.name, {row for row, _ in table.places}) for table in few] == [
            ("recovery", {"ours", "mmd"}),
            ("horizon", {"ours"}),
        ]
        assert len(few[0].places) == 6
        assert only(few, columns=["2.5"])[0].places == (("mmd", "2.5"), ("ours", "2.5"))
        assert paper.main(["--table", "recovery", "--row", "our", "--out", str(tmp_path)]) == 2
        assert "no table has a row 'our' (did you mean 'ours'?)" in capsys.readouterr().err
        assert paper.main(["--table", "recovery", "--column", "2.6", "--out", str(tmp_path)]) == 2
        assert "no table has a column '2.6' (did you mean '2.5'?)" in capsys.readouterr().err
        assert paper.main(["--table", "recovery", "--seed", "2", "-1", "--out", str(tmp_path)]) == 2
        assert "a seed is 0, 1, 2, ..., not -1" in capsys.readouterr().err

    def test_a_stopped_run_goes_on_with_what_is_missing(self, tmp_path):
        measure, said = Counted(), []
        table = fake(measure)
        assert run([table], SETTINGS, range(2), most_cells=2, folder=tmp_path, say=said.append) == []
        assert "stopped after 2 cells" in said[-1]
        assert run([table], SETTINGS, range(2), folder=tmp_path, say=said.append) == []
        assert measure.calls == [(*place, seed) for seed in (0, 1) for place in FEW]  # each once
        content = json.loads((tmp_path / "fake.json").read_text())
        assert len(content["cells"]) == 6
        assert all(
            one["commit"] and one["wall_clock_s"] >= 0 and one["asked"] == {"simulated_s": 10.0}
            for one in content["cells"]
        )
        assert content["provenance"]["machine"]["cores"]

    def test_no_cell_begins_after_the_last_minute(self, tmp_path):
        measure = Counted()
        run([fake(measure)], SETTINGS, range(1), most_minutes=0.0, folder=tmp_path, say=str)
        assert measure.calls == []

    def test_another_budget_is_refused_before_anything_is_measured(self, tmp_path):
        measure = Counted()
        run([fake(measure)], SETTINGS, range(1), folder=tmp_path, say=str)
        run(
            [fake(measure)], dataclasses.replace(SETTINGS, iterations=9), range(1), folder=tmp_path, say=str
        )  # not used by this table
        assert len(measure.calls) == 3
        with pytest.raises(
            SurefootError,
            match=r"fake\.json was measured with another budget \(simulated_s 10; now simulated_s 20\); .*--out",
        ):
            run([fake(measure)], dataclasses.replace(SETTINGS, simulated_s=20.0), range(2), folder=tmp_path, say=str)
        assert len(measure.calls) == 3

    def test_a_page_of_mixed_budgets_is_refused(self, tmp_path):
        first, second = kept("static", policies.SPRING, 0.1, 0.2)
        write_kept("families", [first, dataclasses.replace(second, asked={"simulated_s": 5.0})], tmp_path)
        with pytest.raises(SurefootError, match="different budgets"):
            render.render(tmp_path, tmp_path / "docs")

    def test_a_refusal_is_an_outcome_and_a_mistake_is_not(self, tmp_path):
        def figures(cell: Cell) -> dict:
            if cell.row == "b":
                raise Refused("matches by falling")
            if cell.column == "y":
                raise SurefootError("no such cost")
            return {"error": 0.5}

        measure = Counted(figures)
        problems = run([fake(measure)], SETTINGS, range(1), folder=tmp_path, say=str)
        assert problems == ["fake: a, y, seed 0: no such cost"]
        assert {one.row: one.figures for one in read_kept("fake", tmp_path)[0]} == {
            "a": {"error": 0.5},
            "b": {"refused": "matches by falling"},
        }
        run([fake(measure)], SETTINGS, range(1), folder=tmp_path, say=str)
        assert measure.calls[3:] == [("a", "y", 0)]

    def test_figures_without_a_number_are_null(self, tmp_path):
        write_kept("fake", kept("a", "x", float("nan")), tmp_path)
        assert "NaN" not in (tmp_path / "fake.json").read_text()
        assert Figures(read_kept("fake", tmp_path)[0]).at("a", "x", "error").n == 0

    @pytest.mark.parametrize("content", ["{", '{"cells": [{"row": "a"}], "provenance": {}}', "[]"])
    def test_a_damaged_file_is_refused_in_one_sentence(self, tmp_path, content):
        (tmp_path / "fake.json").write_text(content)
        with pytest.raises(SurefootError, match=r"fake\.json cannot be read .* delete it"):
            read_kept("fake", tmp_path)


class TestSpread:
    def test_student(self):
        assert pytest.approx([stats.t.ppf(0.975, n) for n in range(1, 11)], abs=6e-4) == spread.STUDENT

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_another_seed_is_inside_19_times_of_20(self, n):
        drawn = np.random.default_rng(n).normal(3.0, 0.5, (4000, n + 1))
        inside = [judge(row[-1], Spread(tuple(row[:-1])))[0] for row in drawn]
        assert np.mean(inside) == pytest.approx(0.95, abs=0.012)

    def test_methods_are_compared_robot_by_robot(self):
        """A robot that is hard for both methods does not hide that one is better on each of them."""
        low = Spread((1.0, 2.0, 9.0))
        assert apart(low, Spread((1.4, 2.5, 9.4)))
        assert not apart(Spread((1.4, 2.5, 9.4)), low)
        assert not apart(low, Spread((1.4, 1.5, 9.4)))
        assert not apart(low, Spread((1.4, 2.5, 9.4), of_seeds=(2, 0, 1)))  # the same values, of other robots
        assert not apart(Spread((1.0,)), Spread((9.0, 9.1)))

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_equal_methods_are_told_apart_one_time_in_twenty(self, n):
        drawn = np.random.default_rng(n).normal(0.0, 1.0, (4000, 2, n))
        pairs = [(Spread(tuple(one)), Spread(tuple(other))) for one, other in drawn]
        assert np.mean([apart(*pair) or apart(*pair[::-1]) for pair in pairs]) == pytest.approx(0.05, abs=0.012)

    def test_means_are_compared_over_the_same_robots(self):
        few, many = shared(Spread((1.0, 2.0), of_seeds=(0, 2)), Spread((5.0, 50.0, 7.0)))
        assert (few.values, many.values, many.by_seed) == ((1.0, 2.0), (5.0, 7.0), {0: 5.0, 2: 7.0})
        apart_from = Spread((1.0,), of_seeds=(4,)), Spread((5.0,))
        assert shared(*apart_from) == apart_from


class TestQuick:
    def compared(self, tmp_path, value: object, committed: tuple[float, ...]) -> tuple[bool, list[str], Counted]:
        figures = (lambda cell: {"refused": value}) if isinstance(value, str) else (lambda cell: {"error": value})
        measure, said = Counted(figures), []
        write_kept("fake", kept("a", "x", *committed), tmp_path / "committed")
        before = (tmp_path / "committed" / "fake.json").read_bytes()
        fine = quick(
            [fake(measure)],
            Settings(),
            tmp_path / "out",
            committed=tmp_path / "committed",
            measure=measured,
            say=said.append,
        )
        assert (tmp_path / "committed" / "fake.json").read_bytes() == before
        return fine, said, measure

    def test_inside(self, tmp_path):
        fine, said, measure = self.compared(tmp_path, 0.11, (0.1, 0.12, 0.09))
        assert fine
        assert said[0].startswith("measuring 1 of 1 tables, ")
        assert "inside" in said[1]
        assert measure.calls == [("a", "x", 3)]  # the first seed that is not committed
        assert measure.settings[0].iterations == 0  # no policy is trained
        assert measure.settings[0].work.is_relative_to(tmp_path / "out")  # and no earlier fit is continued

    def test_outside(self, tmp_path):
        fine, said, _ = self.compared(tmp_path, 0.4, (0.1, 0.12, 0.09))
        assert not fine
        assert "OUTSIDE" in said[1]

    def test_a_refusal_is_not_the_same_figure(self, tmp_path):
        fine, said, _ = self.compared(tmp_path, "matches by falling", (0.1, 0.12, 0.09))
        assert not fine
        assert "matches by falling" in said[1]

    def test_nothing_is_measured_that_cannot_be_compared(self, tmp_path):
        for committed, says in (((), "no seeds"), ((0.1,), "1 seed ")):
            fine, said, measure = self.compared(tmp_path, 0.11, committed)
            assert not fine
            assert measure.calls == []
            assert f"not measured, since {says}" in said[0]
            assert "judged 0 of 1 tables" in said[1]

    def test_another_budget_is_not_compared(self, tmp_path):
        measure = Counted()
        write_kept("fake", kept("a", "x", 0.1, 0.2), tmp_path / "committed")
        with pytest.raises(SurefootError, match=r"--simulated-s 40000"):
            quick(
                [fake(measure)], SETTINGS, tmp_path / "out", committed=tmp_path / "committed", measure=measured, say=str
            )
        assert measure.calls == []

    def test_another_policy_is_not_compared(self, tmp_path):
        measure = Counted()
        there = [
            dataclasses.replace(one, asked=asked)
            for one in kept("a", "x", 0.1, 0.2)
            for asked in [{"simulated_s": SETTINGS.simulated_s, "policy": "old"}]
        ]
        write_kept("fake", there, tmp_path / "committed")
        table = dataclasses.replace(fake(measure), depends=lambda: {"policy": "new"})
        with pytest.raises(SurefootError, match=r"policy old, and what is here now is policy new"):
            quick([table], SETTINGS, tmp_path / "out", committed=tmp_path / "committed", measure=measured, say=str)
        assert measure.calls == []

    def test_the_longest_comes_first_and_one_that_fails_does_not_stop_the_others(self, tmp_path, monkeypatch):
        def figures(cell: Cell) -> dict:
            if cell.seed == 3:
                raise SurefootError("the disk is full")
            return {"error": 0.11}

        monkeypatch.setattr(quick_module, "allowed_cores", lambda: [0])
        monkeypatch.setattr(quick_module, "keep_to", lambda core: None)
        measure, said = Counted(figures), []
        for name, seeds, took in (("short", 2, 10.0), ("broken", 3, 20.0), ("long", 4, 30.0)):
            write_kept(name, kept("a", "x", *(0.1 + 0.01 * k for k in range(seeds)), simulated_s=took), tmp_path)
        named = [fake(measure, name) for name in ("short", "broken", "long")]
        assert not quick(named, Settings(), tmp_path / "out", committed=tmp_path, measure=measured, say=said.append)
        assert [seed for *_, seed in measure.calls] == [4, 3, 2]
        assert [line.split(":")[0] for line in said[1:]] == [
            "long",
            "the disk is full",
            "short",
            "judged 2 of 3 tables in 0.0 min",
        ]

    def test_a_cell_by_itself_keeps_to_its_core(self, tmp_path, monkeypatch):
        """The command as it is, but for what it measures."""
        script = tmp_path / "measures_nothing.py"
        script.write_text(
            f"import sys\nsys.path.insert(0, {str(ROOT / 'bench')!r})\nimport paper\nfrom dataclasses import replace\n"
            "told = lambda cell, settings: {'error': 0.1, 'seed': cell.seed, 'iterations': settings.iterations}\n"
            "paper.TABLES['recovery'] = replace(paper.TABLES['recovery'], measure=told)\nsys.exit(paper.main())\n"
        )
        monkeypatch.setattr(quick_module, "PAPER", script)
        cell, few = Cell(recovery.OURS, "2.5", 7), Settings(simulated_s=60.0, iterations=0, work=tmp_path / "work")
        before = allowed_cores()
        with ThreadPoolExecutor(1, initializer=lambda: keep_to(before[-1])) as worker:
            alone = worker.submit(by_itself, recovery.RECOVERY, cell, few).result()
        assert (alone.cell, alone.asked) == (cell, {"simulated_s": 60.0})
        assert alone.figures == {"error": 0.1, "seed": 7, "iterations": 0}
        assert alone.cores == (1 if hasattr(os, "sched_setaffinity") else len(before))
        assert allowed_cores() == before  # of this thread

    def test_what_it_does_not_take_is_refused(self, capsys):
        assert paper.main(["--quick", "--row", "ours", "--minutes", "5"]) == 2
        assert "takes no --row or --minutes; --table chooses" in capsys.readouterr().err
        assert paper.main(["--keep"]) == 2
        assert "goes with it" in capsys.readouterr().err

    def test_a_cell_that_ends_badly_says_why(self, tmp_path, monkeypatch):
        unknown = dataclasses.replace(recovery.RECOVERY, places=(("our", "2.5"),))
        with pytest.raises(
            SurefootError,
            match=r"recovery: our, 2\.5, seed 1 could not be measured \(exit code 2\): error: no table has a row 'our'",
        ):
            by_itself(unknown, Cell("our", "2.5", 1), dataclasses.replace(SETTINGS, work=tmp_path / "unknown"))
        script = tmp_path / "ends.py"
        monkeypatch.setattr(quick_module, "PAPER", script)
        for name, says, why in (
            (
                "refused",
                "print('  not measured: no disk'); print('error: no cell', file=sys.stderr); sys.exit(2)",
                r"\(exit code 2\): not measured: no disk",
            ),
            (
                "killed",
                "print('recovery: ours'); sys.stdout.flush(); os.kill(os.getpid(), 9)",
                r"\(exit code -9\): it said nothing",
            ),
            ("broken", "raise MemoryError('all of it')", r"\(exit code 1\): MemoryError: all of it"),
        ):
            script.write_text(f"import os, sys\n{says}\n")
            with pytest.raises(SurefootError, match=why):
                by_itself(
                    recovery.RECOVERY, Cell("ours", "2.5", 1), dataclasses.replace(SETTINGS, work=tmp_path / name)
                )

    @pytest.mark.parametrize(("fine", "code"), [(True, 0), (False, 1)])
    def test_the_exit_code(self, monkeypatch, fine, code):
        monkeypatch.setattr(
            paper,
            "quick",
            lambda chosen, settings, out, committed, say: fine and [one.name for one in chosen] == ["data"],
        )
        assert paper.main(["--quick", "--table", "data"]) == code

    def test_what_it_said_is_kept_where_asked_for(self, monkeypatch, tmp_path):
        write_kept("data", kept("8", "4", 0.1, 0.2), tmp_path)
        monkeypatch.setattr(
            paper, "quick", lambda chosen, settings, out, committed, say: bool(say("data: inside")) or True
        )
        assert paper.main(["--quick", "--out", str(tmp_path)]) == 0
        assert not (tmp_path / "results.md").exists()
        assert paper.main(["--quick", "--keep", "--out", str(tmp_path)]) == 0
        text = (tmp_path / "results.md").read_text()
        assert text.endswith("\n- data: inside\n")
        assert "## Measured again" in text


class TestRecoverySentences:
    def figures(self, near: float, state: float, far: float, ours: float = 0.05) -> Figures:
        values = dict.fromkeys(recovery.METHODS, 2.0) | {
            "wasserstein": near,
            "match-s-20": state,
            "match-o": far,
            "ours": ours,
        }
        values |= {"ours, 64 rollouts": ours}
        return Figures(
            [
                one
                for k, (row, mean) in enumerate(values.items())
                for case in page_recovery.CASES
                for one in kept(row, case, mean, mean + 0.01 + 0.001 * k, mean + 0.02 - 0.001 * k)
            ]
        )

    @pytest.mark.parametrize(
        ("means", "first", "second"),
        [
            (
                (0.1, 0.3, 0.8),
                "confirmed for match-s-1, match-s-20 and match-s",
                "refuted for match-s-1 and match-s and confirmed for match-s-20",
            ),
            (
                (0.4, 0.3, 0.8),
                "confirmed for match-s-1 and match-s and refuted for match-s-20",
                "refuted for match-s-1 and match-s and confirmed for match-s-20",
            ),
            (
                (0.1, 0.9, 0.8),
                "confirmed for match-s-1, match-s-20 and match-s",
                "refuted for match-s-1, match-s-20 and match-s",
            ),
            (
                (0.3, 0.302, 0.8),
                "confirmed for match-s-1 and match-s and neither confirmed nor refuted for match-s-20",
                "confirmed for match-s-20",
            ),
            (
                (0.302, 0.3, 0.8),
                "confirmed for match-s-1 and match-s and neither confirmed nor refuted for match-s-20",
                "confirmed for match-s-20",
            ),
        ],
    )
    def test_the_order_of_the_costs(self, means, first, second):
        """Step by step, and each horizon of match-s by itself; the others are far above match-o here."""
        said = page_recovery.recovery_order(self.figures(*means), "5.0")
        one, two, last = said.split("; ")
        assert one.endswith(f"that Wasserstein is better than match-s is {first}")
        assert two.startswith("that match-s is better than match-o is ")
        assert two.endswith(second)
        assert last.startswith(
            "that Wasserstein is better than match-o is confirmed. Off by more than Wasserstein: match-s-1 +"
        )
        assert f"wasserstein {100 * means[0] + 1:.1f} %" in said
        assert f"match-s-20 {100 * means[1] + 1:.1f} %" in said

    def test_pair_by_pair(self):
        def rows(found: Figures) -> dict[str, list[str]]:
            lines = [
                [cell.strip() for cell in line.split("|")[1:-1]]
                for line in page_recovery.recovery_pairs(found)
                if line.startswith("| ") and " at " in line
            ]
            return {line[0]: dict(zip(recovery.COSTS, line[1:], strict=True)) for line in lines}

        said = rows(self.figures(0.4, 0.3, 0.8))
        assert said["wasserstein at 5.0 N·m"] == {
            "wasserstein": "",
            "match-s-20": "**0 of 3**",
            "match-s-1": "**3 of 3**",
            "match-s": "**3 of 3**",
            "match-o": "**3 of 3**",
            "mmd": "",
        }
        assert said["match-s-20 at 5.0 N·m"]["match-o"] == "**3 of 3**"
        assert said["match-s at 5.0 N·m"]["match-o"] == "**0 of 3**"
        assert set(said["ours at 0.0 N·m"].values()) == {"**3 of 3**"}
        assert rows(self.figures(0.3005, 0.301, 0.8))["wasserstein at 5.0 N·m"]["match-s-20"] == "2 of 3"
        assert page_recovery.against(Spread((0.1,), (0,)), Spread((0.2,), (1,))) == ""
        assert page_recovery.recovery_pairs(Figures([])) == []

    def test_who_ends_further_from_the_truth_than_without_a_fit(self):
        given = [
            dataclasses.replace(one, figures=one.figures | {"error_before": 0.65})
            for one in self.figures(0.1, 0.3, 0.8).kept
        ]
        assert (
            "Further from the truth than not fitting at all: match-s-1, match-s and match-o."
            in page_recovery.recovery_order(Figures(given), "5.0")
        )
        assert "Further" not in page_recovery.recovery_order(self.figures(0.1, 0.3, 0.8), "5.0")

    def test_a_difference_stands_beside_its_interval(self):
        assert (
            by(Spread((0.1, 0.2, 0.3)), Spread((0.2, 0.4, 0.3)), scale=100, unit=" points", digits=1)
            == "+10.0 ± 24.8 points on 3 robots"
        )
        assert by(Spread((0.1, 0.2)), Spread((0.2,), (1,))) == "+0.00 on one robot"
        assert by(Spread((0.1,), (0,)), Spread((0.2,), (1,))) == "not on the same robots"

    def test_an_order_says_who_has_fewer_seeds(self):
        few = Figures([one for one in self.figures(0.1, 0.3, 0.8).kept if (one.row, one.seed) != ("match-o", 2)])
        assert "match-o 80.7 % (2 of 3 seeds)" in page_recovery.recovery_order(few, "5.0")

    def test_answers_that_are_no_minimum_of_their_cost(self):
        costs = {"cost_of_counted": 0.2, "cost_of_truth": 0.25}
        cells = [*kept("mmd", "2.5", 0.1, 0.2, cost=0.3, **costs), *kept("match-o", "2.5", 0.9, cost=0.1, **costs)]
        cells += [*kept("match-s", "2.5", 0.9, cost=0.1, **costs), *kept("match-s", "5.0", 0.9, cost=0.5, **costs)]
        cells += kept(
            "match-s-1", "0.0", 0.9, cost=0.1, cost_of_counted=1e-15, cost_of_truth=0.0
        )  # without noise a log is repeated exactly
        unknown = [*kept("mmd", "5.0", 0.1, cost_of_truth=0.2), *kept("mmd", "0.0", 0.1, cost=None, **costs)]
        found = Figures([*cells, *unknown])
        (said,) = page_recovery.recovery_aim(found)
        assert "(match-s-1 1 of 1, match-s 1 of 2, match-o 0 of 1, mmd 2 of 2, of the cells that keep it)" in said
        lines = [line.strip("| ").split(" | ") for line in page_recovery.recovery_section(found)[0]]
        last = {line[0].removeprefix("CMA-ES, "): line[-1] for line in lines if line[0].startswith("CMA-ES")}
        known = {
            "mmd": "1.50 (n = 2)",
            "match-o": "0.50 (n = 1)",
            "match-s": "0.50 to 2.50 (n = 2)",
            "match-s-1": "more than 1000 (n = 1)",
        }
        assert last == dict.fromkeys(recovery.COSTS, "–") | known
        assert page_recovery.recovery_aim(self.figures(0.1, 0.3, 0.8)) == []

    def test_one_seed_is_not_judged(self):
        one = Figures([each for each in self.figures(0.9, 0.3, 0.8).kept if each.seed == 0])
        said = page_recovery.recovery_order(one, "5.0")
        assert "is not judged (one seed) for" in said
        assert "refuted" not in said
        pairs = page_recovery.recovery_pairs(one)[4:]
        assert len(pairs) > 5
        assert "**" not in "".join(pairs)

    def test_an_order_of_searches_that_were_cut_says_so(self):
        cut = [
            dataclasses.replace(
                one,
                figures=(
                    {**one.figures, "stopped": "after 9 s, before it settled"} if one.row == "match-o" else one.figures
                ),
            )
            for one in self.figures(0.1, 0.3, 0.8).kept
        ]
        assert "cut before they settled were match-o." in page_recovery.recovery_order(Figures(cut), "5.0")
        assert "cut" not in page_recovery.recovery_order(self.figures(0.1, 0.3, 0.8), "5.0")

    def test_the_published_method_beside_its_published_figures(self):
        said = page_recovery.recovery_published(self.figures(0.1, 0.3, 0.8))
        assert "11.0 % at 2.5 N·m (published 8.3 %) and 11.0 % at 5.0 N·m (published 18.7 %)" in said

    def test_search_and_channels_are_told_apart(self):
        said = page_recovery.recovery_channels(self.figures(0.1, 0.3, 0.8))
        assert "201.0 % at 2.5 N·m (6.0 % with all channels, 11.0 % with CMA-ES on the same channels)" in said

    def test_what_it_took(self):
        given = [
            *kept("wasserstein", "2.5", 0.1, 0.2, evaluations=1540, simulated_s=40000.0),
            *kept("mmd", "2.5", 0.1, 0.2, evaluations=1260, simulated_s=40000.0),
            *kept("ours", "2.5", 0.1, 0.2, simulated_s=6000.0, stopped="settled"),
        ]
        (said,) = page_recovery.recovery_effort(Figures(given))
        assert "1400 candidates a cell, 88 to 108 generations of 13 and their mean, in 40000 s" in said
        assert "200 generations with 64 rollouts each, 17 times as many" in said
        assert "Ours took 6000 s, and settled in 2 of 2 cells" in said

    def test_ours_against_the_published(self):
        assert page_recovery.recovery_best(self.figures(0.1, 0.3, 0.8)).count(", below the published") == 2
        rare = [
            one
            for one in self.figures(0.1, 0.3, 0.8).kept
            if (one.row, one.seed) in {("ours", 0), ("ours", 1), ("ours, 64 rollouts", 0)}
        ]
        assert (
            "(ours, 64 rollouts), below the published 8.3 %, in 1 of 1 seeds; 5.8 % at 2.5 N·m (ours), below the"
            " published 8.3 %, in 2 of 2" in page_recovery.recovery_best(Figures(rare))
        )
        said = page_recovery.recovery_best(self.figures(0.1, 0.3, 0.8, ours=0.1))
        assert "11.0 % at 2.5 N·m (ours), NOT below the published 8.3 %, in 0 of 3 seeds" in said
        assert "at 5.0 N·m (ours), below the published 18.7 %, in 3 of 3 seeds" in said

    def test_where_ours_is_worse(self):
        ours, narrow = page_recovery.recovery_worse(self.figures(0.1, 0.3, 0.8))
        assert ours.endswith(
            "is not worse in the mean than any of them where both have an answer, nor than the published figures."
        )
        assert "worse at 0.0 N·m than wasserstein (201.0 % against 11.0 %, on 3 of 3, beyond chance)" in narrow
        said, _ = page_recovery.recovery_worse(self.figures(0.1, 0.3, 0.8, ours=0.2))
        assert "at 2.5 N·m than wasserstein (21.0 % against 11.0 %, on 3 of 3, beyond chance)" in said
        assert "the published 18.7 % (21.0 %, with 8 rollouts instead of 64)" in said
        assert "match-o" not in said

    def test_what_is_not_compared_is_said(self):
        whole = self.figures(0.1, 0.3, 0.8)
        some = Figures([one for one in whole.kept if one.row != "mmd"])
        assert page_recovery.recovery_worse(some)[-1].startswith("Not measured: mmd at 0.0 N·m")
        refused = Figures([*whole.kept, Kept("ours", "5.0", 2, {"refused": "falls"})])
        assert page_recovery.recovery_worse(refused)[-1] == "Refused: ours at 5.0 N·m (1)."
        assert "not measured yet" in page_recovery.recovery_worse(Figures([]))[0]


class TestOtherSentences:
    def walks(self, row: str, drift: float, paid: float, column: str = policies.SPRING, falls: int = 0) -> list[Kept]:
        return kept(
            row,
            column,
            drift,
            drift + 0.02,
            figure="drift_m",
            **{
                "return": paid,
                "gap": 0.05,
                "robot_floor": 0.02,
                "gap_before": 0.3,
                "falls": falls,
                "falls_straight": 0,
            },
        )

    @pytest.mark.parametrize("row", list(pages.CLAIMED))
    @pytest.mark.parametrize(
        ("drift", "paid", "says"),
        [
            (3.0, 5.0, "is worse than the original in drift (beyond chance) and return (beyond chance) ("),
            (
                1.0,
                15.0,
                (
                    "is not worse than the original in drift, return, falls, velocity error, drift across the way or"
                    " turning error (drift 2.01 m -> 1.01 m,"
                ),
            ),
            (3.0, 15.0, "is worse than the original in drift (beyond chance) ("),
        ],
    )
    def test_the_claim_about_the_horizon(self, row, drift, paid, says):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks(row, drift, paid)])
        (said,) = pages.horizon_claim(found)
        assert f"with {pages.CLAIMED[row]}, the gap goes 0.300 -> 0.050 and the policy {says}" in said
        (other,) = set(pages.CLAIMED.values()) - {pages.CLAIMED[row]}
        assert f"with {other}: not measured yet" in said

    def test_what_differs_from_the_original_beyond_chance_is_bold(self):
        cells = [
            *self.walks(policies.ORIGINAL, 2.0, 10.0),
            *self.walks("static", 0.5, 10.0),
            *self.walks("residual", 0.5, 12.0),
        ]
        cells[-1] = dataclasses.replace(cells[-1], figures={**cells[-1].figures, "drift_m": 1.8})
        original, static, residual = pages.policy_rows(
            Figures(cells), (policies.ORIGINAL, "static", "residual"), policies.SPRING
        )
        assert "**0.51 ± 0.01**" in static
        assert "10.0 ± 0.0" in static
        assert "1.15 ± 0.92" in residual
        assert "**12.0 ± 0.0**" in residual
        assert not any("**" in text for text in original)

    @pytest.mark.parametrize(
        ("drift", "paid", "verdict"),
        [
            (3.0, 5.0, "that holds here"),
            (1.0, 15.0, "that does not hold here"),
            (3.0, 15.0, "that holds in one figure and not in the other here"),
            (2.0, 10.0, "that is neither confirmed nor refuted here"),
        ],
    )
    def test_the_claim_about_the_horizon_in_one_sentence(self, drift, paid, verdict):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("match-s-1, weights", drift, paid)])
        assert verdict in pages.claim_holds(found)
        assert "not measured yet" in pages.claim_holds(Figures(self.walks(policies.ORIGINAL, 2.0, 10.0)))

    @pytest.mark.parametrize(
        ("falls", "says"),
        [(0, "fail outright does not hold here: they close 83 % of the gap"), (95, "outright holds here: 95 of 180")],
    )
    def test_whether_static_parameters_fail_outright(self, falls, says):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("static", 2.0, 10.0, falls=falls)])
        assert says in pages.static_fails(found)
        assert pages.static_fails(Figures([])) == ""

    def test_whose_training_was_kept(self):
        told = [
            dataclasses.replace(one, figures=one.figures | {"training_kept": one.seed == 0})
            for one in self.walks("static", 2.0, 1.0)
        ]
        found = [*self.walks(policies.ORIGINAL, 2.0, 10.0), *told, *self.walks("residual", 2.0, 1.0)[:1]]
        (said,) = pages.without_choice(Figures(found))
        assert said.startswith(
            "1 of 2 trainings were kept (1 of the rest is from before part of the way could be); not known"
        )
        assert said.endswith(": residual (spring joint, seed 0).")
        assert pages.without_choice(Figures(told)) == [
            "1 of 2 trainings were kept (1 of the rest is from before part of the way could be)."
        ]
        assert pages.without_choice(Figures(self.walks(policies.ORIGINAL, 2.0, 10.0))) == []

    def test_gaps_are_in_units_of_the_floor_of_the_family_that_fits_best(self):
        found = kept("static", policies.SHIFT, 0.2, figure="gap", robot_floor=0.01) + kept(
            "residual", policies.SHIFT, 0.1, figure="gap", robot_floor=0.05
        )
        said = pages.family_gaps(Figures(found), policies.SHIFT)
        assert "(1 robot), static leaves 4.0 × and residual leaves 2.0 ×" in said

    def test_how_long_weights_were_searched(self):
        searched = kept(
            "match-s-1, weights",
            policies.SPRING,
            2.0,
            2.1,
            figure="drift_m",
            generations=60,
            falls=0,
            falls_straight=0,
            **{"return": 1.0},
        )
        said = pages.horizon_claim(Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *searched]))
        assert "60 generations instead of 10,000" in said[1]

    def test_a_policy_that_falls_is_worse_and_not_unmeasured(self, tmp_path):
        fallen = [
            Kept("static", policies.SPRING, seed, {"drift_m": float("nan"), "falls_straight": 80, "return": 1.0})
            for seed in (0, 1)
        ]
        write_kept("families", [*self.walks(policies.ORIGINAL, 2.0, 10.0), *fallen], tmp_path)
        lines, said = pages.families_section(Figures(read_kept("families", tmp_path)[0]))
        row = next(line for line in lines[::-1] if line.startswith("| static"))
        assert "| fell | 80.0 ± 0.0 |" in row
        assert "drift 2.01 m -> fell" in " ".join(said)
        assert (
            "worse than the original: static in drift (fell) and return (beyond chance); not measured: action-delta and"
            " residual" in " ".join(said)
        )

    def test_a_policy_whose_survivors_drift_less_but_that_falls_is_worse(self):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("static", 0.5, 12.0, falls=79)])
        said = " ".join(pages.families_section(found)[1])
        assert "falls 0.0 -> 79.0 of 180" in said
        assert "worse than the original: static in falls" in said

    def test_a_family_that_makes_the_policy_worse_is_named(self):
        found = Figures(
            [
                *self.walks(policies.ORIGINAL, 2.0, 10.0),
                *self.walks("static", 2.5, 12.0),
                *self.walks("residual", 0.5, 14.0),
            ]
        )
        said = " ".join(pages.families_section(found)[1])
        assert "worse than the original: static in drift" in said
        assert "static leaves 2.5 ×" in said
        assert "residual in" not in said

    def test_data(self):
        sizes = {"8": (0.2, 1.5), "32": (0.1, 0.62), "128": (0.05, 0.6)}
        found = [*kept(data.NO_DATA, "4", 2.0, 2.1, figure="drift_m"), *kept("64", "2", 0.09, 0.09)]
        for count, (error, drift) in sizes.items():
            found += [
                Kept(
                    count, "4", seed, {"error": error, "drift_m": drift + 0.05 * (2 - seed if count == "32" else seed)}
                )
                for seed in range(3)
            ]
        said = " ".join(pages.data_section(Figures(found))[1])
        assert "4.0 times less (beyond chance); independent rollouts would give 4.0 times less" in said
        assert "32 rollouts are the fewest" in said
        assert "2.05 m before, and 0.62 m at best" in said  # of the two robots that all have
        assert "64 of 2 s 9.0 %, 32 of 4 s 10.0 %" in said

    @pytest.mark.parametrize("robot", [biped.SHIFTED, biped.UNEVEN])
    @pytest.mark.parametrize(("after", "worse"), [(0.2, False), (1.4, True)])
    def test_biped(self, robot, after, worse):
        """Each robot by itself: what is missing of the other is said, and changes nothing here."""
        found = [
            *kept(biped.ORIGINAL, robot, 1.0, 1.1, figure="lateral_m"),
            *kept(biped.ORIGINAL, biped.NOMINAL, 93, 93, figure="stood"),
        ]
        for one in (biped.SHIFTED, biped.UNEVEN):
            assert (
                f"The drift on the hind legs, {one}: not measured yet." in page_biped.biped_section(Figures(found))[1]
            )
        said = " ".join(
            page_biped.biped_section(Figures([*found, *kept(biped.AFTER, robot, after, after, figure="lateral_m")]))[1]
        )
        assert f"{robot}: 1.05 m before the loop, {after:.2f} m after it" in said
        assert said.count("not measured yet") == 1
        assert ("NOT become less" in said) == worse
        assert "stands for 10 s in 93 of 100" in said

    def test_what_else_the_loop_does_to_a_biped(self):
        found = kept(biped.ORIGINAL, biped.SHIFTED, 1.0, 1.1, figure="drift_m", velocity_error_m_s=0.2, falls=9)
        found += kept(biped.AFTER, biped.SHIFTED, 0.5, 0.6, figure="drift_m", velocity_error_m_s=0.1, falls=0)
        (said,) = page_biped.biped_place(Figures(found), biped.SHIFTED)
        assert "the commanded place 1.05 -> 0.55 m" in said
        assert "velocity error 0.200 -> 0.100 m/s" in said
        assert "falls under other commands 9.0 -> 0.0 of 100" in said
        assert page_biped.biped_place(Figures(found), biped.UNEVEN) == []

    def test_what_the_fit_does_for_a_biped(self):
        found = kept(biped.NO_FIT, biped.UNEVEN, 0.9, 1.1, figure="lateral_m", training_kept=False)
        assert page_biped.biped_without(Figures(found), biped.UNEVEN) == []
        found += kept(biped.AFTER, biped.UNEVEN, 0.3, 0.4, figure="lateral_m", training_kept=0.5)
        (said,) = page_biped.biped_without(Figures(found), biped.UNEVEN)
        assert "lateral drift 1.00 without the fit, 0.35 m with it (-0.65 ± 0.64 on 2 robots)." in said
        assert page_biped.biped_without(Figures(found), biped.SHIFTED) == []
        found += [Kept(biped.NO_FIT, biped.UNEVEN, 2, {"lateral_m": float("nan"), "falls_straight": 40})]
        assert (
            "without the fit (on 1 more nothing stayed up to measure), 0.35 m"
            in page_biped.biped_without(Figures(found), biped.UNEVEN)[0]
        )
        assert page_biped.biped_kept(Figures(found))[0].startswith(
            "Of the fits, 0 of 2 trainings were kept, and part of the way to 2 more;"
        )

    def test_failures(self):
        found = kept(failures.PUBLISHED, "0 %", 0.3, 0.31) + kept(failures.PUBLISHED, "40 %", 0.9, 0.91)
        found += (
            kept(failures.UNGATED, "40 %", 0.5, 0.52)
            + kept(failures.GATED, "40 %", 0.08, 0.07)
            + kept(failures.GATED, "0 %", 0.05, 0.06)
        )
        said = " ".join(page_failures.failures_section(Figures(found))[1])
        assert (
            "Published cost, all rows: 30.5 % at 0 % of falls, 90.5 % at 40 % (+60.0 ± 0.0 points on 2 robots)" in said
        )
        assert "nowhere" not in said
        assert "not worse than the same search on all rows where both have an answer" in said
        assert "not measured: ours, with its gate at 10 %" in said
        assert "not measured yet" in page_failures.failures_claim(Figures(found)).lower()
        told = [dataclasses.replace(one, figures=one.figures | {"simulated_falls": 0.0}) for one in found]
        said = page_failures.failures_claim(Figures(told))
        assert (
            'the error grows with them on every robot for "published cost, all rows"; no fitted simulator falls' in said
        )
        told[0].figures["simulated_falls"] = 0.25
        assert "up to 25 % of the rollouts" in page_failures.failures_claim(Figures(told))
        worse = [*found, *kept(failures.UNGATED, "0 %", 0.01, 0.02)]
        assert "makes it worse at 0 %" in " ".join(page_failures.failures_section(Figures(worse))[1])


class TestPage:
    def test_nothing_measured_is_no_page(self, tmp_path):
        with pytest.raises(SurefootError, match="holds no cell"):
            render.render(tmp_path / "kept", tmp_path / "docs")
        assert not (tmp_path / "docs").exists()

    def test_only_tables_with_cells_are_on_the_page(self, tmp_path):
        write_kept("data", kept("8", "4", 0.2, 0.3), tmp_path)
        text = render.render(tmp_path, tmp_path / "docs").read_text()
        assert [line for line in text.splitlines() if line.startswith("## ")] == ["## 1. Data", "## What it took"]
        assert "| 16 | 4 s | 1.1 | – |" in text

    def test_a_search_that_was_cut_is_marked(self):
        cut = kept("128", "4", 0.05, 0.06, stopped="stopped after 40,100 simulated s, before it settled")
        lines, said = pages.data_section(Figures([*kept("8", "4", 0.2, 0.2, stopped="settled"), *cut]))
        assert [line.count("†") for line in lines if "±" in line] == [0, 1]
        assert "searches with 128 rollouts" in said[0]

    def test_every_cell_is_in_its_table_with_its_spread(self, tmp_path):
        """Every cell of every table has figures of its own, which stand in the section of its table and in
        the line of its row.
        """
        shapes = {"recovery": "{:.1f} ± 0.1 %", "failures": "{:.1f} ± 0.1 %", "data": "{:.1f} ± 0.1 %"}
        expected: dict[str, dict[tuple[str, str], str]] = {}
        for number, (name, table) in enumerate(tables.TABLES.items()):
            base = {place: 0.1 + 0.05 * number + 0.001 * k for k, place in enumerate(table.places)}
            names = ("error", "drift_m", "lateral_m", "return", "gap", "floor", "used_share", "simulated_s")
            made = [
                Kept(*place, seed, dict.fromkeys(names, value + 0.002 * seed), {}, "abc", "", 60.0)
                for place, value in base.items()
                for seed in (0, 1)
            ]
            write_kept(name, made, tmp_path / "kept")
            expected[name] = {
                place: shapes.get(name, "{:.4f} ± 0.0014").format((value + 0.001) * (100 if name in shapes else 1))
                for place, value in base.items()
            }
        text = render.render(tmp_path / "kept", tmp_path / "docs").read_text()
        sections = dict(zip(tables.TABLES, text.split("\n## ")[1:], strict=False))
        for name, figures in expected.items():
            lines = [line for line in sections[name].splitlines() if line.startswith("|")]
            for (row, _), figure in figures.items():
                if (name, row) != ("data", data.NO_DATA):  # without data there is no error
                    assert any(figure in line and row in line for line in lines), (name, row, figure)
        assert {path.name for path in (tmp_path / "docs" / "results").iterdir()} == {
            f"{name}.svg" for name in tables.TABLES
        }
        for path in (tmp_path / "docs" / "results").iterdir():
            assert f"(results/{path.name})" in text
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert all(line.count("|") == rows[k - 1].count("|") for k, line in enumerate(rows) if line.startswith("| ---"))

    def test_amounts_of_data_are_compared_on_the_same_robots(self):
        """The second robot, which only the fewest rollouts have, is left out."""
        said = pages.data_growth(Figures([*kept("8", "4", 0.2, 0.6), *kept("128", "4", 0.05)]))
        assert "from 20.0 % to 5.0 %, 4.0 times less (one seed: not judged)" in said

    def test_rows_without_a_cell_are_not_in_the_legend(self):
        (chart,) = plots.failures_plot(Figures(kept(failures.GATED, "0 %", 0.1, 0.2)))
        assert failures.GATED in chart
        assert failures.PUBLISHED not in chart

    def test_a_search_that_cannot_go_on_was_cut_too(self):
        reasons = {
            "settled": False,
            "the population spreads over less than 0.001 turns of any knob": False,
            "no measurable gap: 0.01": False,
            "": False,
        }
        reasons |= {
            "stopped after 9 s, before it settled": True,
            "CMA-ES cannot go on: costs are flat": True,
            "given up after 3 iterations": True,
        }
        assert {reason: spread.was_cut({"stopped": reason}) for reason in reasons} == reasons

    def test_families_are_compared_on_the_same_robots_and_yardstick(self):
        """The static fit of the second robot, and its own idea of what the robot differs from itself, are left out."""
        found = kept("static", policies.SPRING, 0.1, 0.9, figure="gap", robot_floor=0.05) + kept(
            "residual", policies.SPRING, 0.02, figure="gap", robot_floor=0.02
        )
        assert "static leaves 5.0 × and residual leaves 1.0 ×" in pages.family_gaps(Figures(found), policies.SPRING)

    def test_what_became_of_the_published_spring(self):
        found = kept(policies.ORIGINAL, policies.SPRING, 1.7, figure="drift_x_m") + kept(
            "static", policies.SPRING, 0.6, figure="drift_x_m"
        )
        said = pages.spring_published(Figures(found))
        assert "-2.0 m to -0.18 m" in said
        assert said.endswith("Here it goes at +x 1.70 m -> 0.60 m (static).")

    def test_a_refusal_is_shown_as_one(self):
        found = Figures(
            [
                *kept("static", policies.SPRING, 0.5, figure="gap"),
                Kept("static", policies.SPRING, 1, {"refused": "falls"}),
            ]
        )
        lines, _ = pages.families_section(found)
        assert any("0.5000 (n = 1), 1 refused" in line for line in lines)

    def test_the_committed_page_is_what_the_committed_cells_give(self, tmp_path):
        if not any(cells.path_of(name).exists() for name in tables.TABLES):
            assert not (ROOT / "docs" / "results.md").exists(), "a page without cells"
            return
        page = render.render(cells.FOLDER, tmp_path).read_text()
        assert page == (ROOT / "docs" / "results.md").read_text(), "run python bench/paper.py --render"


class TestErrors:
    def test_joints_are_matched_by_name(self, go2):
        joints = go2.contract.joints
        hidden = {"armature_kgm2": np.linspace(0.01, 0.05, 12), "dry_friction_nm": np.full(12, 0.5)}
        twin = Twin("made", Physics(go2, {name: tuple(values) for name, values in hidden.items()}))
        knobs = []
        for name, values in hidden.items():
            off = {"armature_kgm2": 1.1, "dry_friction_nm": 0.7}[name]
            knobs += [
                Fitted(name, name, (joint,), "", 2 * v, off * v, (0, 1), (0, 1))
                for joint, v in zip(joints, values, strict=True)
            ]
        shuffled = tuple(
            np.random.default_rng(1).permutation(np.array(knobs, dtype=object))
        )  # knobs without effect stand last
        found = fits.errors(SimpleNamespace(adaptation=SimpleNamespace(knobs=shuffled)), twin)
        expected = {"armature": 0.1, "dry_friction": 0.3, "error": 0.2, "error_before": 1.0}
        assert found == pytest.approx(expected)

    @pytest.mark.parametrize("cost", ["wasserstein", "match-s-1"])
    def test_an_answer_costs_as_much_as_the_truth_where_it_is_the_truth(self, go2, cost):
        twin = fits.hidden(go2, "0.0", 0)
        log = fits.walked(twin, 3, 0, 3.0)
        joints, free = go2.contract.joints, fits.COUNTED
        schedule, settings = schedule_of(log, go2), fits.published(cost, 100.0, held_out=0.0, free=free)
        fit = fits.Fit(log, schedule, go2, fits.agents(go2), settings, None)

        def aimed(off):
            true = {
                knob.name: off * twin.physics.parameters[knob.parameter][knob.entries[0]] for knob in fit.space.knobs
            }
            knobs = [
                Fitted(k.name, k.parameter, (joints[k.entries[0]],), k.unit, 0.0, true[k.name], (0, 1), (0, 1))
                for k in fit.space.knobs
            ]
            return fits.aimed(
                SimpleNamespace(adaptation=SimpleNamespace(knobs=knobs[::-1])), twin, log, schedule, settings
            )

        same, twice = aimed(1.0), aimed(2.0)
        assert same["cost"] == same["cost_of_truth"] == same["cost_of_counted"] == twice["cost_of_truth"]
        assert twice["cost"] > 1.5 * twice["cost_of_counted"]

    def test_the_budget_grows_with_the_data(self):
        assert [fits.scaled(100.0, *size) for size in ((8, 4.0), (16, 4.0), (64, 4.0), (64, 2.0), (16, 8.0))] == [
            100,
            200,
            800,
            400,
            400,
        ]

    def test_as_published_there_is_no_gate_against_falls(self):
        usual, asked = FitSettings(), fits.published("match-o", 100.0)
        assert (asked.cost, asked.cma.fall_cost, asked.most_falling, asked.most_simulated_s) == (
            "match-o",
            0.0,
            1.0,
            100.0,
        )
        assert usual.cma.fall_cost > 0
        assert usual.most_falling < 1


class TestRobots:
    def test_a_seed_is_another_robot_and_a_spring_is_all_that_differs(self, go2):
        plain, sprung, other = (
            fits.shifted(go2, 1, spring=False),
            fits.shifted(go2, 1, spring=True),
            fits.shifted(go2, 2, spring=False),
        )
        added = set(sprung.physics.parameters) - set(plain.physics.parameters)
        assert added == {"spring_stiffness_nm_per_rad", "spring_rest_rad"}
        assert (
            {name: sprung.physics.parameters[name] for name in plain.physics.parameters}
            == plain.physics.parameters
            != other.physics.parameters
        )
        stiff = np.array(sprung.physics.parameters["spring_stiffness_nm_per_rad"])
        assert [joint for joint, k in zip(go2.contract.joints, stiff, strict=True) if k] == [
            j for j in go2.contract.joints if "calf" in j
        ]

    def test_an_uneven_robot_differs_joint_by_joint(self, go2):
        even, uneven = fits.shifted(go2, 1), fits.shifted(go2, 1, uneven=True)
        for name in fits.TYPES:
            assert len(set(even.physics.parameters[name])) == 3  # hip, thigh, calf
            assert len(set(uneven.physics.parameters[name])) == go2.contract.n_joints
        assert even.name != uneven.name

    def test_a_share_of_the_episodes_falls_and_the_gate_cuts_them(self, go2):
        twin = Twin("made", Physics(go2, {"torque_noise_nm": 0.5}))
        log = failures.mixed(twin, 0.25, 3, rollouts=8)
        assert log.n_episodes == 8
        assert failures.fell(log).tolist() == [6, 7]
        usable = failures.usable_rows(log, go2)
        assert not usable[log.gravity[:, 2] > -0.5].any()
        assert usable[log.episode < 6].mean() > 0.9
        with pytest.raises(Refused, match="fell in 6 of 8"):
            failures.usable_rows(failures.mixed(twin, 0.75, 3, rollouts=8), go2)


class TestWhatIsAsked:
    def test_every_method_meets_the_same_robot_log_and_budget(self, monkeypatch):
        asked, robots = {}, {}

        def walked(twin: Twin, rollouts: int, seed: int):
            robots[method] = (twin.physics.parameters, twin.time_shift_s, rollouts, seed)
            return "the log"

        def fitted(log, schedule, robot, settings: FitSettings):
            asked[method] = settings
            raise Refused("enough is known")

        monkeypatch.setattr(recovery, "walked", walked)
        monkeypatch.setattr(recovery, "fitted", fitted)
        monkeypatch.setattr(recovery, "schedule_of", lambda *_: None)
        for method in recovery.METHODS:
            with pytest.raises(Refused):
                recovery.recovered(Cell(method, "5.0", 4), Settings(simulated_s=77.0))
        assert {one[2] for row, one in robots.items() if row != recovery.OURS_WHOLE} == {8}
        assert robots[recovery.OURS_WHOLE][2] == 64
        assert len({repr((one[0], one[1], one[3])) for one in robots.values()}) == 1
        assert set(robots["mmd"][0]) == {"armature_kgm2", "dry_friction_nm", "torque_noise_nm"}
        assert robots["mmd"][1] == (0.02, 0.1)
        assert {(one.free, one.seed, one.most_simulated_s, one.held_out) for one in asked.values()} == {
            (fits.PUBLISHED_FREE, 4, 77.0, 0.0)
        }
        assert {row: (one.search, one.cost) for row, one in asked.items() if row in recovery.COSTS} == {
            row: ("cma", row) for row in recovery.COSTS
        }
        assert {asked[row].search for row in recovery.METHODS if row not in recovery.COSTS} == {"quantile"}
        assert asked[recovery.OURS_NARROW].kinds == ("position", "velocity", "action")
        assert set(asked[recovery.OURS_NARROW].kinds) < set(asked[recovery.OURS].kinds)

    def test_walking_upright(self, go2, monkeypatch, tmp_path):
        """The policy's own posture is fitted, and the fine-tuned policy walks on the robot that was recorded."""
        policy, upright = tmp_path / "biped.onnx", object()
        walked_on, fitted_as, tuned_in = [], [], []
        straight = SimpleNamespace(falls=1, lateral_abs_m=0.3, off_m=0.5, heading_abs_rad=0.1)
        evaluation = SimpleNamespace(
            stand=SimpleNamespace(stood=9, rose=10),
            walk=SimpleNamespace(velocity_error_m_s=0.1, falls=2),
            directions={"+x": straight, "-x": straight},
        )
        patched = {
            "policy_of": lambda robot: policy,
            "with_policy_posture": lambda robot, path: upright,
            "usable_rows": lambda *_: None,
            "schedule_of": lambda *_: None,
            "walked": lambda twin, rollouts, seed, seconds, policy: SimpleNamespace(metadata={"fallen_episodes": 3}),
            "closed": lambda _: {"gap": 0.1},
            "climbed": lambda log, schedule, robot, asked, rungs, folder, policy: (
                fitted_as.append((robot, policy, asked.tie)) or SimpleNamespace(adaptation=None)
            ),
            "effort": lambda _: {},
            "kept_training": lambda _: {},
            "tuned": lambda folder, adaptation, iterations, seed, policy: (
                tuned_in.append((folder, adaptation)) or Path(f"tuned from {policy.name}")
            ),
            "measured_on": lambda path, twin, seed: walked_on.append((path, twin, seed)) or evaluation,
        }
        for name, value in patched.items():
            monkeypatch.setattr(biped, name, value)
        figures = [biped.walk_upright(Cell(*place, 2), Settings()) for place in biped.BIPED.places]
        after = Path("tuned from biped.onnx")
        assert [path for path, _, _ in walked_on] == [policy, policy, after, after, policy, after, after]
        robots = [
            {},
            *[fits.shifted(go2, 2).physics.parameters] * 3,
            *[fits.shifted(go2, 2, uneven=True).physics.parameters] * 3,
        ]
        assert [twin.physics.parameters for _, twin, _ in walked_on] == robots
        assert {seed for *_, seed in walked_on} == {2}
        assert fitted_as == [(upright, str(policy), "type"), (upright, str(policy), "none")]
        assert [bool(adaptation) for _, adaptation in tuned_in] == [
            True,
            False,
            True,
            False,
        ]  # the fits of this test have none
        assert tuned_in[0][0] == tuned_in[2][0]  # what knows no robot is trained once
        assert tuned_in[0][1].knobs == ()
        assert len({folder for folder, _ in tuned_in}) == 3
        assert figures[3] | figures[1] == figures[3]  # the same figures, and those of the fit
        assert figures[1]["lateral_m"] == pytest.approx(0.3)
        assert figures[1]["falls_straight"] == 2
        evaluation.stand = None
        with pytest.raises(SurefootError, match="means to walk on all its legs"):
            biped.walk_upright(Cell(*biped.BIPED.places[0], 0), Settings())

    def test_without_a_fit_the_policy_is_trained_in_the_nominal_simulator(self, monkeypatch):
        trained = []
        patched = {
            "walked": lambda *_: "the log",
            "kept_training": lambda _: {},
            "on_twin": lambda policy, twin: {"drift_m": 1.0},
            "tuned": lambda folder, adaptation, iterations, seed: trained.append((adaptation, iterations, seed)),
        }
        for name, value in patched.items():
            monkeypatch.setattr(policies, name, value)
        assert policies.horizon(Cell(policies.NO_FIT, policies.SPRING, 3), Settings(iterations=7)) == {"drift_m": 1.0}
        ((adaptation, iterations, seed),) = trained
        assert (adaptation.settings, adaptation.network, adaptation.knobs) == ({}, None, ())
        assert (iterations, seed) == (7, 3)

    def test_cells_of_another_policy_are_not_mixed(self, tmp_path):
        measure = Counted()
        run([fake(measure, depends=lambda: {"policy": "abc"})], SETTINGS, range(1), folder=tmp_path, say=str)
        with pytest.raises(SurefootError, match=r"simulated_s 10, policy abc; now simulated_s 10, policy def"):
            run([fake(measure, depends=lambda: {"policy": "def"})], SETTINGS, range(2), folder=tmp_path, say=str)


class TestRealCell:
    @pytest.mark.parametrize("method", ["wasserstein", recovery.OURS])
    def test_a_small_one(self, tmp_path, monkeypatch, method):
        """Joints of one type share a value and rollouts are short: everything else is as in the table."""
        monkeypatch.setattr(recovery, "walked", lambda twin, rollouts, seed: fits.walked(twin, 6, seed, 1.4))
        for kind in ("budgeted", "published"):
            usual = getattr(fits, kind)
            monkeypatch.setattr(recovery, kind, lambda *given, usual=usual, **more: usual(*given, tie="type", **more))
        table = dataclasses.replace(recovery.RECOVERY, places=((method, "2.5"),))
        assert run([table], Settings(simulated_s=300.0), range(1), folder=tmp_path, say=str) == []
        figures = read_kept("recovery", tmp_path)[0][0].figures
        assert figures["error_before"] > 0.3
        assert 0 < figures["error"] < (0.8 if method == recovery.OURS else 1.2) * figures["error_before"]
        assert figures["stopped"]
        assert 0 < figures["simulated_s"] < 600  # the question that was asked last is answered whole


class TestWeights:
    def test_candidates_get_the_networks_that_are_written(self, go2):
        family = Weights(go2, {"delay_s": 0.004})
        rng = np.random.default_rng(0)
        candidates = rng.uniform(-1, 1, (3, family.n))
        worlds = Worlds(go2, 6, threads=1)
        family.apply(worlds, candidates, 2)
        assert family.n == 3 * (
            8 * (3 + 1) + 4 * (8 + 1) + 1 * (4 + 1)
        )  # types of joints, and layers with their biases
        error, position, velocity = rng.standard_normal((3, 6, 12))
        each = [family.network(one).net(go2) for one in candidates]
        expected = [
            net(*(values[2 * k : 2 * k + 2] for values in (error, position, velocity))) for k, net in enumerate(each)
        ]
        np.testing.assert_allclose(worlds.residual(error, position, velocity), np.concatenate(expected), rtol=1e-5)
        assert worlds.get("delay_s") == pytest.approx(0.004)
        family.apply(worlds, np.zeros((1, family.n)), 6)
        assert not worlds.residual(error, position, velocity).any()

    @pytest.mark.parametrize("cost", ["match-s-1", "wasserstein"])
    def test_a_search_that_was_stopped_does_not_simulate_again(self, go2, tmp_path, cost, monkeypatch):
        log = fits.walked(fits.shifted(go2, 0, spring=True), 6, 0, 1.4)
        adaptation, found = policies.weights(log, go2, cost, 400.0, 0, tmp_path)
        assert found["generations"] == len(list((tmp_path / "journal" / "weights").glob("*.npz")))
        assert found["simulated_s"] >= 400
        assert "before it settled" in found["stopped"]
        assert adaptation.network is not None
        monkeypatch.setattr(weights.Problem, "evaluate", lambda *_, **__: pytest.fail("simulated again"))
        again, same = policies.weights(log, go2, cost, 400.0, 0, tmp_path)
        assert same == found
        assert again.network.to_dict() == adaptation.network.to_dict()
