"""No verb destroys what it reads, or what somebody else wrote."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.log_files import joint_columns, write_csv
from support.policy_files import layers
from support.robot_files import HEXAPOD, tiny

from surefoot.errors import SurefootError
from surefoot.files import check_folder, check_place, note_input, open_log, outputs, read_mark, write_json, write_text
from surefoot.files.temporary import temporary_name
from surefoot.policy import write_mlp


@pytest.fixture
def raw(here, go2) -> Path:
    rng = np.random.default_rng(0)
    joints = go2.contract.joints
    columns = {"time": np.arange(80) / 50, **joint_columns("q_", joints, rng.uniform(-1, 1, (80, 12)))}
    return write_csv(here / "raw.csv", columns | joint_columns("action_", joints, rng.uniform(-1, 1, (80, 12))))


@pytest.fixture
def kept(surefoot):
    """A command line is refused with one sentence, and leaves every file in the folder as it was."""

    def call(*arguments: object, says: str = "") -> None:
        before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
        code, _, error = surefoot(*arguments)
        assert code == 2
        assert says in error
        assert error.count("\n") == 1
        assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before

    return call


class TestVerbs:
    """Each of these once reported success, and the input was gone."""

    def test_log_import_over_its_csv(self, kept, raw):
        kept("log", "import", "raw.csv", "--out", "raw.csv", says="does not end in .parquet")

    def test_log_import_over_its_parquet(self, kept, surefoot, raw):
        assert surefoot("log", "import", "raw.csv", "--out", "x.parquet")[0] == 0
        kept("log", "import", "x.parquet", "--out", "x.parquet", says="is an input")

    @pytest.mark.parametrize("link", [os.link, os.symlink])
    def test_log_import_over_a_link_to_its_input(self, kept, surefoot, raw, link):
        assert surefoot("log", "import", "raw.csv", "--out", "x.parquet")[0] == 0
        link("x.parquet", "y.parquet")
        kept("log", "import", "x.parquet", "--out", "y.parquet", says="is an input")

    def test_log_plot_over_its_log(self, kept, surefoot, raw):
        surefoot("log", "import", "raw.csv", "--out", "log.parquet")
        kept("log", "plot", "log.parquet", "--out", "log.parquet", says="does not end in .html")
        os.link("log.parquet", "log.html")
        kept("log", "plot", "log.parquet", "--out", "log.html", says="did not write it")

    def test_doctor_over_its_log(self, kept, surefoot, raw):
        surefoot("log", "import", "raw.csv", "--out", "log.parquet")
        kept("doctor", "log.parquet", "--html", "log.parquet", says="does not end in .html")

    def test_evaluate_over_its_policy(self, kept, here, go2):
        write_mlp(here / "w.onnx", go2.contract, layers(go2.contract))
        kept("evaluate", "w.onnx", "--out", "w.onnx", says="does not end in .json")

    def test_robot_check_over_its_yaml(self, kept, here):
        tiny(here)
        kept("robot", "check", "robot.yaml", "--out", "robot.yaml", says="does not end in .png")

    def test_record_over_its_virtual_robot(self, kept, here):
        (here / "t.yaml").write_text("robot: go2\n")
        kept("record", "--twin", "t.yaml", "--out", "t.yaml", says="does not end in .parquet")

    def test_attach_over_its_policy(self, kept, surefoot, here, go2):
        write_mlp(here / "w.onnx", go2.contract, layers(go2.contract))
        kept("policy", "attach", "w.onnx", "--robot", "go2", "--out", "w.onnx", says="did not write it")
        kept("policy", "attach", "w.onnx", "--robot", "go2", "--out", "w.onnx", "--overwrite", says="is an input")

    def test_a_mesh_or_model_of_the_robot(self, kept, here):
        shutil.copytree(HEXAPOD, here / "robot")
        (here / "robot" / "hexapod.xml").rename(here / "robot" / "hexapod.mjcf")
        text = (here / "robot" / "robot.yaml").read_text().replace("hexapod.xml", "hexapod.png")
        (here / "robot" / "robot.yaml").write_text(text)
        shutil.copy(here / "robot" / "hexapod.mjcf", here / "robot" / "hexapod.png")
        kept("robot", "check", "robot", "--out", "robot/hexapod.png")


class TestAgain:
    """A verb replaces its own results, and nobody else's."""

    def test_the_same_verb_may_write_again(self, surefoot, here):
        record = ("record", "--twin", "go2-identified", "--rollouts", 1, "--seconds", 0.1, "--out", "a.parquet")
        assert surefoot(*record)[0] == 0
        before = (here / "a.parquet").read_bytes()
        assert surefoot(*record, "--seed", 1)[0] == 0
        assert (here / "a.parquet").read_bytes() != before

    def test_another_verb_may_not(self, surefoot, kept, raw):
        surefoot("log", "import", "raw.csv", "--out", "a.parquet")
        kept(
            "record",
            "--twin",
            "go2-identified",
            "--rollouts",
            1,
            "--seconds",
            0.1,
            "--out",
            "a.parquet",
            says="did not write it",
        )

    def test_pages_and_figures_carry_the_name_of_their_verb(self, surefoot, here, raw):
        surefoot("log", "import", "raw.csv", "--out", "a.parquet")
        assert surefoot("log", "plot", "a.parquet", "--out", "a.html")[0] == 0
        assert surefoot("doctor", "a.parquet", "--html", "d.html")[0] in (0, 1, 2)
        assert {name: read_mark(here / name) for name in ("a.parquet", "a.html", "d.html", "raw.csv")} == {
            "a.parquet": "log import",
            "a.html": "log plot",
            "d.html": "doctor",
            "raw.csv": None,
        }
        assert surefoot("log", "plot", "a.parquet", "--out", "a.html")[0] == 0

    def test_what_a_person_may_have_edited_is_kept(self, surefoot, kept, here):
        tiny(here)
        assert surefoot("robot", "new", "tiny.xml", "--out", "mine.yaml")[0] == 0
        kept("robot", "new", "tiny.xml", "--out", "mine.yaml", says="--overwrite")


