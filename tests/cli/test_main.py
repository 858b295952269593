"""The command line as a user meets it: what each verb prints, and one sentence for each mistake."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.policy_files import bare, layers
from support.robot_files import BIPED, GO2, HEXAPOD, tiny

from surefoot import __version__
from surefoot.cli.main import VERBS
from surefoot.logs import read_log
from surefoot.policy import write_mlp
from surefoot.robot import load_robot

SCRIPT = Path(sys.executable).with_name("surefoot")
SHORT = ("--rollouts", "2", "--seconds", "0.2")


@pytest.fixture
def refused(surefoot):
    """A command line is answered with exactly one line on standard error that holds all parts, and exit code 2."""

    def call(*arguments: object, says: tuple[str, ...] = ()) -> None:
        code, out, error = surefoot(*arguments)
        assert code == 2
        assert out == ""
        assert error.startswith("surefoot: ")
        assert error.endswith("\n")
        assert error.count("\n") == 1
        for part in says:
            assert part in error

    return call


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


def hexapod_twin(folder: Path, **keys: object) -> Path:
    shutil.copytree(HEXAPOD, folder / "hexapod", dirs_exist_ok=True)
    (folder / "old.yaml").write_text(
        yaml.safe_dump({"robot": "hexapod", "dry_friction_nm": 0.1, "torque_noise_nm": 0.05, **keys})
    )
    return folder / "old.yaml"


# Finding a verb


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
        (["policy", "attach", "walk.onnx"], "--robot"),
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


# robot


def test_robot_check_prints_and_draws(surefoot, here, go2, monkeypatch) -> None:
    monkeypatch.delenv("MUJOCO_GL")
    code, out, error = surefoot("robot", "check", "go2", "--out", "pictures/go2.png")
    assert code == 0
    for joint in go2.contract.joints:
        assert joint in out
    for part in (go2.hash, "control 50 Hz, physics 500 Hz", "FL_foot, FR_foot, RL_foot, RR_foot"):
        assert part in out
    drawn = (here / "pictures" / "go2.png").is_file()
    assert drawn or "no picture can be drawn" in error  # a machine without a GL library still gets the table


def test_robot_check_takes_a_robot_that_is_not_a_go2(surefoot) -> None:
    code, out, _ = surefoot("robot", "check", HEXAPOD)
    assert code == 0
    assert "hexapod: 18 joints in policy order" in out


@pytest.mark.parametrize(
    "source", [GO2 / "go2.xml", HEXAPOD / "hexapod.xml", BIPED / "biped.urdf"], ids=lambda path: path.stem
)
def test_robot_new_then_check(surefoot, here, source) -> None:
    shutil.copy(source, here)
    code, out, error = surefoot("robot", "new", source.name)
    assert (code, error) == (0, "")
    assert "GUESS" in (here / "robot.yaml").read_text()
    assert "surefoot robot check robot.yaml" in out
    assert surefoot("robot", "check", "robot.yaml")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["check", "go3"], ("no robot 'go3'", "go2")),
        (["check", "."], ("has no robot.yaml",)),
        (["check", "empty"], ("empty", "found nothing")),
        (["check", "noise"], ("not a text file",)),
        (["check", "model.xml"], ("is a model, not a robot.yaml", "robot new")),
        (["check", "a" * 300], ("File name too long",)),
        (["check", "tiny/robot.yaml", "--out", "tiny/tiny.xml/x.png"], ("tiny.xml is a file",)),
        (["new", "none.xml"], ("none.xml does not exist",)),
        (["new", "."], (". is not a file",)),
        (["new", "empty"], ("empty is not a model", ".urdf")),
        (["new", "model.xml"], ("model.xml is not a model that MuJoCo can load",)),
        (["new", "tiny/tiny.xml"], ("already exists", "--overwrite")),
        (["new", "tiny/tiny.xml", "--out", "empty/robot.yaml"], ("empty is a file, not a folder",)),
    ],
)
def test_bad_robot(refused, here, arguments, parts) -> None:
    (here / "empty").touch()
    (here / "noise").write_bytes(b"\xff\xfe\x00")
    (here / "model.xml").write_text("<mujoco><body></mujoco>")
    (here / "tiny").mkdir()
    tiny(here / "tiny")
    before = sorted(here.rglob("*"))
    refused("robot", *arguments, says=parts)
    assert sorted(here.rglob("*")) == before


def test_xml_that_mujoco_reads_and_python_does_not(surefoot, here) -> None:
    (here / "odd.xml").write_text(
        '<?xml version="1.0" encoding="none-such"?>\n' + (HEXAPOD / "hexapod.xml").read_text()
    )
    assert surefoot("robot", "new", "odd.xml")[0] == 0
    assert surefoot("robot", "check", "robot.yaml")[0] == 0


# policy


def test_policy_attach_then_show_then_record(surefoot, here, go2) -> None:
    bare(here / "bare.onnx", go2.contract.observation_size, go2.contract.n_joints)
    assert surefoot("policy", "attach", "bare.onnx", "--robot", "go2", "--out", "walk.onnx")[0] == 0
    code, out, _ = surefoot("policy", "show", "walk.onnx")
    assert code == 0
    assert go2.contract.hash[:12] in out
    assert surefoot("record", "--twin", "go2-spring", "--policy", "walk.onnx", *SHORT, "--out", "log.parquet")[0] == 0
    assert read_log(here / "log.parquet").metadata["policy"] == "walk"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["show", "none.onnx"], ("none.onnx does not exist",)),
        (["show", "."], ("is a folder",)),
        (["show", "empty.onnx"], ("empty.onnx is empty",)),
        (["show", "bare.onnx"], ("does not say for which robot", "policy attach")),
        (["attach", "none.onnx", "--robot", "go2", "--out", "x.onnx"], ("none.onnx does not exist",)),
        (["attach", "bare.onnx", "--robot", "go3", "--out", "x.onnx"], ("no robot 'go3'",)),
        (["attach", "bare.onnx", "--robot", "go2", "--out", "x.onnx"], ("has 7 entries",)),
    ],
)
def test_bad_policy(refused, here, arguments, parts) -> None:
    (here / "empty.onnx").touch()
    bare(here / "bare.onnx", 7, 3)
    refused("policy", *arguments, says=parts)
    assert not (here / "x.onnx").exists()


def test_policy_of_another_robot_is_refused_with_the_differing_field(refused, here) -> None:
    other = load_robot(HEXAPOD).contract
    write_mlp(here / "six.onnx", other, layers(other))
    refused(
        "record",
        "--twin",
        "go2-spring",
        "--policy",
        "six.onnx",
        *SHORT,
        "--out",
        "log.parquet",
        says=("another robot", "joints: L1.coxa"),
    )
    assert not (here / "log.parquet").exists()


# record


def test_record_writes_a_log_and_says_what_is_in_it(surefoot, here, go2) -> None:
    code, out, error = surefoot(
        "record", "--twin", "go2-identified", "--policy", "trot", *SHORT, "--seed", "7", "--out", "logs/day.parquet"
    )
    assert (code, error) == (0, "")
    log = read_log(here / "logs" / "day.parquet")
    assert (log.n_episodes, len(log.time_s)) == (2, 20)
    assert "go2-identified driven by trot" in out
    assert "2 episodes" in out
    assert "0 of 2 fell" in out
    assert "wrote logs/day.parquet" in out
    for joint in go2.contract.joints:
        assert joint in out
    assert out.splitlines()[0].strip()  # no empty line where the progress bar would be
    digest = subprocess.run(["sha256sum", "logs/day.parquet"], capture_output=True, text=True, check=True).stdout
    assert f"sha256 {digest[:12]}" in out


@pytest.mark.parametrize("agent", ["zero", "random"])
def test_record_with_built_in_agents(surefoot, here, agent) -> None:
    assert surefoot("record", "--twin", "go2-slippery", "--policy", agent, *SHORT, "--out", "log.parquet")[0] == 0
    assert (np.abs(read_log(here / "log.parquet").action).max() > 0) == (agent == "random")


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


def test_unstable_twin_says_which_rollout_and_leaves_no_file(refused, here) -> None:
    twin = hexapod_twin(here, kp_nm_per_rad=1e9, torque_limit_nm=1e12)
    refused(
        "record",
        "--twin",
        twin,
        *SHORT,
        "--out",
        "log.parquet",
        says=("rollout 0 of old stopped after 0.", "unstable", "YAML"),
    )
    assert sorted(path.name for path in here.iterdir()) == ["hexapod", "old.yaml"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"--twin": "go2-spirng"}, ("did you mean 'go2-spring'",)),
        ({"--twin": "."}, ("is a folder",)),
        ({"--twin": "none.yaml"}, ("no virtual robot 'none.yaml'",)),
        ({"--twin": "empty"}, ("found nothing",)),
        ({"--twin": "noise"}, ("not a text file",)),
        ({"--twin": "lost.yaml"}, ("lost.yaml", "no robot 'nowhere/robot.yaml'")),
        ({"--twin": "typo.yaml"}, ("typo.yaml", "unknown key 'armature'", "did you mean 'armature_kgm2'")),
        ({"--twin": "a" * 300}, ("no virtual robot 'aaa",)),
        ({"--policy": "nonsense"}, ("no policy 'nonsense'", "zero, random, trot")),
        ({"--policy": "."}, ("is a folder",)),
        ({"--policy": "noise"}, ("not an ONNX file",)),
        ({"--policy": "none.onnx"}, ("none.onnx does not exist",)),
        ({"--policy": "a" * 300}, ("aaa",)),
        ({"--rollouts": "0"}, ("0 rollouts",)),
        ({"--rollouts": "-3"}, ("-3 rollouts",)),
        ({"--rollouts": "9" * 30}, ("GB of memory",)),
        ({"--seconds": "0.001"}, ("at least 1 rollout of 0.04 s",)),
        ({"--seconds": "-1"}, ("seconds is -1",)),
        ({"--seconds": "nan"}, ("seconds is nan",)),
        ({"--seconds": "1e308"}, ("seconds is 1e+308",)),
        ({"--seconds": "1e9"}, ("GB of memory",)),
        ({"--hold-s": "0"}, ("hold_s is 0",)),
        ({"--hold-s": "inf"}, ("hold_s is inf",)),
        ({"--seed": "-1"}, ("the seed is -1",)),
        ({"--threads": "-1"}, ("-1 threads",)),
        ({"--threads": "9" * 30}, ("threads were asked for",)),
        ({"--out": "."}, ("is a folder",)),
        ({"--out": ""}, ("is a folder",)),
        ({"--out": "empty/log.parquet"}, ("empty is a file, not a folder",)),
        ({"--out": "pipe"}, ("not an ordinary file",)),
        ({"--out": "a" * 300}, ("longer than 255 bytes",)),
    ],
    ids=lambda value: " ".join(map("=".join, value.items()))[:30] if isinstance(value, dict) else "",
)
def test_bad_recording(refused, here, options, parts) -> None:
    (here / "empty").touch()
    (here / "noise").write_bytes(b"\xff\xfe\x00")
    (here / "lost.yaml").write_text("robot: nowhere/robot.yaml\n")
    (here / "typo.yaml").write_text("robot: go2\narmature: 0.1\n")
    os.mkfifo(here / "pipe")
    before = sorted(here.iterdir())
    given = {"--twin": "go2-spring", "--out": "log.parquet", "--rollouts": "2", "--seconds": "0.2"} | options
    refused("record", *(word for pair in given.items() for word in pair), says=parts)
    assert sorted(here.iterdir()) == before


def test_bad_place_is_found_before_the_recording(surefoot, here, monkeypatch) -> None:
    from surefoot.cli import record as module

    monkeypatch.setattr(module, "record", lambda *_, **__: pytest.fail("recorded for nothing"))
    assert surefoot("record", "--twin", "go2-spring", "--out", ".")[0] == 2


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


# The installed script


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
