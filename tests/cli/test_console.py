"""What verbs print of files is text, whatever it holds."""

import ast
import io
import json
import re
from pathlib import Path

import onnx
import pytest
import yaml
from support.policy_files import layers
from support.robot_files import TINY_YAML, tiny

import surefoot.cli
from surefoot.console import Console, say
from surefoot.logs import read_log, record, write_log
from surefoot.policy import write_mlp
from surefoot.sim.twin import load_twin

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def clean(surefoot):
    """A command line prints no control character; what it printed."""

    def call(*arguments: object) -> str:
        _, out, error = surefoot(*arguments)
        assert not CONTROL.search(out + error)
        return out + error

    return call


def test_names_of_a_robot(clean, here) -> None:
    content = yaml.safe_load(TINY_YAML) | {"name": f"tiny{ESCAPE}"}
    tiny(here, yaml.safe_dump(content))
    assert "tiny␛]0;owned" in clean("robot", "check", "robot.yaml")


def test_metadata_and_contract_of_a_policy(clean, here, go2) -> None:
    write_mlp(
        here / "p.onnx",
        go2.contract,
        layers(go2.contract),
        metadata={f"key{ESCAPE}": f"value{ESCAPE}", "note": "[link=http://x]y[/link]"},
    )
    said = clean("policy", "show", "p.onnx")
    assert "value␛" in said
    assert "[link=http://x]y[/link]" in said
    model = onnx.load(here / "p.onnx")
    for entry in model.metadata_props:
        if entry.key == "surefoot.contract":
            contract = json.loads(entry.value)
            contract["robot"] = f"other{ESCAPE}"
            contract["joints"][0] = f"joint{ESCAPE}"
            entry.value = json.dumps(contract)
    onnx.save(model, here / "q.onnx")
    clean("policy", "show", "q.onnx")
    assert "joint␛" in clean("evaluate", "q.onnx")


def test_names_of_tensors(clean, here, go2) -> None:
    write_mlp(here / "p.onnx", go2.contract, layers(go2.contract))
    model = onnx.load(here / "p.onnx")
    name = f"second{ESCAPE}"
    model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 2]))
    onnx.save(model, here / "p.onnx")
    assert "second␛" in clean("policy", "show", "p.onnx")


def test_notes_of_a_log_and_its_name(clean, here) -> None:
    log = record(load_twin("go2-identified"), "trot", rollouts=2, seconds=0.5, seed=0)
    log.metadata["notes"] = [f"note{ESCAPE}"]
    log.metadata[f"key{ESCAPE}"] = "[red]x"
    path = here / f"log{ESCAPE}.parquet"
    write_log(log, path)
    said = clean("log", "show", path)
    assert "note: note␛" in said
    assert "[red]x" in said
    clean("doctor", path)
    assert read_log(path).metadata["notes"]


def test_rich_writes_its_own_codes_and_no_others() -> None:
    stream = io.StringIO()
    console = Console(file=stream)
    console._force_terminal = True
    say(console, f"a{ESCAPE}[bold]b[/bold]", style="red")
    written = stream.getvalue()
    assert "\x1b]0;" not in written
    assert "a␛]0;owned␇␛[2J" in written
    assert "[bold]b[/bold]" in written


def test_verbs_print_through_the_console_only() -> None:
    """A print() or a console of rich's own would let escapes through."""
    for path in Path(surefoot.cli.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        called = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        imported = {
            (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert path.name in ("main.py", "console.py") or "print" not in called, path.name
        assert path.name == "console.py" or ("rich.console", "Console") not in imported, path.name
