"""Calls that never return are ended with one sentence, in a process of their own."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.command_line import SCRIPT
from support.policy_files import layers

from surefoot.limits import MEMORY_GB, TIME_LIMIT_S
from surefoot.policy import write_mlp
from surefoot.watchdog import WatchedCalls, watched


def run(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def with_loop(path: Path, go2, threshold: float | None) -> Path:
    """A policy with a Loop that never ends: at once, or only once an observation is above a threshold."""
    write_mlp(path, go2.contract, layers(go2.contract))
    model = onnx.load(path)
    graph = model.graph
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond_in"], ["cond_out"]), helper.make_node("Identity", ["x_in"], ["x_out"])],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("cond_in", TensorProto.BOOL, []),
            value("x_in", TensorProto.FLOAT, None),
        ],
        [value("cond_out", TensorProto.BOOL, []), value("x_out", TensorProto.FLOAT, None)],
    )
    for node in graph.node:
        node.output[:] = ["inner" if name == "action" else name for name in node.output]
    graph.initializer.append(numpy_helper.from_array(np.array(2**62, dtype=np.int64), "turns"))
    if threshold is None:
        graph.initializer.append(numpy_helper.from_array(np.array(True), "go"))
    else:
        graph.initializer.append(numpy_helper.from_array(np.array(threshold, dtype=np.float32), "threshold"))
        graph.node.append(helper.make_node("ReduceMax", ["observation"], ["largest"], keepdims=0))
        graph.node.append(helper.make_node("Greater", ["largest", "threshold"], ["go"]))
    graph.node.append(helper.make_node("Loop", ["turns", "go", "inner"], ["action"], body=body))
    onnx.save(model, path)
    return path


def test_a_loop_that_never_ends(tmp_path, go2) -> None:
    with_loop(tmp_path / "p.onnx", go2, None)
    done = run("policy", "show", "p.onnx", folder=tmp_path, **{TIME_LIMIT_S: "1"})
    assert done.returncode == 2
    assert done.stderr == (
        "surefoot: one inference of the policy p.onnx did not finish within 1 s and was stopped; "
        f"if it needs longer, raise the limit with the environment variable {TIME_LIMIT_S}\n"
    )


def test_a_loop_that_depends_on_what_the_robot_does(tmp_path, go2) -> None:
    """It passes when it is loaded, and hangs in the middle of a walk."""
    with_loop(tmp_path / "p.onnx", go2, 0.05)
    words = (
        "record",
        "--twin",
        "go2-identified",
        "--policy",
        "p.onnx",
        "--rollouts",
        1,
        "--seconds",
        2,
        "--out",
        "log.parquet",
    )
    done = run(*words, folder=tmp_path, **{TIME_LIMIT_S: "1"})
    assert done.returncode == 2
    assert "one inference of the policy" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["p.onnx"]


def test_control_c_ends_it_too(tmp_path, go2) -> None:
    with_loop(tmp_path / "p.onnx", go2, None)
    process = subprocess.Popen(
        [SCRIPT, "policy", "show", "p.onnx"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    try:
        while not _spins(process.pid):
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in error


def _spins(pid: int) -> bool:
    """Whether a process has computed for longer than it takes to start."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") > 5


def test_it_ends_though_nobody_reads(tmp_path) -> None:
    """The reader of standard error is gone, and writing to it fails."""
    program = "import os, time\nfrom surefoot.watchdog import watched\nwith watched('a call'):\n    time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=os.environ | {TIME_LIMIT_S: "0.2"}, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    process.stderr.close()
    try:
        assert process.wait(timeout=50) == 2
    finally:
        process.kill()


def test_a_constant_of_many_gigabytes(tmp_path, go2) -> None:
    write_mlp(tmp_path / "p.onnx", go2.contract, layers(go2.contract))
    model = onnx.load(tmp_path / "p.onnx")
    graph = model.graph
    for node in graph.node:
        node.output[:] = ["inner" if name == "action" else name for name in node.output]
    graph.initializer.append(numpy_helper.from_array(np.array([300_000_000], dtype=np.int64), "much"))
    graph.node.append(helper.make_node("ConstantOfShape", ["much"], ["filled"]))
    graph.node.append(helper.make_node("ReduceMax", ["filled"], ["most"], keepdims=0))
    graph.node.append(helper.make_node("Add", ["inner", "most"], ["action"]))
    onnx.save(model, tmp_path / "p.onnx")
    done = run("policy", "show", "p.onnx", folder=tmp_path, **{MEMORY_GB: "0.3"})
    assert done.returncode == 2
    assert "took more than 0.3 GB of memory and was stopped" in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_returns_in_time_is_left_alone(monkeypatch) -> None:
    monkeypatch.setenv(TIME_LIMIT_S, "0.5")
    calls = WatchedCalls("a call")
    for _ in range(20):
        calls.begin()
        time.sleep(0.05)
        calls.end()
    with watched("another"):
        time.sleep(0.1)


@pytest.mark.parametrize("value", ["x", "0", "-1", "nan", "inf"])
def test_a_limit_that_is_none(tmp_path, value) -> None:
    done = run("robot", "check", "go2", folder=tmp_path, **{TIME_LIMIT_S: value})
    assert done.returncode == 2
    assert f"{TIME_LIMIT_S} is '{value}'" in done.stderr


def test_a_busy_machine_stops_nothing(tmp_path) -> None:
    """A call that waits, as one on a busy core does, has longer than one that computes."""
    program = "import time\nfrom surefoot.watchdog import watched\nwith watched('a call'):\n    {}\nprint('through')"
    waits = program.format("time.sleep(1.5)")
    spins = program.format("end = time.thread_time() + 5\n    while time.thread_time() < end: pass")
    never = program.format("time.sleep(60)")
    ends = {}
    for name, text in (("waits", waits), ("spins", spins), ("never", never)):
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=os.environ | {TIME_LIMIT_S: "0.5"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        ends[name] = done.returncode, done.stdout.strip()
    assert ends == {"waits": (0, "through"), "spins": (2, ""), "never": (2, "")}
