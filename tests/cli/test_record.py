"""`surefoot record` as it is typed: what it writes, and one sentence for each mistake."""

import os
import subprocess

import numpy as np
import pytest
from support.command_line import SHORT
from support.robot_files import hexapod_twin

from surefoot.logs import read_log


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
        ({"--policy": "nonsense"}, ("no policy 'nonsense'", "zero, random, trot, step")),
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

    monkeypatch.setattr(module, "run_record", lambda *_, **__: pytest.fail("recorded for nothing"))
    assert surefoot("record", "--twin", "go2-spring", "--out", ".")[0] == 2
