"""YAML within limits: nothing is built that would not fit, and nothing hangs."""

import tracemalloc

import pytest
import yaml

from surefoot.errors import RobotError, SurefootError
from surefoot.files import read_yaml, yaml_comment


@pytest.fixture
def refused(tmp_path):
    def call(text: str, says: str) -> None:
        path = tmp_path / "a.yaml"
        path.write_text(text)
        tracemalloc.start()
        with pytest.raises(RobotError, match=says) as caught:
            read_yaml(path, RobotError)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 1000
        assert peak < 100e6

    return call


def bomb(levels: int, fan: int = 10) -> str:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * fan)}]" for i in range(1, levels)]
    return "\n".join([*lines, f"name: *a{levels - 1}"])


def test_nested_aliases(refused) -> None:
    refused(bomb(12), "expands to more than 1,000,000 values")


def test_nested_merge_keys(refused) -> None:
    lines = ["a0: &a0 {k: 1}"] + [
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}], k{i}: 1}}" for i in range(1, 12)
    ]
    refused("\n".join([*lines, "name: *a11"]), "expands to more than")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_two_hundred_thousand_brackets(refused, opening) -> None:
    refused(
        "name: " + opening * 200_000 if opening in "[{a: " else opening * 200_000,
        "nested more than 50 levels deep|not valid YAML",
    )


def test_a_node_that_holds_itself(refused) -> None:
    refused("a: &a [*a]", "not valid YAML|must be")


@pytest.mark.parametrize("value", ["!!python/object/apply:os.system [id]", "!!bool x", "2026-99-99", "!x y"])
def test_values_that_cannot_be_read(refused, value) -> None:
    refused(f"a: {value}", "not valid YAML")


def test_tags_as_data(tmp_path) -> None:
    """What Isaac Lab, mjlab and unitree_rl_lab dump, and what a stranger may put into such a file."""
    (tmp_path / "a.yaml").write_text(
        "slice: !!python/object/apply:builtins.slice [null, null, null]\n"
        "pair: !!python/tuple [1, 2.5]\n"
        "function: &f !!python/name:mjlab.x.%3Clambda%3E ''\n"
        "again: *f\n"
        "number: !!python/int '7'\n"
        "thing: !!python/object:a.B {x: !!python/float '1e-3'}\n"
        f"call: !custom {{y: !!python/object/apply:os.system ['touch {tmp_path}/executed']}}\n"
    )
    assert read_yaml(tmp_path / "a.yaml", SurefootError, tags_as_data=True) == {
        "slice": [None, None, None],
        "pair": [1, 2.5],
        "function": "mjlab.x.<lambda>",
        "again": "mjlab.x.<lambda>",
        "number": 7,
        "thing": {"x": 0.001},
        "call": {"y": [f"touch {tmp_path}/executed"]},
    }
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("tag", ["!!int", "!!float", "!!python/int", "!!python/float"])
def test_a_long_number_with_a_tag(tmp_path, tag) -> None:
    (tmp_path / "a.yaml").write_text(f"a: {tag} '{'1:' * 50_000}1'")
    with pytest.raises(SurefootError, match="a number is too long"):
        read_yaml(tmp_path / "a.yaml", SurefootError, tags_as_data=True)


def test_a_small_use_of_aliases_is_fine(tmp_path) -> None:
    (tmp_path / "a.yaml").write_text("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]\n")
    assert read_yaml(tmp_path / "a.yaml", SurefootError) == {
        "a": {"x": 1},
        "b": {"x": 1, "y": 2},
        "c": [{"x": 1}, {"x": 1}],
    }


def test_a_file_that_is_too_large(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("surefoot.files.yaml_file.MOST_BYTES", 10)
    (tmp_path / "a.yaml").write_text("name: " + "x" * 20)
    with pytest.raises(SurefootError, match="more than a YAML file can have"):
        read_yaml(tmp_path / "a.yaml", SurefootError)


@pytest.mark.parametrize("text", ["a\nfloor_friction: 0.05", "a\r\nb: 1", "\u2028b: 1", "\x85b: 1", "a # b: 1", "\\"])
def test_a_comment_stays_one(text) -> None:
    """A newline in a log's name once wrote keys into simulator.yaml."""
    assert yaml.safe_load(f"{yaml_comment(text)}\nk: 1\n") == {"k": 1}


def test_a_number_to_base_sixty(refused) -> None:
    """It takes the square of its length to read."""
    refused("a: 1" + ":00" * 100_000, "holds a number of 300,001 characters")


def test_many_aliases_of_a_long_text(refused) -> None:
    refused(f'a: [&a "{"x" * 1_000_000}", {", ".join(["*a"] * 2500)}]', "expands to more than")
