"""A restart removes what the verbs wrote, and nothing else."""

import json

import pytest

from surefoot.errors import SurefootError
from surefoot.files import check_folder, open_log, outputs, remove_written, write_json, write_text
from surefoot.files.run_folder import RECORD
from surefoot.pipeline.loop_record import LoopRecord


@pytest.fixture
def out(tmp_path):
    """A run folder as a loop leaves it: its own files, and a step that wrote into a folder of its own."""
    out = tmp_path / "run"
    with outputs("loop"):
        check_folder(out, ("run.json", "doctor/doctor.json"))
        write_json(out / "run.json", {})
        write_json(out / "doctor" / "doctor.json", {})
        with open_log(out / "fit" / "log.txt") as file:
            file.write("a line\n")
        with outputs("fit"):
            check_folder(out / "fit", ("fit.json", "simulator.yaml", "fit-journal/"))
            write_json(out / "fit" / "fit.json", {})
            write_text(out / "fit" / "simulator.yaml", "robot: go2\n")
            write_text(out / "fit" / "fit-journal" / "0000.npz", "1")
    return out


def names(folder) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_was_written_goes(out) -> None:
    with outputs("loop"):
        check_folder(out, ("run.json", "doctor/doctor.json"))
        remove_written(out, ("doctor", "fit", "video"))
    assert names(out) == [RECORD, "run.json"]
    assert not (out / "fit").exists()
    assert not (out / "doctor").exists()
    assert list(json.loads((out / RECORD).read_text())["files"]["loop"]) == ["run.json"]


def test_what_the_user_put_there_stays(out) -> None:
    """Three folders of real recordings once went with a restart."""
    for folder in ("fit", "record", "doctor/notes"):
        (out / folder).mkdir(parents=True, exist_ok=True)
        (out / folder / "real.csv").write_text("mine")
    remove_written(out, ("doctor", "fit", "record"))
    assert names(out) == [RECORD, "doctor/notes/real.csv", "fit/real.csv", "record/real.csv", "run.json"]


def test_a_changed_file_is_refused_before_anything_goes(out) -> None:
    (out / "fit" / "simulator.yaml").write_text("robot: go2\nfloor_friction: 0.5  # mine\n")
    before = names(out)
    with (
        outputs("loop"),
        pytest.raises(SurefootError, match=r"simulator\.yaml was changed after 'surefoot fit' wrote it"),
    ):
        remove_written(out, ("doctor", "fit"))
    assert names(out) == before
    with outputs("loop", overwrite=True):
        remove_written(out, ("doctor", "fit"))
    assert names(out) == [RECORD, "run.json"]


def test_symlinks_are_not_followed(out, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "fit-journal").mkdir(parents=True)
    for name in ("fit.json", "simulator.yaml", RECORD):
        (elsewhere / name).write_bytes((out / "fit" / name).read_bytes())
    (out / "gap").symlink_to(elsewhere, target_is_directory=True)  # a step's folder that leads elsewhere
    journal = out / "fit" / "fit-journal"
    (journal / "0000.npz").unlink()
    journal.rmdir()
    (elsewhere / "fit-journal" / "precious.npz").write_text("mine")
    journal.symlink_to(elsewhere / "fit-journal", target_is_directory=True)
    before = names(elsewhere)
    remove_written(out, ("fit", "gap"))
    assert names(elsewhere) == before


@pytest.mark.parametrize("name", ["../precious", "/precious", "a/../../precious", "", "."])
def test_a_record_that_names_a_place_elsewhere(tmp_path, name) -> None:
    """Records come with the folder, and the folder may come from somebody else."""
    (tmp_path / "run" / "fit").mkdir(parents=True)
    (tmp_path / "run" / "precious").write_text("mine")
    (tmp_path / "run" / "fit" / RECORD).write_text(json.dumps({"files": {"fit": {name: None}}}))
    remove_written(tmp_path / "run", ("fit",))
    assert (tmp_path / "run" / "precious").read_text() == "mine"


def test_a_name_that_leads_elsewhere(out, tmp_path) -> None:
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "mine").write_text("mine")
    remove_written(out, ("..", "../fit", str(tmp_path / "fit")))
    assert (tmp_path / "fit" / "mine").exists()
    assert (out / "fit" / "fit.json").exists()


def test_a_loop_that_begins_anew(tmp_path) -> None:
    for forget in ((), ("record", "join", "verdict")):
        for folder in ("record", "join", "verdict"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "real.csv").write_text("mine")
        with outputs("loop"):
            check_folder(tmp_path, ("run.json",))
            LoopRecord(tmp_path, "surefoot loop", {}, {}, forget=forget)
    assert [path for path in names(tmp_path) if path.endswith(".csv")] == [
        f"{folder}/real.csv" for folder in ("join", "record", "verdict")
    ]