class TestFolders:
    def test_a_folder_remembers_which_verb_writes_which_of_its_files(self, tmp_path):
        out = tmp_path / "run"
        with outputs("fit"):
            check_folder(out, ("fit.json", "simulator.yaml"))
            write_json(out / "fit.json", {"a": 1})
            write_text(out / "simulator.yaml", "robot: go2\n")
        with outputs("fit"):
            check_folder(out, ("fit.json", "simulator.yaml"))
            write_text(out / "simulator.yaml", "robot: other\n")
        with (
            outputs("gap"),
            pytest.raises(SurefootError, match=r"simulator\.yaml already exists, and 'surefoot gap' did not write it"),
        ):
            check_folder(out, ("gap.json", "simulator.yaml"))

    def test_a_folder_with_a_file_of_the_user(self, tmp_path):
        (tmp_path / "gap.json").write_text("mine")
        with outputs("gap"), pytest.raises(SurefootError, match="left as it is"):
            check_folder(tmp_path, ("gap.json",))
        with outputs("gap", overwrite=True):
            check_folder(tmp_path, ("gap.json",))
            write_json(tmp_path / "gap.json", {})
        assert json.loads((tmp_path / "gap.json").read_text())["written_by"].startswith("written by surefoot gap. ")

    def test_a_verb_that_wrote_nothing_leaves_nothing(self, tmp_path):
        with outputs("gap"):
            check_folder(tmp_path / "new", ("gap.json",))
        assert not (tmp_path / "new").exists()

    def test_files_that_a_killed_run_was_writing_are_removed(self, tmp_path):
        """Those of a living run, of another machine and of nobody stay."""
        ours = temporary_name(".json")
        dead = subprocess.run(
            [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
        ).stdout.strip()
        names = [
            ours.replace(f"-{os.getpid()}-", f"-{dead}-"),
            ours.replace(f"-{os.getpid()}-", f"-{os.getppid()}-"),
            ".surefoot-other-1-ab.json",
            ".surefoot-notes",
        ]
        for name in names:
            (tmp_path / name).write_text("half")
        (tmp_path / ".surefoot-folder").mkdir()
        with outputs("gap"):
            check_folder(tmp_path, ("gap.json",))
            write_json(tmp_path / "gap.json", {})
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [".surefoot.json", ".surefoot-folder", "gap.json", *names[1:]]
        )

    def test_only_what_was_written_counts_as_written(self, tmp_path):
        """A verb that was refused before it wrote a file did not write the one that somebody puts there later."""
        (tmp_path / "mine.txt").write_text("mine")
        with outputs("gap"):
            check_folder(tmp_path, ("gap.json", "simulator.yaml"))
            write_json(tmp_path / "gap.json", {})
        (tmp_path / "simulator.yaml").write_text("mine too")
        with outputs("gap"), pytest.raises(SurefootError, match="did not write it"):
            check_folder(tmp_path, ("gap.json", "simulator.yaml"))

    def test_a_folder_of_the_verbs_own(self, tmp_path):
        (tmp_path / "journal").mkdir()
        (tmp_path / "journal" / "mine.txt").write_text("mine")
        with outputs("fit"), pytest.raises(SurefootError, match="journal already exists"):
            check_folder(tmp_path, ("journal/",))
        with outputs("gap"):
            check_folder(tmp_path, ("gap-journal/",))
            write_text(tmp_path / "gap-journal" / "0000.npz", "1")
        with outputs("gap"):
            check_folder(tmp_path, ("gap-journal/",))
            write_text(tmp_path / "gap-journal" / "0000.npz", "2")

    def test_a_step_of_a_longer_run_has_no_more_rights(self, tmp_path):
        (tmp_path / "fit").mkdir()
        (tmp_path / "fit" / "simulator.yaml").write_text("mine")
        with outputs("loop"):
            check_folder(tmp_path, ("run.json",))
            with outputs("fit"), pytest.raises(SurefootError, match="cannot tell who wrote it"):
                check_folder(tmp_path / "fit", ("simulator.yaml",))

    def test_a_log_that_grows(self, tmp_path):
        for _ in range(2):
            with outputs("loop"):
                check_folder(tmp_path, ("run.json",))
                with open_log(tmp_path / "gap" / "log.txt") as file:
                    file.write("a line\n")
        (tmp_path / "doctor").mkdir()
        (tmp_path / "doctor" / "log.txt").write_text("mine")
        with outputs("loop"):
            check_folder(tmp_path, ("run.json",))
            with pytest.raises(SurefootError, match="left as it is"):
                open_log(tmp_path / "doctor" / "log.txt")

    def test_an_input_in_the_folder_that_is_written_to(self, tmp_path):
        with outputs("finetune"):
            check_folder(tmp_path, ("policy.onnx",))
            write_text(tmp_path / "policy.onnx", "x")
            note_input(tmp_path / "policy.onnx")  # its own result may be read
            write_text(tmp_path / "policy.onnx", "y")
        with outputs("finetune"):
            check_folder(tmp_path, ("policy.onnx",))
            with pytest.raises(SurefootError, match="is an input"):
                note_input(tmp_path / "policy.onnx")


