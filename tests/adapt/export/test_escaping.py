"""Arbitrary text in an adaptation and a robot stays text in every exported file."""

import ast
import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree

import mujoco
import onnx
import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.robot_files import TINY_YAML, tiny

from surefoot.adapt import Adaptation, Fitted
from surefoot.adapt.export import (
    isaaclab_config,
    mjlab_config,
    numpy_class,
    randomization_table,
    write_mjcf,
    write_onnx,
)
from surefoot.learn.randomize import load_randomization
from surefoot.robot import Robot, load_robot
from surefoot.sim.parameters import PARAMETERS

PYTHON = {"mjlab": mjlab_config, "isaaclab": isaaclab_config, "numpy": numpy_class}
ALLOWED = {"re", "numpy", "mjlab", "isaaclab"}
ATTACK = "static; coding: unicode_escape"
PAYLOAD = "\\x0aimport os; os.abort()"
hostile = st.one_of(
    st.text(),
    st.sampled_from(
        [
            ATTACK,
            PAYLOAD,
            '"""\nimport os\n"""',
            "\\",
            "\\\\",
            "'''",
            "\n#",
            "\r",
            "\x0c",
            "\u2028",
            "-->",
            "--",
            "<!--",
            "]]>",
            "%",
            "{}",
            "\\N{LATIN}",
            "# -*- coding: utf-7 -*-",
        ]
    ),
)


def adapted(robot: Robot, family: str, note: str, key: str) -> tuple[Robot, Adaptation]:
    named = dataclasses.replace(robot, contract=dataclasses.replace(robot.contract, robot=note))
    joints = robot.contract.joints
    knob = Fitted(note, "dry_friction_nm", (joints[0],), "N·m", 0.1, 0.2, (0.1, 0.3), (0.0, 1.0), note=note)
    made = {
        "dry_friction_nm": [0.2] * len(joints),
        "residual_constant_nm": [0.1] * len(joints),
        "torque_noise_nm": [0.5] * len(joints),
        "delay_s": [0.002] * len(joints),
    }
    provenance = {key: note, "note": {"inner": [note, family]}, "command": family}
    return named, Adaptation(note, robot.hash, family, (knob,), made, provenance=provenance)


@pytest.mark.parametrize("kind", PYTHON)
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(family=hostile, note=hostile, key=hostile)
@example(family=ATTACK, note=PAYLOAD, key="coding: unicode_escape")
@example(family="x", note="coding: utf-7\n+AAo-import os", key='"""')
def test_python(robot, kind, family, note, key) -> None:
    """The bytes are parsed as Python would import them, with whatever encoding they declare."""
    named, adaptation = adapted(robot, family, note, key)
    text = PYTHON[kind](adaptation, named)
    content = text.encode()
    first, second = content.split(b"\n")[:2]
    assert first == b"# -*- coding: utf-8 -*-"
    assert second in (
        b"# Written by Surefoot from an adaptation. Text from files is escaped in these comments.",
        b'"""The class Residual, in NumPy: what a robot has that its model has no part for.',
    )
    tree = ast.parse(content)
    named, adaptation = adapted(robot, "static", "robot", "log")
    plain = ast.parse(PYTHON[kind](adaptation, named).encode())
    assert [type(node) for node in tree.body] == [type(node) for node in plain.body]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert {name.split(".")[0] for name in names} <= ALLOWED


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(family=hostile, note=hostile, key=hostile)
def test_yaml(robot, family, note, key) -> None:
    named, adaptation = adapted(robot, family, note, key)
    content = yaml.safe_load(randomization_table(adaptation, named))
    assert set(content) <= set(PARAMETERS)
    assert content["dry_friction_nm"]["set"][1] >= 0.3


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(family=hostile, note=hostile, key=hostile)
def test_mjcf(robot, tmp_path, family, note, key) -> None:
    named, adaptation = adapted(robot, family, note, key)
    path = tmp_path / "patched.xml"
    write_mjcf(path, adaptation, named)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.joint(robot.contract.joints[0]).frictionloss[0] == 0.2
    assert ElementTree.parse(path).getroot().tag == "mujoco"


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(family=hostile, note=hostile, key=hostile)
def test_onnx(robot, tmp_path, family, note, key) -> None:
    named, adaptation = adapted(robot, family, note, key)
    write_onnx(tmp_path / "r.onnx", adaptation, named)
    model = onnx.load(tmp_path / "r.onnx")
    onnx.checker.check_model(model)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(metadata["provenance"])["command"] == family


def test_the_attack_of_the_report_stays_a_comment(go2, tmp_path) -> None:
    """An encoding in line 1 or 2 turned a later comment into code when the file was imported."""
    named, adaptation = adapted(load_robot("go2"), ATTACK, PAYLOAD, "note")
    path = tmp_path / "actuators.py"
    path.write_text(mjlab_config(adaptation, named), encoding="utf-8")
    code = compile(path.read_bytes(), str(path), "exec")
    assert "abort" not in str(code.co_names)
    assert re.match(rb"# -\*- coding: utf-8 -\*-\n", path.read_bytes())


class TestNamesCannotBecomeCode:
    """Names come from files. What they would do if they got out of their strings is to raise."""

    BAD = "x\nraise SystemExit('out')\n'''\"\"\" --> <evil/> \\"

    JOINT = "left'); raise SystemExit('out') #"

    @pytest.fixture
    def evil(self, tmp_path) -> tuple[Robot, Adaptation]:
        content = {**yaml.safe_load(TINY_YAML), "name": self.BAD, "joints": [self.JOINT, "right_hip"]}
        path = tiny(tmp_path, yaml.safe_dump(content))
        model = (tmp_path / "tiny.xml").read_text()
        (tmp_path / "tiny.xml").write_text(model.replace("left_hip", self.JOINT.replace("'", "&apos;")))
        robot = load_robot(path)
        bad = Fitted(self.BAD, "armature_kgm2", (self.JOINT,), "kg·m²", 0.01, 0.02, (0.01, 0.03), (0.0, 1.0))
        settings = {"armature_kgm2": [0.02, 0.03], "torque_noise_nm": [0.5, 0.6]}
        return robot, Adaptation(robot.name, robot.hash, self.BAD, (bad,), settings, provenance={self.BAD: self.BAD})

    @pytest.mark.parametrize("make", [mjlab_config, isaaclab_config])
    def test_in_python(self, evil, make, run) -> None:
        robot, bad = evil
        found = run(make(bad, robot))
        assert found.RANGES["armature_kgm2"] == {robot.contract.joints[0]: (0.01, 0.03)}

    def test_in_yaml(self, evil, tmp_path) -> None:
        robot, bad = evil
        (tmp_path / "table.yaml").write_text(randomization_table(bad, robot))
        assert [spread.name for spread in load_randomization(str(tmp_path / "table.yaml")).spreads] == ["armature_kgm2"]

    def test_in_xml(self, evil, tmp_path) -> None:
        robot, bad = evil
        write_mjcf(tmp_path / "out" / "patched.xml", bad, robot)
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "patched.xml"))
        assert model.joint(robot.contract.joints[0]).armature[0] == 0.02
