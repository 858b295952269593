"""bench/paper.py as it is typed: some rows alone, and the quick check."""

import paper
import pytest
from paper_tables import tables
from paper_tables.cells import only, write_kept
from support.cells import kept


class TestQuick:
    def test_what_it_does_not_take_is_refused(self, capsys):
        assert paper.main(["--quick", "--row", "ours", "--minutes", "5"]) == 2
        assert "takes no --row or --minutes; --table chooses" in capsys.readouterr().err
        assert paper.main(["--keep"]) == 2
        assert "goes with it" in capsys.readouterr().err

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


class TestRows:
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
