"""`surefoot evaluate` as it is typed."""

import json

import pytest

from surefoot.cli.main import run


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
