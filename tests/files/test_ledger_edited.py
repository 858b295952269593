"""What somebody changed after a verb wrote it is somebody's work, and kept."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from support.policy_files import layers

from surefoot.errors import SurefootError
from surefoot.files import (
    check_folder,
    check_place,
    mark,
    note_input,
    open_log,
    outputs,
    read_mark,
    write_json,
    write_text,
    write_whole,
)
from surefoot.files.run_folder import RECORD
from surefoot.files.seal import MARK, ZEROS
from surefoot.learn import checkpoint
from surefoot.logs import record, write_log
from surefoot.policy import write_mlp
from surefoot.sim.twin import load_twin


def write(path: Path, go2) -> None:
    """A file of each kind that carries a mark, as its verb writes it."""
    match path.suffix:
        case ".parquet":
            write_log(record(load_twin("go2-identified"), "trot", rollouts=1, seconds=0.2, seed=0), path)
        case ".onnx":
            write_mlp(path, go2.contract, layers(go2.contract))
        case ".safetensors":
            checkpoint.save(path, {"a": torch.arange(3.0)}, {"iteration": 1})
        case ".json":
            write_json(path, {"a": 1})
        case ".html":
            write_text(path, f'<!doctype html><meta name="generator" content="{mark()}"><p>1</p>\n')
        case ".png":
            about = PngInfo()
            about.add_text("Software", mark())
            pixels = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
            write_whole(path, lambda place: Image.fromarray(pixels).save(place, format="PNG", pnginfo=about))


def edit(path: Path) -> None:
    """What a user's own tool does to it; the mark stays."""
    match path.suffix:
        case ".parquet":
            table = pq.read_table(path)
            half = table.slice(0, table.num_rows // 2)
            pq.write_table(half, path)
            assert MARK in str(pq.read_schema(path).metadata)
        case ".onnx":
            model = onnx.load(path)
            model.doc_string = "mine"
            onnx.save(model, path)
        case ".png":
            image = Image.open(path)
            about = PngInfo()
            about.add_text("Software", image.info["Software"])
            image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path, pnginfo=about)
        case ".safetensors":
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
        case _:
            path.write_text(path.read_text().replace("1", "2", 1) + "mine\n")
    assert MARK.encode() in path.read_bytes()


KINDS = ["a.parquet", "a.onnx", "a.safetensors", "a.json", "a.html", "a.png"]


@pytest.mark.parametrize("name", KINDS)
class TestKinds:
    def test_a_mark_does_not_survive_an_edit(self, tmp_path, go2, name):
        path = tmp_path / name
        with outputs("robot check"):
            write(path, go2)
        assert read_mark(path) == "robot check"
        with outputs("robot check"):
            check_place(path)
            write(path, go2)
        edit(path)
        edited = path.read_bytes()
        assert read_mark(path) is None
        with (
            outputs("robot check"),
            pytest.raises(SurefootError, match="changed after 'surefoot robot check' wrote it"),
        ):
            check_place(path)
        with outputs("robot check"), pytest.raises(SurefootError, match="left as it is"):
            write(path, go2)
        assert path.read_bytes() == edited
        with outputs("robot check", overwrite=True):
            check_place(path)
            write(path, go2)
        assert read_mark(path) == "robot check"

    def test_the_file_stays_a_good_one(self, tmp_path, go2, name):
        """The digest is written into a complete file; a PNG has a checksum around it."""
        path = tmp_path / name
        write(path, go2)
        assert ZEROS.encode() not in path.read_bytes()
        match path.suffix:
            case ".parquet":
                assert pq.read_table(path).num_rows
            case ".onnx":
                onnx.checker.check_model(onnx.load(path))
            case ".safetensors":
                assert checkpoint.load(path)[1] == {"iteration": 1}
            case ".json":
                assert json.loads(path.read_text())["a"] == 1
            case ".png":
                image = Image.open(path)
                image.load()
                assert image.info["Software"].startswith("written by surefoot library. sha256:")

    def test_the_same_content_gives_the_same_bytes(self, tmp_path, go2, name):
        if name.endswith(".safetensors"):
            pytest.skip("the library writes its metadata in any order")
        write(tmp_path / name, go2)
        first = (tmp_path / name).read_bytes()
        write(tmp_path / name, go2)
        assert (tmp_path / name).read_bytes() == first


def test_the_digest_is_that_of_the_file_with_zeros(tmp_path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    text = (tmp_path / "a.json").read_text()
    digest = json.loads(text)["written_by"].partition("sha256:")[2]
    assert hashlib.sha256(text.replace(digest, ZEROS).encode()).hexdigest() == digest


@pytest.mark.parametrize(
    "text", [f"{MARK} evaluate.", f"{MARK} evaluate. sha256:{ZEROS}", f"{MARK} evaluate. sha256:{'ab' * 32}"]
)
def test_the_sentence_alone_is_no_mark(tmp_path, text) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"notes": text}))
    with outputs("evaluate"), pytest.raises(SurefootError, match="left as it is"):
        check_place(tmp_path / "a.json")


