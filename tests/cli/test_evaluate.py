"""`surefoot evaluate` as it is typed."""

import json
from pathlib import Path

import pytest

from surefoot.cli import evaluate as verb
from surefoot.cli.main import run
from surefoot.policy.onnx_policy import OnnxPolicy


def test_the_command_writes_json_with_provenance(tmp_path, capsys):
    out = tmp_path / "eval.json"
    assert (
        run(
            [
                "evaluate",
                "zero",
                "--twin",
                "go2-slippery",
                "--episodes",
                "2",
                "--straight-episodes",
                "1",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    content = json.loads(out.read_text())
    assert content["provenance"]["twin"] == "go2-slippery"
    assert content["walk"]["episodes"] == 2
    assert content["gate"]["failures"]
    assert "does not pass the gate" in " ".join(capsys.readouterr().out.split())


def test_the_policy_and_the_virtual_robot_are_read_once(tmp_path, monkeypatch):
    read = []
    load, load_twin = OnnxPolicy.load, verb.load_twin
    monkeypatch.setattr(OnnxPolicy, "load", staticmethod(lambda path: read.append(Path(path).name) or load(path)))
    monkeypatch.setattr(verb, "load_twin", lambda name: read.append(name) or load_twin(name))
    few = ["--episodes", "1", "--straight-episodes", "1"]
    assert run(["evaluate", "walk", "--twin", "go2-slippery", *few]) == 0
    assert sorted(read) == ["go2-slippery", "walk.onnx"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "nonsense.onnx"],
        ["evaluate", "zero", "--twin", "nobody"],
        ["evaluate", "zero", "--episodes", "0"],
        ["train", "fly", "--out", "x"],
    ],
)
def test_mistakes_are_one_sentence(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("surefoot: ")
    assert "Traceback" not in printed
    assert list(tmp_path.iterdir()) == []
