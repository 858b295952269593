"""Adaptations with names, notes and provenance that no fit writes: they are shown in tables and written into files."""

import copy
import json
import time
from typing import Any

import pytest

from surefoot.adapt.adaptation import LONGEST_NAME, LONGEST_NOTE, MOST_WHERE, Adaptation
from surefoot.errors import FitError

KNOB: dict[str, Any] = {
    "name": "dry_friction_nm[FL_hip_joint]",
    "parameter": "dry_friction_nm",
    "where": ["FL_hip_joint"],
    "unit": "N·m",
    "start": 0.2,
    "value": 0.3,
    "interval": [0.2, 0.4],
    "bounds": [0.0, 3.0],
    "flag": "",
    "note": "",
}


@pytest.fixture
def sound(go2) -> dict[str, Any]:
    return {
        "surefoot_adaptation": 1,
        "robot": "go2",
        "robot_hash": go2.hash,
        "family": "static",
        "knobs": [copy.deepcopy(KNOB)],
        "settings": {"dry_friction_nm": [0.3] * 12},
        "provenance": {"log": {"file": "day1.parquet", "notes": ["mine"] * 50}},
    }


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


KNOB_CHANGES = {
    "name": "x" * 20_000_000,
    "note": "x" * 20_000_000,
    "where": ["FL_hip_joint"] * 500_000,
    "where ": ["x" * 20_000_000],
    "where  ": [["FL_hip_joint"]],
    "name ": ["a", "list"],
    "note ": {"a": "mapping"},
}
CHANGES = {
    "family": "x" * 20_000_000,
    "robot": "x" * 20_000_000,
    "provenance": {f"key {k}": k for k in range(500_000)},
    "provenance ": {"x": "x" * 20_000_000},
    "provenance  ": {"x": deep(100)},
    "provenance   ": {"x" * 1_000_000: 1},
    "provenance    ": {"x": [[[]] * 1000] * 1000},
}


@pytest.mark.parametrize("key", KNOB_CHANGES)
def test_a_knob_that_no_fit_writes(go2, sound, key) -> None:
    sound["knobs"][0][key.strip()] = KNOB_CHANGES[key]
    refused(sound, go2)


@pytest.mark.parametrize("key", CHANGES)
def test_an_adaptation_that_no_fit_writes(go2, sound, key) -> None:
    sound[key.strip()] = CHANGES[key]
    refused(sound, go2)


def refused(content: dict[str, Any], robot) -> None:
    begin = time.process_time()
    with pytest.raises(FitError) as caught:
        Adaptation.from_dict(content, robot)
    assert len(str(caught.value)) < 500
    assert time.process_time() - begin < 3


def test_the_command_refuses_it_at_once(surefoot, here, sound) -> None:
    sound["knobs"][0]["name"] = "x" * 20_000_000
    (here / "adaptation.json").write_text(json.dumps(sound))
    begin = time.process_time()
    code, _, error = surefoot("adapt", "show", "adaptation.json")
    assert code == 2
    assert "the name of a knob has 20,000,000 characters" in error
    assert time.process_time() - begin < 10


def test_a_large_one_is_read(go2, sound) -> None:
    sound["knobs"][0] |= {
        "name": "n" * LONGEST_NAME,
        "note": "n" * LONGEST_NOTE,
        "where": ["FL_hip_joint"] * MOST_WHERE,
    }
    sound["provenance"] = {"logs": [{"file": f"day{k}.parquet", "sha256": "0" * 64} for k in range(500)]}
    read = Adaptation.from_dict(sound, go2)
    assert Adaptation.from_dict(read.to_dict(), go2) == read
