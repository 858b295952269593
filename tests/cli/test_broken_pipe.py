"""A reader that goes away, as in `surefoot log show LOG | head -1`, is no mistake."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.cli.main import VERBS
from surefoot.console import Console
from surefoot.logs import record, write_log
from surefoot.sim.twin import load_twin

SCRIPT = Path(sys.executable).with_name("surefoot")


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pipe") / "log.parquet"
    write_log(record(load_twin("go2-identified"), "trot", rollouts=2, seconds=0.5, seed=0), path)
    return path


@pytest.mark.parametrize("words", [("log", "show"), ("doctor",)])
def test_nobody_reads(log, words) -> None:
    """The pipe is closed before the first line, so that every write fails."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SCRIPT, *words, log.name],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=log.parent,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0
    assert done.stderr == ""


def test_the_console_says_so() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    file = os.fdopen(writer, "w", buffering=1)
    with pytest.raises(BrokenPipeError):
        Console(file=file).print("a line")
    os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
    file.close()


def test_help(log) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    for words in ((), ("train", "--help")):
        done = subprocess.run(
            [SCRIPT, *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
    os.close(writer)
    assert "train" in VERBS
