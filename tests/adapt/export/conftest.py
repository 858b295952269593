import ast
import sys
from types import ModuleType, SimpleNamespace

import pytest
from support.adaptations import adaptation, knobs_of, physical

from surefoot.adapt.adaptation import Adaptation


class Stub:
    """A class of a library that is not installed: it keeps what it was made with."""

    def __init__(self, *given, **named):
        self.given = given
        self.__dict__.update(named)


@pytest.fixture
def run(monkeypatch):
    """Run generated source with the libraries that it imports replaced by stubs; its names."""

    def execute(source: str) -> SimpleNamespace:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                parts = node.module.split(".")
                for k in range(len(parts)):
                    monkeypatch.setitem(sys.modules, ".".join(parts[: k + 1]), ModuleType(parts[k]))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    setattr(
                        sys.modules[node.module],
                        alias.name,
                        type(alias.name, (Stub,), {}) if alias.name[0].isupper() else Function(),
                    )
        names: dict = {}
        exec(compile(source, "generated", "exec"), names)
        return SimpleNamespace(**{key: value for key, value in names.items() if not key.startswith("__")})

    return execute


class Function:
    """A module of functions: `dr.joint_armature` is its name."""

    def __getattr__(self, name: str) -> str:
        return name


@pytest.fixture
def fitted(robot) -> Adaptation:
    noise = {"delay_s": 0.00675, "torque_noise_nm": 1.25, "encoder_noise_rad": 0.001, "encoder_bias_rad": 0.0123}
    settings = {**physical(robot), **noise}
    return adaptation(robot, settings, knobs_of(robot, settings), command="surefoot fit log.parquet --out fit/")
