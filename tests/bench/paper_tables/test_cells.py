"""Cells of the tables: which ones there are, and that a stopped run goes on."""

import dataclasses
import json

import pytest
from paper_tables import data, plots, policies, recovery, render, tables
from paper_tables.cells import Cell, Refused, order, read_kept, run, write_kept
from paper_tables.words import Figures
from support.cells import FEW, SETTINGS, Counted, fake, kept

from surefoot.errors import SurefootError


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


class TestPolicies:
    def test_cells_of_another_policy_are_not_mixed(self, tmp_path):
        measure = Counted()
        run([fake(measure, depends=lambda: {"policy": "abc"})], SETTINGS, range(1), folder=tmp_path, say=str)
        with pytest.raises(SurefootError, match=r"simulated_s 10, policy abc; now simulated_s 10, policy def"):
            run([fake(measure, depends=lambda: {"policy": "def"})], SETTINGS, range(2), folder=tmp_path, say=str)
