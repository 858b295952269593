"""The whole loop for real, at toy size: every artefact is there, is read back, and says the same."""

import dataclasses
import json

import numpy as np
import pytest
from support.toy_loop import run_toy_loop

from surefoot.adapt import read_adaptation
from surefoot.errors import SurefootError
from surefoot.logs import read_log
from surefoot.pipeline.artefacts import DOCTOR, EVALUATION, FIT, GAP, LOG, POLICY, SIMULATOR, VERDICT, WALKS
from surefoot.pipeline.loop_inputs import resolve_inputs
from surefoot.pipeline.loop_result import read_loop
from surefoot.pipeline.loop_steps import blamed
from surefoot.pipeline.loop_watch import LoopWatch
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.report.loop_page import loop_page
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin

STEPS = ["record", "doctor", "gap", "fit", "finetune", "verdict", "video"]


class TestReal:
    def test_every_step_is_done_and_read_back(self, toy_loop):
        assert toy_loop.done == STEPS
        assert toy_loop.exit_code in (0, 3)
        assert toy_loop.report.exit_code < 2
        assert toy_loop.gap.measurable
        assert toy_loop.fit.gap_left.nearer
        assert toy_loop.fit.after.total < 0.7 * toy_loop.fit.before.total
        assert toy_loop.tuned.after.walk.episodes == 4
        assert [compared.name for compared in toy_loop.verdict.named] == ["nominal", "adapted", "twin go2-identified"]
        assert len(toy_loop.walks.before.path_m) == len(toy_loop.walks.commanded_m)

    def test_results_round_trip_through_their_files(self, toy_loop):
        """What was read says the same as its file, to the last digit."""
        folder = toy_loop.folder
        for path, result in (
            ("doctor/" + DOCTOR, toy_loop.report),
            ("gap/" + GAP, toy_loop.gap),
            ("fit/" + FIT, toy_loop.fit),
            ("finetune/" + EVALUATION, toy_loop.tuned),
            ("verdict/" + VERDICT, toy_loop.verdict),
            ("video/" + WALKS, toy_loop.walks),
        ):
            written = json.loads((folder / path).read_text())
            written.pop("written_by", None)
            assert _plain(result.to_dict()) == written, path

    def test_what_one_step_leaves_another_reads(self, toy_loop, go2):
        folder = toy_loop.folder
        assert read_log(folder / "record" / LOG).n_episodes == 8
        adaptation = read_adaptation(folder / "fit", go2)
        assert [knob.value for knob in adaptation.knobs] == [knob.value for knob in toy_loop.fit.adaptation.knobs]
        twin = load_twin(str(folder / "fit" / SIMULATOR))
        assert twin.physics.hash == toy_loop.fit.physics.hash
        policy = OnnxPolicy.load(folder / "finetune" / POLICY)
        assert policy.hash == toy_loop.verdict.provenance["after"]["hash"] == toy_loop.walks.provenance["after_hash"]
        assert toy_loop.verdict.fit == toy_loop.fit.gap_left

    def test_the_report_holds_what_the_steps_found(self, toy_loop):
        page = loop_page(toy_loop)
        for words in ("go2-identified", toy_loop.verdict.named[1].name, toy_loop.gap.diagnosis.causes[0].name):
            assert words in page

    def test_the_same_call_does_nothing_again(self, toy_loop):
        steps = toy_loop.run["steps"]
        again = run_toy_loop(toy_loop.folder)
        assert again.run["steps"] == steps
        assert again.says == toy_loop.says

    def test_the_policy_is_opened_once(self, toy_loop, monkeypatch):
        opened = []
        load = OnnxPolicy.load
        monkeypatch.setattr(OnnxPolicy, "load", staticmethod(lambda path: opened.append(str(path)) or load(path)))
        run_toy_loop(toy_loop.folder)
        assert [path for path in opened if "walk.onnx" in path] == [str(go2_policy())]


class TestParts:
    def test_what_is_to_blame_is_searched(self, toy_loop):
        gap = toy_loop.gap
        blaming = dataclasses.replace(gap.diagnosis, free=("floor_friction",), sure="sure")
        assert blamed(dataclasses.replace(gap, diagnosis=blaming)) == ("floor_friction",)
        unsure = dataclasses.replace(blaming, sure="unsure")
        assert blamed(dataclasses.replace(gap, diagnosis=unsure)) == ()
        assert blamed(dataclasses.replace(gap, diagnosis=None)) == ()

    def test_a_folder_without_a_loop(self, tmp_path, go2):
        with pytest.raises(SurefootError, match="holds no loop that has ended"):
            read_loop(tmp_path, go2)

    def test_a_watch_needs_to_override_nothing(self, tmp_path):
        watch = LoopWatch()
        with watch.output("gap", tmp_path):
            watch.begin("gap")
        assert watch.command("gap", tmp_path, None) == ""

    def test_inputs_that_do_not_go_together(self):
        with pytest.raises(SurefootError, match="give a log of the robot, or a virtual robot"):
            resolve_inputs((), None, None, None)


def go2_policy():
    return load_robot("go2").path.parent / "policies" / "walk.onnx"


def _plain(content):
    """As JSON would give it back: numbers that are none as null."""
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple, np.ndarray)):
        return [_plain(value) for value in content]
    if isinstance(content, (float, np.floating)):
        return float(content) if np.isfinite(content) else None
    return content.item() if isinstance(content, np.generic) else content
