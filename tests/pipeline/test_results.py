"""Every result of a step is read back from its JSON file as it was written."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.walks import walked

from surefoot.files import write_json
from surefoot.gap.case import Case
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.evaluate import EvaluateOptions, run_evaluate
from surefoot.pipeline.finetune import FineTuned
from surefoot.pipeline.fit import FitOptions, PhysicsFit, read_fit, run_fit
from surefoot.pipeline.gap import GapResult, GapSettings, run_gap
from surefoot.pipeline.loop_result import LoopResult
from surefoot.pipeline.verdict import VerdictOptions, judged_policies, run_verdict
from surefoot.pipeline.walks import Walks
from surefoot.verify.evaluate import Evaluation, evaluate
from surefoot.verify.verdict import Verdict

SMALL_FIT = FitOptions(
    family="static", tie="all", fix=("armature_kgm2=0.01", "torque_noise_nm=0"), most_evaluations=20, threads=1
)
SMALL_VERDICT = VerdictOptions(
    candidates=2, episodes=2, straight_episodes=2, candidate_episodes=1, seconds=1.5, threads=1
)


@pytest.fixture(scope="module")
def case(go2) -> Case:
    return Case(go2, "walk", walked(go2, rollouts=6, dry_friction_nm=0.6))


@pytest.fixture(scope="module")
def fit(case) -> PhysicsFit:
    return run_fit(case, SMALL_FIT)


def through_a_file(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    write_json(folder / "result.json", content)
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def same_file(result: Any, again: Any, folder: Path) -> None:
    """Both write the same bytes."""
    write_json(folder / "a.json", result.to_dict())
    write_json(folder / "b.json", again.to_dict())
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


class TestReadBack:
    def test_what_the_doctor_says(self, case, tmp_path) -> None:
        again = LogReport.from_dict(through_a_file(case.report.to_dict(), tmp_path))
        same_file(case.report, again, tmp_path)
        assert (again.usable == case.report.usable).all()
        assert again.findings == case.report.findings
        assert (again.coverage == case.report.coverage).all()

    def test_a_gap(self, case, tmp_path) -> None:
        result = run_gap(case, GapSettings(diagnose=False, threads=1))
        again = GapResult.from_dict(through_a_file(result.to_dict(), tmp_path))
        same_file(result, again, tmp_path)
        assert (again.gap.distance == result.gap.distance).all()
        assert again.gap.channels == result.gap.channels
        assert again.score == result.score
        assert again.measurable == result.measurable

    def test_a_fit_and_its_physics(self, fit, go2, tmp_path) -> None:
        again = PhysicsFit.from_dict(through_a_file(fit.to_dict(), tmp_path), go2)
        same_file(fit, again, tmp_path)
        assert again.adaptation == fit.adaptation
        assert again.judgement == fit.judgement
        assert again.physics.hash == fit.physics.hash
        assert (again.correlation == fit.correlation).all()

    def test_a_verdict_with_intervals_that_are_infinite(self, fit, go2, tmp_path) -> None:
        result = run_verdict(*judged_policies("trot", "walk", go2), fit.adaptation, SMALL_VERDICT)
        again = Verdict.from_dict(through_a_file(result.to_dict(), tmp_path))
        same_file(result, again, tmp_path)
        assert again.word == result.word
        assert again.reasons == result.reasons
        high, high_again = (
            [one.after.figures["drift_m"].high for one in verdict.candidates] for verdict in (result, again)
        )
        np.testing.assert_array_equal(high, high_again)

    def test_an_evaluation(self, case, fit, tmp_path) -> None:
        result = evaluate(
            case.robot,
            lambda n: fit.physics.worlds(n, threads=1),
            case.driver.make,
            episodes=2,
            straight_episodes=1,
        )
        again = Evaluation.from_dict(through_a_file(result.to_dict(), tmp_path))
        same_file(result, again, tmp_path)
        assert again == result
        measured = run_evaluate(case.driver, case.robot, EvaluateOptions(episodes=1, straight_episodes=1, threads=1))
        assert measured.provenance["policy"] == "walk"
        again = Evaluation.from_dict(through_a_file(measured.to_dict(), tmp_path))
        same_file(measured, again, tmp_path)
        assert again.provenance == measured.provenance

    def test_a_fine_tuned_policy_both_walks_and_the_loop(self, toy_loop, tmp_path) -> None:
        tuned = FineTuned.from_dict(through_a_file(toy_loop.tuned.to_dict(), tmp_path), toy_loop.tuned.path)
        same_file(toy_loop.tuned, tuned, tmp_path)
        assert tuned.after == toy_loop.tuned.after
        walks = Walks.from_dict(through_a_file(toy_loop.walks.to_dict(), tmp_path))
        assert walks == toy_loop.walks
        content = through_a_file(toy_loop.to_dict(), tmp_path)
        again = LoopResult.from_dict(content, toy_loop.robot, toy_loop.folder)
        same_file(toy_loop, again, tmp_path)
        assert (again.done, again.says, again.exit_code) == (toy_loop.done, toy_loop.says, toy_loop.exit_code)


class TestShown:
    def test_every_result_shows_itself(self, toy_loop) -> None:
        """As text, and as HTML in a notebook."""
        for result in (
            toy_loop,
            toy_loop.report,
            toy_loop.gap,
            toy_loop.fit,
            toy_loop.fit.adaptation,
            toy_loop.tuned,
            toy_loop.tuned.after,
            toy_loop.verdict,
        ):
            first = str(result).splitlines()[0]
            assert type(result).__name__ not in first
            assert html.escape(first) in result._repr_html_()


class TestResumption:
    def test_a_fit_in_memory_and_in_a_folder_are_the_same(self, case, fit, tmp_path) -> None:
        stored = run_fit(case, SMALL_FIT, out=tmp_path)
        assert [knob.value for knob in stored.adaptation.knobs] == [knob.value for knob in fit.adaptation.knobs]
        again = read_fit(tmp_path, case.robot)
        assert again.adaptation.knobs == stored.adaptation.knobs
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"adaptation.json", "adapted.xml", "fit.json", "journal", "simulator.yaml"}
