"""What the README shows is true: its Python runs, its YAML loads, its commands exist."""

import re
import shlex
import shutil

import pytest
import yaml
from support.paths import ROOT
from support.robot_files import GO2

from surefoot.cli.main import VERBS, run
from surefoot.robot import load_robot
from surefoot.sim import load_twin
from surefoot.sim.twin import shipped_twins

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", README, flags=re.M | re.S)


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_runs(number, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    seen: dict = {"__name__": "readme"}
    exec(compile(blocks("python")[number], f"README.md, Python block {number + 1}", "exec"), seen)
    assert capsys.readouterr().out
    if "worlds" in seen:
        assert seen["worlds"].failures == []
        assert (seen["worlds"].base_position_m[:, 0] > 0.2).mean() > 0.9  # they walk forward


def test_robot_yaml_is_the_bundled_one(tmp_path, go2) -> None:
    shutil.copy(GO2 / "go2.xml", tmp_path)
    (tmp_path / "robot.yaml").write_text(blocks("yaml")[0])
    assert load_robot(tmp_path).hash == go2.hash


def test_virtual_robot_loads(tmp_path) -> None:
    text = blocks("yaml")[1]
    (tmp_path / "mine.yaml").write_text(text)
    worlds = load_twin(tmp_path / "mine.yaml").worlds(1)
    assert worlds.get("motor_strength")[0, 0] == yaml.safe_load(text)["motor"]["strength"]


def test_the_table_names_every_shipped_twin() -> None:
    assert set(re.findall(r"^\| `((?:go2|g1|phantomx)-[\w-]+)` \|", README, flags=re.M)) == set(shipped_twins())


def test_commands_exist(capsys) -> None:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    used = [shlex.split(line)[1:] for line in lines if line.startswith("surefoot ")]
    assert len(used) >= 5
    for words in used:
        verb = next((name for name in VERBS if words[: len(name.split())] == name.split()), None)
        if verb is None:
            assert words == ["--help"]
            continue
        run([*verb.split(), "--help"])
        shown = capsys.readouterr().out
        for option in (word for word in words if word.startswith("--")):
            assert option in shown
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M)
    for line in lines:
        if line.startswith("make "):
            assert line.split()[1] in targets


def test_files_are_there() -> None:
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    assert "docs/go2.png" in linked
    named = re.findall(r"^\| `((?:src/|bench|tests)[\w/]*)` \|", README, flags=re.M)
    assert len(named) >= 8
    for place in (*linked, *named):
        assert (ROOT / place).exists(), place
    assert (ROOT / "docs" / "go2.png").stat().st_size < 200_000
