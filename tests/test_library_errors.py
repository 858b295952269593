"""Each exception of `surefoot.errors`, as a notebook meets it: the whole sentence, with nothing of the command line."""

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.walks import walked

import surefoot as sf
from surefoot import errors
from surefoot.learn.randomize import load_randomization


@pytest.fixture(scope="module")
def given(go2) -> SimpleNamespace:
    """A robot, a log of it, and the case of both with the policy that drove it."""
    log = walked(go2, rollouts=6, dry_friction_nm=0.6)
    return SimpleNamespace(robot=go2, log=log, case=sf.Case(go2, "walk", log))


def train_no_time(given: SimpleNamespace, folder: Path) -> None:
    sf.finetune(given.case, sf.Physics(given.robot), minutes=0)


def swap_columns(given: SimpleNamespace, folder: Path) -> None:
    swapped = given.log.joint_position_rad[:, [1, 0, *range(2, 12)]]
    sf.measure_gap(sf.Case(given.robot, "walk", dataclasses.replace(given.log, joint_position_rad=swapped)))


def count_milliseconds(given: SimpleNamespace, folder: Path) -> None:
    slow = dataclasses.replace(given.log, time_s=1e3 * given.log.time_s)
    sf.measure_gap(sf.Case(given.robot, "walk", slow))


def another_posture(given: SimpleNamespace, folder: Path) -> None:
    rising = dataclasses.replace(given.log, metadata={**given.log.metadata, "posture": "hind legs"})
    sf.measure_gap(sf.Case(given.robot, "walk", rising))


def go_on_with_another_seed(given: SimpleNamespace, folder: Path) -> None:
    def stop(family: str, progress: object) -> None:
        if family:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.fit_physics(given.case, family="static", out=folder / "fit", threads=1, progress=stop)
    sf.fit_physics(given.case, family="static", out=folder / "fit", threads=1, seed=1)


CALLS: list[tuple[type[errors.SurefootError], Callable[[SimpleNamespace, Path], object], str]] = [
    (errors.FineTuneError, train_no_time, "minutes is 0; fine-tuning needs a time above 0"),
    (
        errors.RobotError,
        lambda given, folder: sf.load_robot("nowhere.yaml"),
        "no robot 'nowhere.yaml': give a shipped name (g1, g1-legs, go2, phantomx), or the path of a robot.yaml",
    ),
    (
        errors.RobotError,
        lambda given, folder: sf.load_robot(folder),
        "the folder FOLDER has no robot.yaml; write a starter from a model",
    ),
    (
        errors.PolicyError,
        lambda given, folder: sf.Case(given.robot, "wolk", given.log),
        "no policy 'wolk' (did you mean 'walk'?); give one of zero, random, trot, step, biped, walk, or the path of an .onnx"
        " file",
    ),
    (
        errors.WorldsError,
        lambda given, folder: sf.Physics(given.robot).worlds(0),
        "0 worlds were asked for; at least 1 is needed",
    ),
    (
        errors.TwinError,
        lambda given, folder: sf.load_twin("go2-wron"),
        "no virtual robot 'go2-wron' (did you mean 'go2-worn' or 'go2-spring'?); give a shipped name, or the path of a"
        " YAML file",
    ),
    (
        errors.GapError,
        lambda given, folder: sf.Case(given.robot, "walk"),
        "a case needs a log; record one, or import one of your robot's",
    ),
    (
        errors.GapError,
        count_milliseconds,
        "its time is in ms, not in seconds: its numbers are 1,000 times too large; divide the time by 1,000, or import"
        " the log again with the time unit ms",
    ),
    (
        errors.GapError,
        another_posture,
        "the log is of a robot in the posture 'hind legs', and not 'level'; give its policy",
    ),
    (
        errors.UnusableLog,
        swap_columns,
        "the log cannot be used: FL_hip_joint and FL_thigh_joint are swapped in position",
    ),
    (
        errors.FitError,
        lambda given, folder: sf.fit_physics(given.case, fix={"dley_s": 0.01}),
        "unknown parameter 'dley_s' (did you mean 'delay_s'?)",
    ),
    (
        errors.FitError,
        lambda given, folder: sf.fit_physics(given.case, family="static", per_joint=True),
        "per_joint is about the missing torque, which the static family does not search; choose another family",
    ),
    (
        errors.FitError,
        go_on_with_another_seed,
        "FOLDER/fit/journal/static holds a run with other settings (seed); give another folder, or begin anew there",
    ),
    (
        errors.TaskError,
        lambda given, folder: load_randomization("wild"),
        "no randomization 'wild': give a preset (mild, none, seed) or the path of a YAML file",
    ),
    (
        errors.SurefootError,
        lambda given, folder: sf.write_report([], folder / "report.html"),
        "a report is made of the results of steps (the doctor's report, the gap, the fit, the fine-tuned policy, the"
        " verdict), at least one",
    ),
    (
        errors.LogError,
        lambda given, folder: sf.read_log("missing.parquet"),
        "missing.parquet does not exist; give the path of a Parquet file",
    ),
    (
        errors.OutputError,
        lambda given, folder: sf.write_log(given.log, str(folder)),
        "FOLDER is a folder; give the name of a file",
    ),
]


@pytest.mark.parametrize(("kind", "call", "says"), CALLS, ids=[kind.__name__ for kind, _, _ in CALLS])
def test_the_sentence_that_a_notebook_shows(given, tmp_path, kind, call, says) -> None:
    with pytest.raises(errors.SurefootError) as caught:
        call(given, tmp_path)
    assert type(caught.value) is kind
    assert str(caught.value) == says.replace("FOLDER", str(tmp_path))
    assert "--" not in str(caught.value)


def test_every_kind_of_error_was_met() -> None:
    kinds = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SurefootError)}
    assert {kind for kind, _, _ in CALLS} == kinds
