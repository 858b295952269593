"""The command line as a user meets it: verbs and their help, the installed script, and what the machine refuses."""

import os
import subprocess
from pathlib import Path

import pytest
from support.command_line import SCRIPT, SHORT
from support.robot_files import HEXAPOD, hexapod_twin

from surefoot import __version__
from surefoot.cli.main import VERBS
from surefoot.logs import read_log
from surefoot.robot import load_robot


def installed(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run the console script that pip installed."""
    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_all_verbs_with_one_line_each(surefoot, arguments) -> None:
    code, out, error = surefoot(*arguments)
    assert (code, error) == (0, "")
    for name, verb in VERBS.items():
        line = next(line for line in out.splitlines() if line.strip().startswith(name))
        assert verb.line in line
    assert "usage: surefoot VERB" in out
    assert max(map(len, out.splitlines())) <= 100


def test_version(surefoot) -> None:
    assert surefoot("--version") == (0, f"surefoot {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["recrod"], "did you mean 'record'"),
        (["robot", "chekc", "go2"], "did you mean 'robot check'"),
        (["policy", "shwo"], "did you mean 'policy show'"),
        (["roboter"], "unknown verb 'roboter'"),
        (["zzz"], "known: robot check"),
        (["--rollouts", "3"], "unknown verb '--rollouts'"),
        ([""], "unknown verb ''"),
    ],
)
def test_unknown_verb_gets_the_nearest(refused, arguments, part) -> None:
    refused(*arguments, says=(part,))


def test_a_group_shows_its_verbs(surefoot) -> None:
    assert surefoot("robot", "--help")[0] == 0
    code, out, _ = surefoot("policy")
    assert code == 2
    assert "policy attach" in out
    assert "record" not in out


@pytest.mark.parametrize("verb", list(VERBS))
def test_help_of_a_verb(surefoot, verb) -> None:
    code, out, error = surefoot(*verb.split(), "--help")
    assert (code, error) == (0, "")
    assert f"usage: surefoot {verb}" in out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["robot", "check"], "robot check"),
        (["robot", "new"], "robot new"),
        (["policy", "show"], "policy show"),
        (["policy", "attach", "walk.onnx"], "--out"),
        (["record", "--out", "log.parquet"], "--twin"),
        (["record", "--twin", "go2-worn", "--out", "log.parquet", "--rollouts", "many"], "--rollouts"),
        (["record", "--twin", "go2-worn", "--out", "log.parquet", "--rolouts", "2"], "--rolouts"),
        (["record", "--twin", "go2-worn", "--out", "log.parquet", "--seconds"], "seconds"),
    ],
)
def test_arguments_that_are_missing_or_unknown(surefoot, arguments, part) -> None:
    code, out, error = surefoot(*arguments)
    assert (code, out) == (2, "")
    assert part in error
    assert "Traceback" not in error


def test_hexapod_through_the_same_commands(surefoot, here) -> None:
    twin = hexapod_twin(here)
    assert surefoot("robot", "check", "hexapod")[0] == 0
    code, out, error = surefoot(
        "record", "--twin", twin, "--policy", "trot", "--rollouts", "3", "--seconds", "1", "--out", "log.parquet"
    )
    assert (code, error) == (0, "")
    assert "0 of 3 fell" in out
    log = read_log(here / "log.parquet")
    assert log.joints == load_robot(HEXAPOD).contract.joints
    assert log.joint_position_rad.shape == (150, 18)
    assert log.metadata["source"]["twin"] == "old"


def test_names_with_brackets_and_other_letters(surefoot, here) -> None:
    """Rich reads [/x] as markup unless it is told not to."""
    hexapod_twin(here).rename(here / "[bold]ü[.yaml")
    code, out, _ = surefoot("record", "--twin", "[bold]ü[.yaml", *SHORT, "--out", "[red]日.parquet")
    assert code == 0
    assert "[bold]ü[ driven by trot" in out
    assert "wrote [red]日.parquet" in out
    assert (here / "[red]日.parquet").is_file()


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (
            PermissionError(13, "Permission denied", "/secret/twin.yaml"),
            2,
            "cannot use '/secret/twin.yaml': Permission denied",
        ),
        (OSError("odd"), 2, "cannot use a file: odd"),
    ],
)
def test_what_the_machine_refuses(surefoot, monkeypatch, raised, code, says) -> None:
    from surefoot.cli import record as module

    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(module, "load_twin", fail)
    got, _, error = surefoot("record", "--twin", "go2-spring", "--out", "log.parquet")
    assert got == code
    assert error == f"surefoot: {error[10:-1]}\n"
    assert says in error


def test_installed_script(tmp_path) -> None:
    assert installed("--version", folder=tmp_path).stdout == f"surefoot {__version__}\n"
    done = installed("record", "--twin", "go2-worn", *SHORT, "--out", "log.parquet", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_log(tmp_path / "log.parquet").n_episodes == 2
    failed = installed("record", "--twin", "go2-wron", *SHORT, "--out", "other.parquet", folder=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("surefoot: no virtual robot 'go2-wron'")
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]  # no MUJOCO_LOG.TXT, no half of a file


def test_installed_script_on_a_terminal_without_our_letters(tmp_path) -> None:
    done = installed("robot", "check", HEXAPOD, folder=tmp_path, PYTHONIOENCODING="ascii", MUJOCO_GL="off")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "18 joints" in done.stdout


def test_reader_that_leaves(tmp_path) -> None:
    """As in 'surefoot --help | head -0': no complaint about a broken pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [SCRIPT, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
