"""Surefoot as a library: the loop in a few lines, lazy imports, and sentences without command-line options."""

import dataclasses
import html
import subprocess
import sys
from typing import Any

import pytest
from support.pages import checked
from support.robot_files import HEXAPOD
from support.toy_loop import TOY
from support.walks import walked

import surefoot as sf

SMALL_FIT: dict[str, Any] = {"family": "static", "tie": "all", "most_evaluations": 20, "threads": 1}
FEW: dict[str, Any] = {
    "candidates": 1,
    "episodes": 1,
    "straight_episodes": 1,
    "candidate_episodes": 1,
    "seconds": 1.5,
    "threads": 1,
}


@pytest.fixture(scope="module")
def log_file(go2, tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "day1.parquet"
    sf.write_log(walked(go2, rollouts=6, dry_friction_nm=0.6), path)
    return path


def test_the_loop_in_a_few_lines(log_file, tmp_path) -> None:
    robot = sf.load_robot("go2")
    log = sf.read_log(log_file)
    case = sf.Case(robot, policy="walk", log=log)
    assert sf.check_log(case) is sf.check_log(case)  # the doctor runs once
    gap = sf.measure_gap(case, diagnose=False, threads=1)
    fit = sf.fit_physics(case, fix={"armature_kgm2": 0.01, "torque_noise_nm": 0}, out=tmp_path / "fit", **SMALL_FIT)
    assert (tmp_path / "fit" / "adaptation.json").exists()
    after = sf.measure_gap(case, physics=fit.physics, threads=1)
    assert after.gap.total < gap.gap.total
    assert fit.physics.worlds(2).n == 2
    tuned = sf.finetune(case, fit.physics, iterations=1, worlds=8, judges=0, trim_s=0, episodes=0)
    assert tuned.policy.contract == robot.contract
    judged = sf.verdict(case, after=tuned.policy, physics=fit.physics, **FEW)
    assert judged.word in ("GO", "NO-GO")
    assert judged.fit is not None
    report = sf.write_report([sf.check_log(case), gap, fit, tuned, judged], tmp_path / "report.html")
    page = report.read_text()
    checked(page)
    for words in ("The gap of day1", "The fit of day1", "Verdict: policy against walk on go2", "wrote "):
        assert words in page
    for result in (sf.check_log(case), gap, fit, tuned, judged):
        text = str(result)
        assert "\x1b" not in text
        assert html.escape(text.splitlines()[0]) in result._repr_html_()


def test_results_are_tables_where_they_are_tables(toy_loop) -> None:
    pandas = pytest.importorskip("pandas")
    for result, columns in (
        (toy_loop.gap, {"where", "kind", "distance", "floor", "limit"}),
        (toy_loop.fit, {"name", "start", "value", "low", "high"}),
        (toy_loop.verdict, {"simulator", "figure", "before", "after", "change"}),
        (toy_loop.tuned.after, {"commands", "episodes", "falls", "velocity_error_m_s", "lateral_abs_m"}),
    ):
        table = result.to_dataframe()
        assert isinstance(table, pandas.DataFrame)
        assert len(table)
        assert columns <= set(table.columns)


def test_without_pandas_the_sentence_says_what_to_install(toy_loop, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sf.SurefootError, match="pip install pandas"):
        toy_loop.gap.to_dataframe()


def test_a_policy_is_measured_and_shown() -> None:
    result = sf.evaluate_policy("trot", twin="go2-slippery", episodes=1, straight_episodes=1, threads=1)
    assert result.provenance["twin"] == "go2-slippery"
    assert str(result).startswith("trot on go2-slippery")
    assert "the gate" in result._repr_html_()


def test_the_loop_in_one_call(toy_loop) -> None:
    """In the folder of a loop that is done nothing is done again."""
    options = {field.name: getattr(TOY, field.name) for field in dataclasses.fields(TOY)}
    again = sf.run_loop(twin="go2-identified", policy="walk", out=toy_loop.folder, **options)
    assert again.run["steps"] == toy_loop.run["steps"]
    assert again.says in str(again)


def test_a_report_of_what_was_read_from_files_is_text(toy_loop, tmp_path) -> None:
    page = sf.write_report([toy_loop.gap, toy_loop.fit, toy_loop.verdict], tmp_path / "r.html").read_text()
    checked(page)
    assert "worst channels" in page
    with pytest.raises(sf.SurefootError, match="a report is made of the results of steps"):
        sf.write_report([], tmp_path / "r.html")
    with pytest.raises(sf.SurefootError, match=r"\.html"):
        sf.write_report([toy_loop.gap], tmp_path / "r.pdf")


def test_progress_is_shown_or_told(log_file, capsys) -> None:
    case = sf.Case("go2", "walk", log_file)
    stages: list[str] = []
    sf.measure_gap(case, diagnose=False, threads=1, progress=lambda stage, done, total: stages.append(stage))
    assert "simulating" in stages
    sf.fit_physics(case, progress=True, fix={"armature_kgm2": 0.01, "torque_noise_nm": 0}, **SMALL_FIT)
    assert "static: " in capsys.readouterr().out


def test_a_physics_that_no_fit_found(log_file) -> None:
    case = sf.Case("go2", "walk", log_file)
    judged = sf.verdict(case, "walk", sf.Physics(case.robot, {"dry_friction_nm": 0.6}), **FEW)
    assert judged.word == "NO-GO"
    assert judged.fit is None


def test_what_is_built_in_is_compared_too(log_file) -> None:
    case = sf.Case("go2", "trot", log_file)
    assert sf.verdict(case, "walk", sf.Physics(case.robot), **FEW).provenance["before"]["name"] == "trot"


def test_importing_loads_no_simulator() -> None:
    program = (
        "import sys, surefoot; from surefoot.logs import read_log;"
        "print([name for name in ('mujoco', 'onnxruntime', 'torch', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_names_are_there() -> None:
    for name in sf.__all__:
        assert getattr(sf, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sf.nothing


def hexapod_physics() -> sf.Physics:
    return sf.Physics(sf.load_robot(HEXAPOD))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda log: sf.Case("nowhere", "walk", log), "nowhere"),
        (lambda log: sf.Case("go2", "nothing", log), "no policy 'nothing'"),
        (lambda log: sf.Case("go2", "walk", "missing.parquet"), "missing.parquet"),
        (lambda log: sf.Case("go2", "walk"), "a case needs a log"),
        (lambda log: sf.measure_gap(sf.Case("go2", "replay", log)), "with the policy in the loop"),
        (lambda log: sf.fit_physics(sf.Case("go2", "walk", log), held_out=0.9), "held_out is 0.9"),
        (
            lambda log: sf.fit_physics(sf.Case("go2", "walk", log), family="statik"),
            "family is 'statik'; it must",
        ),
        (lambda log: sf.fit_physics(sf.Case("go2", "walk", log), search="cmaes"), "search is 'cmaes'; it must"),
        (lambda log: sf.fit_physics(sf.Case("go2", "walk", log), free="mass"), "unknown parameter 'mass'"),
        (lambda log: sf.fit_physics(sf.Case("go2", "walk", log), priors="no.yaml"), "no.yaml"),
        (lambda log: sf.fit_physics(sf.Case("go2", "walk", log), most_evaluations=0), "most_evaluations is 0"),
        (lambda log: sf.measure_gap(sf.Case("go2", "walk", log), physics=hexapod_physics()), "another hexapod"),
        (lambda log: sf.finetune(sf.Case("go2", "walk", log), hexapod_physics(), episodes=-1), "episodes is -1"),
    ],
)
def test_sentences_name_no_option(log_file, make, says) -> None:
    with pytest.raises(sf.SurefootError, match=says) as reason:
        make(log_file)
    assert "--" not in str(reason.value)
