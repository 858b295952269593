"""What counts as the same figure again."""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from paper_tables import quick as quick_module
from paper_tables import recovery
from paper_tables.cells import Cell, Settings, measured, write_kept
from paper_tables.quick import by_itself, keep_to, quick
from support.cells import SETTINGS, Counted, fake, kept
from support.paths import ROOT

from surefoot.cores import allowed_cores
from surefoot.errors import SurefootError


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
