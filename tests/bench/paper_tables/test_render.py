"""The page as a whole."""

import xml.etree.ElementTree as ElementTree

import pytest
from paper_tables import cells, data, failures, pages, plots, policies, render, spread, tables
from paper_tables.cells import Kept, write_kept
from paper_tables.words import Figures
from support.cells import kept
from support.paths import ROOT

from surefoot.errors import SurefootError


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