def test_a_mark_inside_what_is_written(tmp_path) -> None:
    """A file may quote another one's mark; neither is mistaken for the other."""
    with outputs("gap"):
        write_json(tmp_path / "gap.json", {})
    quoted = json.loads((tmp_path / "gap.json").read_text())["written_by"]
    with outputs("evaluate"):
        write_json(tmp_path / "a.json", {"source": quoted})
    assert json.loads((tmp_path / "a.json").read_text())["source"] == quoted
    assert read_mark(tmp_path / "a.json") == "evaluate"
    write_text(tmp_path / "b.json", json.dumps({"source": quoted}))
    assert read_mark(tmp_path / "b.json") is None


def test_a_large_file(tmp_path) -> None:
    """Marks are looked for at both ends; all in between is covered."""
    with outputs("evaluate"):
        write_json(tmp_path / "a.json", {"a": "x" * 5_000_000})
    assert read_mark(tmp_path / "a.json") == "evaluate"
    with open(tmp_path / "a.json", "rb+") as file:
        file.seek(2_500_000)
        file.write(b"y")
    assert read_mark(tmp_path / "a.json") is None


class TestSentences:
    """Each says what is known, and no more."""

    def refused(self, verb: str, path: Path) -> str:
        with outputs(verb), pytest.raises(SurefootError) as caught:
            check_place(path)
        assert caught.value.argument == "overwrite"
        return str(caught.value)

    @pytest.mark.parametrize("name", ["a.gif", "a.mp4", "a.py", "a.yaml", "a.xml"])
    def test_what_carries_no_mark(self, tmp_path, name):
        with outputs("play"):
            write_text(tmp_path / name, "x")
        says = self.refused("play", tmp_path / name)
        assert "cannot tell who wrote it" in says
        assert "did not write it" not in says

    def test_a_result_of_an_older_version(self, tmp_path):
        (tmp_path / "a.html").write_text("<html>")
        assert "cannot tell who wrote it" in self.refused("doctor", tmp_path / "a.html")

    def test_another_verb(self, tmp_path):
        with outputs("gap"):
            write_json(tmp_path / "a.json", {})
        assert "'surefoot fit' did not write it ('surefoot gap' did)" in self.refused("fit", tmp_path / "a.json")

    def test_robot_new_twice(self, surefoot, here):
        (here / "m.xml").write_text("<mujoco/>")
        (here / "robot.yaml").write_text("name: a\n")
        code, _, error = surefoot("robot", "new", "m.xml")
        assert code == 2
        assert "cannot tell who wrote it" in error


class TestInputs:
    """`overwrite` is about outputs; an input is never replaced."""

    def test_in_any_order(self, tmp_path):
        path = tmp_path / "a.json"
        write_json(path, {})
        before = path.read_bytes()
        with outputs("evaluate", overwrite=True):
            note_input(path)
            with pytest.raises(SurefootError, match="also where overwriting is allowed"):
                check_place(path)
            with pytest.raises(SurefootError, match="also where overwriting is allowed"):
                write_json(path, {"a": 1})
        with outputs("evaluate", overwrite=True):
            check_place(path)
            with pytest.raises(SurefootError, match="also where overwriting is allowed"):
                note_input(path)
        assert path.read_bytes() == before

    def test_an_import_over_its_own_input(self, surefoot, here):
        write_log(record(load_twin("go2-identified"), "trot", rollouts=1, seconds=0.4, seed=0), here / "a.parquet")
        before = (here / "a.parquet").read_bytes()
        os.link("a.parquet", "b.parquet")
        for name in ("a.parquet", "b.parquet"):
            code, _, error = surefoot("log", "import", "a.parquet", "--out", name, "--overwrite")
            assert code == 2
            assert "is an input" in error
            assert (here / name).read_bytes() == before


