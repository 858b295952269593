"""Two runs in one folder are noticed, and a dead one is taken over."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.command_line import SCRIPT

from surefoot.errors import SurefootError
from surefoot.files import FolderLock
from surefoot.files.lock import FolderLock as Lock
from surefoot.files.lock import host_name

NAME = Lock.NAME

HOLD = (
    "import sys, time; from pathlib import Path; from surefoot.files import FolderLock\nwith"
    " FolderLock(Path(sys.argv[1]), 'fit'):\n    print('held', flush=True)\n    time.sleep(60)"
)


@pytest.fixture
def owner(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_living_owner_is_named(tmp_path, owner) -> None:
    with (
        pytest.raises(SurefootError, match=rf"is in use by 'surefoot fit' \(process {owner.pid} on "),
        FolderLock(tmp_path, "gap"),
    ):
        pass


def test_a_dead_owner_is_taken_over(tmp_path, owner) -> None:
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    assert (tmp_path / NAME).exists()
    with FolderLock(tmp_path, "gap"):
        assert json.loads((tmp_path / NAME).read_text())["pid"] == os.getpid()
    assert not (tmp_path / NAME).exists()


def test_a_lock_that_nobody_holds_is_taken_over_wherever_it_was_made(tmp_path) -> None:
    """A container or a renamed laptop has another name for the same machine."""
    (tmp_path / NAME).write_text(json.dumps({"pid": 1, "host": "elsewhere", "verb": "fit", "since": "yesterday"}))
    with FolderLock(tmp_path, "gap"):
        pass


class TestWithoutLocks:
    """On a disk that has none, the file itself is asked."""

    @pytest.fixture(autouse=True)
    def no_locks(self, monkeypatch):
        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSYS, "Function not implemented")

        monkeypatch.setattr("surefoot.files.lock.fcntl.flock", refuse)

    def sign(self, folder: Path, **changes: Any) -> None:
        (folder / NAME).write_text(
            json.dumps({"pid": os.getppid(), "host": host_name(), "verb": "fit", "since": "now"} | changes)
        )

    def test_it_works(self, tmp_path):
        with FolderLock(tmp_path, "gap"):
            pass

    def test_a_living_owner(self, tmp_path):
        self.sign(tmp_path)
        with pytest.raises(SurefootError, match="is in use"), FolderLock(tmp_path, "gap"):
            pass

    def test_a_dead_owner(self, tmp_path):
        self.sign(tmp_path, pid=2**22 - 3)
        with FolderLock(tmp_path, "gap"):
            pass

    def test_an_owner_on_another_machine_cannot_be_asked(self, tmp_path):
        self.sign(tmp_path, host="elsewhere")
        with (
            pytest.raises(SurefootError, match=r"on elsewhere.*remove .*\.lock if that run has ended"),
            FolderLock(tmp_path, "gap"),
        ):
            pass


def test_a_lock_that_is_a_link_is_not_followed(tmp_path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).symlink_to("../precious")
    with pytest.raises(SurefootError, match="cannot write"), FolderLock(tmp_path / "out", "gap"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{", '{"pid": 1}', "\x00" * 100])
def test_a_lock_that_says_nothing_is_taken_over(tmp_path, content) -> None:
    (tmp_path / NAME).write_text(content)
    with FolderLock(tmp_path, "gap"):
        pass


def test_the_same_process_twice(tmp_path) -> None:
    with FolderLock(tmp_path, "gap"), pytest.raises(SurefootError, match="is in use"), FolderLock(tmp_path, "gap"):
        pass


def test_two_commands_in_one_folder(tmp_path, owner) -> None:
    """Through the command line, with one sentence and nothing written."""
    before = sorted(tmp_path.iterdir())
    words = [str(SCRIPT), "fit", "--rehearse", "--policy", "trot", "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"process {owner.pid}" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_many_in_turn_never_hold_it_together(tmp_path) -> None:
    """Owners that end remove the file; one that opened it before must not hold a lock on a file that is gone."""
    line = (
        "import sys; from pathlib import Path; from surefoot.files import FolderLock; from surefoot.errors import"
        " SurefootError\nfolder, inside = Path(sys.argv[1]), Path(sys.argv[1]) / 'inside'\nfor _ in range(200):\n   "
        " try:\n        with FolderLock(folder, 'fit'):\n            inside.touch(exist_ok=False); inside.unlink()\n   "
        " except SurefootError: pass\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", line, str(tmp_path)]) for _ in range(3)]
    deadline = time.monotonic() + 60
    assert [process.wait(deadline - time.monotonic()) for process in processes] == [0, 0, 0]


@pytest.mark.parametrize("content", ["mine", "[]", "{}", '{"name": "mine"}', '{"pid": 1, "note": "' + "x" * 5000])
def test_a_file_of_the_users_is_neither_written_to_nor_removed(tmp_path, content) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(SurefootError, match="is not a lock of surefoot"), FolderLock(tmp_path, "gap"):
        pass
    assert (tmp_path / NAME).read_text() == content


@pytest.mark.parametrize("content", ["", '{"pid": 1}'])
def test_a_lock_with_a_second_name(tmp_path, content) -> None:
    """Writing to it would write to the other file."""
    (tmp_path / "mine").write_text(content)
    (tmp_path / "out").mkdir()
    os.link(tmp_path / "mine", tmp_path / "out" / NAME)
    with pytest.raises(SurefootError, match="is not a lock of surefoot"), FolderLock(tmp_path / "out", "gap"):
        pass
    assert (tmp_path / "mine").read_text() == content
    assert (tmp_path / "out" / NAME).exists()
