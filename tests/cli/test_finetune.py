"""`surefoot finetune` as it is typed: the screen, the files, and what is refused in one sentence."""

import importlib
import json
import math
import sys

import pytest
from support.policy_files import layers
from support.robot_files import HEXAPOD

from surefoot.adapt import Adaptation, Fitted, write_adaptation
from surefoot.cli import finetune as verb
from surefoot.policy import OnnxPolicy, write_mlp
from surefoot.report.text.finetune import comparison
from surefoot.robot import load_robot
from surefoot.verify.evaluate import Evaluation, Straight, Walk

TINY = ("--worlds", 8, "--iterations", 1, "--episodes", 2, "--trim-s", 0.2, "--judges", 4)


@pytest.fixture
def call(surefoot, monkeypatch, here, go2):
    """Run the verb on a small policy and a fit of the Go2."""
    main = importlib.import_module("surefoot.cli.main")
    monkeypatch.setitem(main.VERBS, "finetune", main.Verb("surefoot.cli.finetune", "finetune_policy", ""))
    measuring = importlib.import_module("surefoot.verify.evaluate")
    monkeypatch.setattr(measuring, "EPISODE_S", 1.0)
    monkeypatch.setattr(measuring, "DRIFT_S", 0.6)
    trimming = importlib.import_module("surefoot.learn.trim")
    for name, robots in (("WALKING", 6), ("STANDING", 2)):
        monkeypatch.setattr(trimming, name, robots)
    monkeypatch.setattr(importlib.import_module("surefoot.learn.accept"), "HELD_S", 0.2)
    write_mlp(here / "walk.onnx", go2.contract, [(0.1 * w, 0.1 * b) for w, b in layers(go2.contract, (8,))])
    knob = Fitted("delay_s", "delay_s", (), "s", 0.0, 0.004, (0.003, 0.005), (0.0, 0.06))
    write_adaptation(
        here / "fit" / "adaptation.json", Adaptation(go2.name, go2.hash, "static", (knob,), {"delay_s": 0.004})
    )
    return lambda *more, policy="walk.onnx", fit="fit": surefoot(
        "finetune", policy, "--adaptation", fit, "--out", "tuned", *more
    )


class TestScreen:
    def test_before_training_after(self, call, here):
        code, out, err = call(*TINY)
        assert (code, err) == (0, "")
        for words in (
            "own network",
            "1 fitted number",
            "mirrored samples",
            "iteration 1/1",
            "rms from the old",
            "the trained policy is",
            "before",
            "after",
        ):
            assert words in out
        assert {"policy.onnx", "begun.onnx", "checkpoint.safetensors", "config.json", "eval.json", "tensorboard"} <= {
            f.name for f in (here / "tuned").iterdir()
        }
        content = json.loads((here / "tuned" / "eval.json").read_text())
        assert content["before"]["walk"]["episodes"] == content["after"]["walk"]["episodes"] == 2
        assert content["choice"]["robots"] == 4
        assert content["provenance"]["policy"] == OnnxPolicy.load(here / "walk.onnx").hash

    def test_the_same_command_goes_on_and_does_not_measure_the_old_policy_again(self, call, here):
        call(*TINY)
        first = (here / "tuned" / "policy.onnx").read_bytes()
        code, out, _ = call(*TINY)
        assert code == 0
        assert "measuring" not in out
        assert "iteration" not in out
        assert (here / "tuned" / "policy.onnx").read_bytes() == first
        code, out, _ = call(*TINY, "--restart")
        assert "measuring" in out
        assert "iteration 1/1" in out

    def test_what_was_measured_of_something_else_is_not_believed(self, call, here):
        call(*TINY)
        content = json.loads((here / "tuned" / "eval.json").read_text())
        content["provenance"]["policy"] = "another"
        (here / "tuned" / "eval.json").write_text(json.dumps(content))
        assert "measuring" in call(*TINY, "--overwrite")[1]
        (here / "tuned" / "eval.json").write_text("[]")
        assert "measuring" in call(*TINY, "--overwrite")[1]

    def test_zero_iterations_only_trim(self, call, here):
        code, out, _ = call("--iterations", 0, "--worlds", 8, "--episodes", 0, "--trim-s", 0.2)
        assert code == 0
        assert "the old policy," in out
        assert "iteration" not in out
        assert b"surefoot.trim" in (here / "tuned" / "policy.onnx").read_bytes()

    def test_without_measuring(self, call, here):
        code, out, _ = call("--worlds", 8, "--iterations", 1, "--episodes", 0, "--trim-s", 0, "--judges", 0)
        assert code == 0
        assert "before" not in out
        assert not (here / "tuned" / "eval.json").exists()

    def test_a_policy_that_always_falls_has_no_drift_to_show(self):
        nan = math.nan
        fell = Straight((1.0, 0.0, 0.0), 3, 3, nan, nan, nan, nan, nan, nan, nan, nan)
        group = Walk(5, 5, nan, 0.5, 1.0, 0.1)
        measured = Evaluation(group, group, {"+x": fell})
        table = comparison(measured, measured, "t")
        cells = dict(zip(table.columns[0].cells, table.columns[1].cells, strict=True))
        assert cells["drift, m"] == cells["velocity error, m/s"] == "-"
        assert cells["falls, straight"] == "3/3"


class TestRefused:
    @pytest.mark.parametrize(
        ("policy", "more", "says"),
        [
            ("trot", (), "built in and has no network"),
            ("nowhere.onnx", (), "does not exist"),
            ("walk.onnx", ("--minutes", 0), "minutes is 0; fine-tuning needs a time above 0 (option --minutes)"),
            ("walk.onnx", ("--iterations", 0, "--trim-s", 0), "iterations is 0; fine-tuning needs at least 1"),
            ("walk.onnx", ("--iterations", -1), "(option --iterations)"),
            ("walk.onnx", ("--trim-s", -1), "trim_s is -1"),
            ("walk.onnx", ("--judges", -1), "judges is -1"),
            ("walk.onnx", ("--seed", -1), "the seed is -1"),
            ("walk.onnx", ("--spread", -2), "spread is -2"),
            ("walk.onnx", ("--robot", HEXAPOD), "another go2"),
            ("walk.onnx", ("--task", "run"), "no task 'run'"),
        ],
    )
    def test_in_one_sentence(self, call, policy, more, says):
        code, _, err = call(*more, "--worlds", 8, "--episodes", 0, policy=policy)
        assert code == 2
        assert says in err
        assert err.count("\n") == 1

    def test_a_policy_of_another_robot(self, call, here):
        hexapod = load_robot(HEXAPOD)
        write_mlp(here / "other.onnx", hexapod.contract, layers(hexapod.contract))
        code, _, err = call(*TINY, policy="other.onnx")
        assert code == 2
        assert "made for another robot" in err

    def test_no_adaptation_there(self, call):
        code, _, err = call(*TINY, fit="nothing")
        assert code == 2
        assert "the folder that a fit wrote" in err

    def test_a_policy_that_would_be_overwritten(self, call, here):
        (here / "tuned").mkdir()
        (here / "walk.onnx").rename(here / "tuned" / "policy.onnx")
        code, _, err = call(*TINY, policy="tuned/policy.onnx")
        assert code == 2
        assert "left as it is" in err

    def test_without_the_extra(self, call, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        monkeypatch.delitem(sys.modules, "surefoot.learn.finetune", raising=False)
        code, _, err = call(*TINY)
        assert code == 2
        assert "pip install 'surefoot[train]'" in err

    def test_the_core_imports_the_verb_without_torch(self):
        assert "torch" not in vars(verb)