class TestRunFolders:
    NAMES = ("verdict.json", "simulator.yaml")

    @pytest.fixture
    def run(self, tmp_path):
        def call(text: str) -> None:
            with outputs("fit"):
                check_folder(tmp_path, self.NAMES)
                write_text(tmp_path / "simulator.yaml", text)
                write_json(tmp_path / "verdict.json", {"says": text})

        return call

    @pytest.mark.parametrize("name", NAMES)
    def test_an_edited_result_is_kept(self, tmp_path, run, name):
        run("a")
        run("b")
        edited = (tmp_path / name).read_text() + " "
        (tmp_path / name).write_text(edited)
        with pytest.raises(SurefootError, match="changed after 'surefoot fit' wrote it"):
            run("c")
        assert (tmp_path / name).read_text() == edited

    def test_an_edit_that_keeps_size_and_time(self, tmp_path, run):
        run("a")
        status = (tmp_path / "simulator.yaml").stat()
        (tmp_path / "simulator.yaml").write_text("z")
        os.utime(tmp_path / "simulator.yaml", ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(SurefootError, match="changed after"):
            run("c")

    def test_a_record_without_hashes_cannot_tell(self, tmp_path, run):
        """As it was once written: a list of names."""
        run("a")
        (tmp_path / RECORD).write_text(json.dumps({"files": {"fit": list(self.NAMES)}}))
        with pytest.raises(
            SurefootError, match=r"simulator\.yaml already exists, and surefoot cannot tell who wrote it"
        ):
            run("b")

    @pytest.mark.parametrize(
        "content", ["", "[]", '{"files": {"fit": 3}}', '{"files": {"fit": {"simulator.yaml": [1]}}}']
    )
    def test_a_damaged_record_allows_nothing(self, tmp_path, run, content):
        run("a")
        (tmp_path / RECORD).write_text(content)
        with pytest.raises(SurefootError, match="cannot tell who wrote it"):
            run("b")

    def test_a_file_that_grows_has_no_hash(self, tmp_path):
        for _ in range(2):
            with outputs("loop"):
                check_folder(tmp_path, ("run.json",))
                with open_log(tmp_path / "gap" / "log.txt") as file:
                    file.write("a line\n")
                (tmp_path / "gap" / "log.txt").open("a").write("another\n")

    def test_a_user_who_overwrites_once_is_not_asked_again(self, tmp_path, run):
        (tmp_path / "simulator.yaml").write_text("mine")
        with outputs("fit", overwrite=True):
            check_folder(tmp_path, self.NAMES)
            write_text(tmp_path / "simulator.yaml", "a")
        run("b")


class TestKills:
    """The record is written before the file; whichever of the two a kill leaves, the verb goes on."""

    @pytest.mark.parametrize("moment", ["before the record", "before the file", "after the file"])
    @pytest.mark.parametrize("times", [1, 2, 5])
    def test_killed_while_a_file_takes_its_place(self, tmp_path, moment, times):
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom surefoot.files import check_folder, outputs, write_text\n"
            "folder, text, moment = Path(sys.argv[1]), sys.argv[2], sys.argv[3]\nreplace = os.replace\n"
            "def dying(source, target):\n"
            "    file = Path(target).name == 'simulator.yaml'\n"
            "    if moment == 'before the record' and not file or moment == 'before the file' and file: os._exit(9)\n"
            "    replace(source, target)\n"
            "    if moment == 'after the file' and file: os._exit(9)\n"
            "with outputs('fit'):\n"
            "    check_folder(folder, ('simulator.yaml',))\n"
            "    if moment: os.replace = dying\n"
            "    write_text(folder / 'simulator.yaml', text)\n"
        )

        def call(text: str, moment: str) -> int:
            words = [sys.executable, "-c", script, str(tmp_path), text, moment]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            assert "Error" not in done.stderr, done.stderr
            return done.returncode

        assert call("first", "") == 0
        for k in range(times):
            assert call(f"try {k}", moment) == 9
        assert call("last", "") == 0
        assert (tmp_path / "simulator.yaml").read_text() == "last"
        (tmp_path / "simulator.yaml").write_text("mine")
        with outputs("fit"), pytest.raises(SurefootError, match="changed after"):
            check_folder(tmp_path, ("simulator.yaml",))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
class TestPipes:
    def call(self, folder: Path, *words: str) -> str:
        script = Path(sys.executable).with_name("surefoot")
        done = subprocess.run([script, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        return done.stderr

    def test_in_place_of_a_checkpoint(self, tmp_path):
        (tmp_path / "tc").mkdir()
        os.mkfifo(tmp_path / "tc" / "checkpoint.safetensors")
        says = self.call(tmp_path, "train", "walk", "--out", "tc", "--iterations", "1", "--worlds", "4")
        assert "checkpoint.safetensors is not an ordinary file" in says

    def test_in_place_of_figures(self, tmp_path):
        (tmp_path / "gj").mkdir()
        os.mkfifo(tmp_path / "gj" / "gap.json")
        write_log(record(load_twin("go2-identified"), "walk", rollouts=2, seconds=1, seed=0), tmp_path / "log.parquet")
        assert "gap.json is not an ordinary file" in self.call(tmp_path, "gap", "log.parquet", "--out", "gj")

    def test_a_mark_is_not_looked_for_in_one(self, tmp_path):
        os.mkfifo(tmp_path / "a.json")
        assert read_mark(tmp_path / "a.json") is None

    def test_in_place_of_a_folder_of_the_verbs_own(self, tmp_path):
        os.mkfifo(tmp_path / "journal")
        with outputs("fit"), pytest.raises(SurefootError, match="where a folder will be written"):
            check_folder(tmp_path, ("journal/",))