class TestOrder:
    """Whichever comes first, reading or writing."""

    def test_read_then_write(self, tmp_path):
        with outputs("evaluate"):
            write_json(tmp_path / "a.json", {})
        with outputs("evaluate"):
            note_input(tmp_path / "a.json")
            with pytest.raises(SurefootError, match="is an input"):
                write_text(tmp_path / "a.json", "")

    def test_claimed_then_read(self, tmp_path):
        with outputs("evaluate"):
            write_json(tmp_path / "a.json", {})
        with outputs("evaluate"):
            check_place(tmp_path / "a.json")
            with pytest.raises(SurefootError, match="is an input"):
                note_input(tmp_path / "a.json")

    def test_a_file_that_appears_while_the_verb_works(self, tmp_path):
        with outputs("record"):
            check_place(tmp_path / "a.parquet")
            (tmp_path / "a.parquet").write_text("somebody's")
            with pytest.raises(SurefootError, match="in the meantime"):
                write_text(tmp_path / "a.parquet", "ours")
        assert (tmp_path / "a.parquet").read_text() == "somebody's"

    def test_a_dangling_symlink_is_kept(self, tmp_path):
        (tmp_path / "a.parquet").symlink_to(tmp_path / "nowhere")
        with outputs("record"), pytest.raises(SurefootError, match="left as it is"):
            check_place(tmp_path / "a.parquet")

    def test_a_library_call_writes_where_it_is_told(self, tmp_path):
        (tmp_path / "a.txt").write_text("old")
        write_text(tmp_path / "a.txt", "new")
        assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize("length", [200, 240, 250])
def test_a_long_name_is_written(tmp_path, length) -> None:
    """A temporary name that is longer than the name itself would fail after the work."""
    path = tmp_path / ("a" * (length - 5) + ".json")
    check_place(path)
    write_json(path, {"a": 1})
    assert json.loads(path.read_text())["a"] == 1


def test_a_name_that_no_disk_takes_is_refused_before_the_work(tmp_path) -> None:
    with pytest.raises(SurefootError, match="longer than 255 bytes"):
        check_place(tmp_path / ("é" * 130 + ".json"))
