"""`surefoot fit` as a user meets it: the files it writes, who can read them, and one sentence for each way
in which it cannot be done.
"""

import dataclasses
import io
import json
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml
from support.pages import checked
from support.robot_files import HEXAPOD

from surefoot.adapt import read_adaptation
from surefoot.cli.main import run
from surefoot.fit.problem import Problem
from surefoot.logs import RobotLog, record, write_log
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin, load_twin

FRICTION_NM = 0.6
FEW = ("--fix", "armature_kgm2=0.01", "viscous_friction_nms=0.1", "torque_noise_nm=0", "delay_s=0", "--tie", "all")
SMALL = ("--settle-s", "0.2", "--threads", "1", "--family", "static")
FILES = {".surefoot.json", "adaptation.json", "adapted.xml", "simulator.yaml", "fit.json", "fit.html", "journal"}
PRIORS = "torque_limit_nm: {start: 450, low: 400, high: 500, step: 1.05, log: true}\n"


def walked(robot: Robot, policy: str, rollouts: int = 6, seconds: float = 1.2, **parameters: Any) -> RobotLog:
    return record(
        Twin("made", Physics(robot, parameters)), policy, rollouts=rollouts, seconds=seconds, seed=3, threads=1
    )


def strict(path: Path) -> dict[str, Any]:
    """JSON as everybody reads it: without NaN and infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{path} holds {word}")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return walked(load_robot("go2"), "walk", dry_friction_nm=FRICTION_NM)


@dataclasses.dataclass(frozen=True)
class Done:
    """A fit that all tests here look at: one knob that matters, one without effect."""

    folder: Path
    said: str
    arguments: tuple[str, ...]

    @property
    def out(self) -> Path:
        return self.folder / "a fit"


@pytest.fixture(scope="module")
def done(tmp_path_factory, log) -> Done:
    folder = tmp_path_factory.mktemp("fitted")
    write_log(log, folder / "log.parquet")
    (folder / "priors.yaml").write_text(PRIORS)
    arguments = (
        "fit",
        "log.parquet",
        "--out",
        "a fit",
        *FEW,
        *SMALL,
        "--free",
        "torque_limit_nm",
        "--priors",
        "priors.yaml",
        "--held-out",
        "0.34",
        "--seed",
        "4",
    )
    before, said = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        with redirect_stdout(said):
            code = run(list(arguments))
    finally:
        os.chdir(before)
    assert code == 0, said.getvalue()
    return Done(folder, said.getvalue(), arguments)


class TestFiles:
    def test_all_are_there_and_nothing_else(self, done) -> None:
        assert {path.name for path in done.out.iterdir()} == FILES
        names = ("adaptation.json", "adapted.xml", "simulator.yaml", "fit.html", "fit.json")
        assert f"wrote {', '.join(f'a fit/{name}' for name in names)}" in done.said

    def test_the_adaptation_is_read_back_with_the_planted_friction(self, done, go2) -> None:
        found = read_adaptation(done.out, go2)
        friction, limit = found.knobs
        assert friction.parameter == "dry_friction_nm"
        assert friction.value == pytest.approx(FRICTION_NM, rel=0.1)
        assert friction.interval[0] < friction.value < friction.interval[1]
        assert limit.flag == "no effect"
        assert found.settings["dry_friction_nm"] == [friction.value] * 12
        assert found.settings["delay_s"] == [0.0] * 12
        facts = found.provenance
        assert (
            facts["command"]
            == "surefoot fit log.parquet --robot go2 --policy walk --out 'a fit' --settle-s 0.2 --family static"
            " --free torque_limit_nm --fix armature_kgm2=0.01 viscous_friction_nms=0.1 torque_noise_nm=0 delay_s=0"
            " --tie all --priors priors.yaml --held-out 0.34 --seed 4"
        )
        assert facts["robot"]["hash"] == go2.hash
        assert len(facts["log"]["sha256"]) == len(facts["policy"]["hash"]) == 64

    def test_the_model_loads_in_stock_mujoco_with_the_friction_in_it(self, done, go2) -> None:
        model = mujoco.MjModel.from_xml_path(str(done.out / "adapted.xml"))
        friction = read_adaptation(done.out, go2).knobs[0].value
        found = [model.dof_frictionloss[model.joint(name).dofadr[0]] for name in go2.contract.joints]
        np.testing.assert_allclose(found, friction)

    def test_the_simulator_is_a_virtual_robot(self, done, go2) -> None:
        twin = load_twin(done.out / "simulator.yaml")
        friction = read_adaptation(done.out, go2).knobs[0].value
        assert twin.robot.hash == go2.hash
        np.testing.assert_allclose(twin.physics.parameters["dry_friction_nm"], friction)
        assert (
            yaml.safe_load((done.out / "simulator.yaml").read_text())["dry_friction_nm"] == friction
        )  # one number for all joints alike

    def test_the_page_is_whole_and_asks_for_nothing(self, done) -> None:
        page = (done.out / "fit.html").read_text()
        checked(page)
        assert "dry friction" in page
        assert "torque_limit_nm" in page

    def test_the_figures(self, done) -> None:
        figures = strict(done.out / "fit.json")
        gaps = figures["gaps"]
        assert gaps["after"]["total"] < 0.7 * gaps["before"]["total"]
        assert gaps["held_out_after"]["total"] < gaps["held_out_before"]["total"]
        assert (gaps["before"]["pieces"], gaps["held_out_before"]["pieces"]) == (4, 2)
        assert figures["search"] == "quantile"
        assert figures["stopped"] == "settled"
        assert len(figures["steps"]) == figures["steps"][-1]["iteration"] > 2
        assert len(figures["correlation"]) == len(figures["knobs"]) == 2
        assert strict(done.out / "adaptation.json")["knobs"] == figures["knobs"]

    def test_what_is_said(self, done) -> None:
        said = re.sub(r"\s+", " ", done.said)
        for part in (
            "dry_friction_nm",
            "90 % interval",
            "warning: no effect on the simulated walk, so not fitted: torque_limit_nm",
            "warning: the doctor says: ",
            "settled: ",
            "The gap fell from",
            "next: surefoot evaluate walk --twin 'a fit/simulator.yaml'",
        ):
            assert part in said
        assert "Traceback" not in said


class TestReaders:
    def test_gap_takes_the_folder(self, done, surefoot, here) -> None:
        code, _, error = surefoot(
            "gap",
            done.folder / "log.parquet",
            "--adaptation",
            done.out,
            "--no-diagnose",
            "--out",
            "gap",
            "--settle-s",
            "0.2",
            "--threads",
            "1",
        )
        assert (code, error) == (0, "")
        before = strict(done.out / "fit.json")["gaps"]["before"]["total"]
        assert strict(here / "gap" / "gap.json")["gap"]["total"] < 0.7 * before

    def test_adapt_show(self, done, surefoot) -> None:
        code, out, error = surefoot("adapt", "show", done.out)
        assert (code, error) == (0, "")
        for part in (
            "dry_friction_nm",
            "90 % interval",
            "torque_limit_nm is no effect",
            "also set, without a knob: armature_kgm2",
        ):
            assert part in out

    def test_adapt_export(self, done, surefoot, here) -> None:
        code, _out, error = surefoot("adapt", "export", done.out, "--to", "randomization", "--out", "table.yaml")
        assert (code, error) == (0, "")
        assert (here / "table.yaml").exists()


class TestAgain:
    def test_the_same_command_simulates_nothing_new_and_writes_the_same(self, done, capsys, monkeypatch) -> None:
        kept = {name: (done.out / name).read_bytes() for name in FILES - {"journal"}}

        def refuse(*arguments: object, **options: Any) -> None:
            raise AssertionError("simulated a question that the journal knows")

        monkeypatch.setattr(Problem, "evaluate", refuse)
        monkeypatch.chdir(done.folder)
        assert run(list(done.arguments)) == 0
        assert {name: (done.out / name).read_bytes() for name in kept} == kept

    @pytest.mark.parametrize(
        "changed", [("--seed", "3"), ("--held-out", "0.4"), ("--most-evaluations", "50"), ("--settle-s", "0.25")]
    )
    def test_other_settings_are_refused_there(self, done, capsys, monkeypatch, changed) -> None:
        kept = {path: path.read_bytes() for path in done.out.rglob("*") if path.is_file()}
        monkeypatch.chdir(done.folder)
        assert run([*done.arguments, *changed]) == 2
        error = capsys.readouterr().err
        assert re.fullmatch(
            r"surefoot: a fit/journal/static holds a run with other settings \([^\n]+\); give another folder, or begin"
            r" anew there \(option --restart\)\n",
            error,
        )
        assert {path: path.read_bytes() for path in done.out.rglob("*") if path.is_file()} == kept

    def test_other_priors_are_refused_there(self, done, capsys, monkeypatch, tmp_path) -> None:
        (tmp_path / "priors.yaml").write_text(PRIORS.replace("450", "460"))
        monkeypatch.chdir(done.folder)
        assert run([*done.arguments, "--priors", str(tmp_path / "priors.yaml")]) == 2
        assert "other settings (priors)" in capsys.readouterr().err

    def test_stopped_with_control_c_it_leaves_its_journal_and_no_result(self, surefoot, here, log, monkeypatch) -> None:
        asked, evaluate = [], Problem.evaluate

        def stop(self: Problem, *arguments: Any, **options: Any) -> object:
            asked.append(arguments)
            if len(asked) == 3:
                raise KeyboardInterrupt
            return evaluate(self, *arguments, **options)

        monkeypatch.setattr(Problem, "evaluate", stop)
        write_log(log, here / "log.parquet")
        code, _out, error = surefoot("fit", "log.parquet", "--out", "fit", *FEW, *SMALL)
        assert (code, error) == (130, "surefoot: interrupted\n")
        assert sorted(path.name for path in (here / "fit").rglob("*")) == [
            ".surefoot.json",
            "0000.npz",
            "0001.npz",
            "journal",
            "run.json",
            "static",
        ]


class TestNoGap:
    def test_a_robot_that_its_simulator_matches(self, surefoot, here) -> None:
        """With some joints fixed by a pattern, which every file must be able to say."""
        robot = load_robot(HEXAPOD)
        write_log(walked(robot, "trot"), here / "log.parquet")
        code, out, error = surefoot(
            "fit",
            "log.parquet",
            "--robot",
            HEXAPOD,
            "--out",
            "fit",
            "--tie",
            "type",
            "--fix",
            "dry_friction_nm[*.tibia]=0.03",
            *SMALL,
        )
        assert (code, error) == (0, "")
        assert "no measurable gap" in strict(here / "fit" / "fit.json")["stopped"]
        assert "no gap" in out
        assert {path.name for path in (here / "fit").iterdir()} == FILES
        found = read_adaptation(here / "fit", robot)
        assert all(knob.value == knob.start for knob in found.knobs)
        assert set(found.settings) == {"dry_friction_nm"}
        assert load_twin(here / "fit" / "simulator.yaml").robot.hash == robot.hash
        model = mujoco.MjModel.from_xml_path(str(here / "fit" / "adapted.xml"))
        found_nm = [model.dof_frictionloss[model.joint(name).dofadr[0]] for name in robot.contract.joints]
        np.testing.assert_allclose(found_nm, 0.03)
        checked((here / "fit" / "fit.html").read_text())
        code, out, error = surefoot("adapt", "show", "fit", "--robot", HEXAPOD)
        assert (code, error) == (0, "")


@pytest.fixture
def refused(surefoot, here):
    """A command is answered with one sentence that holds all parts, and nothing is written."""

    def call(log: RobotLog, *arguments: object, says: tuple[str, ...]) -> None:
        write_log(log, here / "log.parquet")
        files = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
        code, _out, error = surefoot("fit", "log.parquet", "--out", "fit", *SMALL, *arguments)
        assert code == 2
        assert re.fullmatch(r"surefoot: [^\n]+\n", error)
        for part in says:
            assert part in error
        assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == files
        assert not (here / "fit").exists()

    return call


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--fix", "delay_s"), ("a fixed parameter is 'delay_s'", "name=value", "(option --fix)")),
            (("--fix", "delay_s=soon"), ("a fixed parameter is 'delay_s=soon'", "name=value", "(option --fix)")),
            (("--fix", "=1"), ("unknown parameter",)),
            (("--fix", "dry_friction_nm[FL_*=1"), ("name[joints]=value",)),
            (("--fix", "dry_friction_nm[*_elbow]=1"), ("_elbow",)),
            (("--fix", "delay_s=0.1", "delay_s=0.2"), ("delay_s is fixed twice",)),
            (("--fix", "dry_friction_nm=0.1", "dry_friction_nm[FL_*]=0.2"), ("dry_friction_nm is fixed twice",)),
            (("--fix", "dry_friction_nm[FL_*]=0.2", "dry_friction_nm=0.1"), ("dry_friction_nm is fixed twice",)),
            (("--fix", "dley_s=0.1"), ("unknown parameter 'dley_s'", "delay_s")),
            (("--fix", "delay_s=-1"), ("delay_s",)),
            (("--fix", "delay_s=nan"), ("delay_s",)),
            ((*FEW[:-2], "dry_friction_nm=0.2"), ("everything is fixed", "leave at least one")),
            (("--free", "motor_strenght"), ("unknown parameter 'motor_strenght'", "motor_strength")),
            (("--free", "motor_strength[*_elbow]"), ("names no joint", "FL_hip_joint")),
            (("--free", "dry_friction_nm"), ("free twice",)),
            (("--free", "link_mass_kg"), ("link_mass_kg",)),
            (("--free", "spring_rest_rad"), ("spring_rest_rad has no prior",)),
            (("--tie", "legs"), ("tie is 'legs'", "none, mirror, type, all")),
            (("--held-out", "0.9"), ("held_out is 0.9", "0 to 0.5")),
            (("--held-out", "-0.1"), ("held_out is -0.1",)),
            (("--held-out", "nan"), ("held_out is nan",)),
            (("--cost", "mmd"), ("mmd", "give the search 'cma' (option --search)")),
            (("--cost", "mdd", "--search", "cma"), ("unknown cost 'mdd'", "mmd")),
            (("--settle-s", "-1"), ("settle_s is -1",)),
            (("--seed", "-4"), ("the seed is -4",)),
            (("--robot", "go3"), ("no robot 'go3'",)),
            (("--policy", "wolk"), ("no policy 'wolk'", "walk")),
            (("--policy", "missing.onnx"), ("missing.onnx",)),
        ],
    )
    def test_options(self, refused, log, arguments, says) -> None:
        refused(log, *arguments, says=says)

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"delay_s: {low: 0.1, high: 0.0, step: 0.01}", "low < high"),
            (b"delay_s: {low: 0.0, high: 0.1}", "it takes start"),
            (b"dley_s: {low: 0.0, high: 0.1, step: 0.01}", "unknown parameter 'dley_s'"),
            (b"- delay_s", "must hold 'key: value' lines"),
            (b"delay_s: {low", "not valid YAML"),
            (b"", "found nothing"),
            (b"\xff\xfe\x00", "not a text file"),
            (b"delay_s: {low: .nan, high: 0.1, step: 0.01}", "finite numbers"),
            (b"1: {low: 0, high: 1, step: 0.1}", "unknown parameter '1'"),
        ],
    )
    def test_priors(self, refused, here, log, content, says) -> None:
        (here / "priors.yaml").write_bytes(content)
        refused(log, "--priors", "priors.yaml", says=("priors.yaml" if "unknown" not in says else "", says))

    def test_priors_that_are_not_there(self, refused, here, log) -> None:
        refused(log, "--priors", "nowhere.yaml", says=("nowhere.yaml does not exist",))
        (here / "folder").mkdir()
        refused(log, "--priors", "folder", says=("folder is a folder",))

    def test_the_log_of_another_robot(self, refused) -> None:
        other = walked(load_robot(HEXAPOD), "trot", rollouts=2, seconds=1.0)
        refused(other, "--policy", "walk", says=("of another robot (hexapod) than go2", "--robot"))

    def test_a_log_that_names_no_policy(self, refused, log) -> None:
        refused(dataclasses.replace(log, metadata={}), says=("names no policy", "--policy"))
        named = dataclasses.replace(log, metadata={**log.metadata, "policy": "../secret"})
        refused(named, says=("names the policy '../secret'", "--policy"))

    def test_a_log_that_is_too_short(self, refused, go2) -> None:
        refused(walked(go2, "walk", rollouts=2, seconds=1.0), says=("1.6 s of the log can be compared", "at least 5 s"))

    @pytest.mark.parametrize(("given", "says"), [(("nowhere.parquet",), "nowhere.parquet"), ((), "give a log to fit")])
    def test_a_log_that_is_not_there(self, surefoot, here, given, says) -> None:
        code, _out, error = surefoot("fit", *given, "--out", "fit")
        assert code == 2
        assert re.fullmatch(r"surefoot: [^\n]+\n", error)
        assert says in error
        assert list(here.iterdir()) == []

    def test_a_file_where_the_folder_should_be(self, surefoot, here, log) -> None:
        write_log(log, here / "log.parquet")
        (here / "fit").write_text("mine")
        code, _out, error = surefoot("fit", "log.parquet", "--out", "fit", *SMALL)
        assert code == 2
        assert re.fullmatch(r"surefoot: [^\n]*fit is a file, not a folder[^\n]*\n", error)
        assert (here / "fit").read_text() == "mine"

    def test_a_mistake_that_is_mended_needs_no_restart(self, surefoot, here, log, monkeypatch) -> None:
        write_log(log, here / "log.parquet")
        assert surefoot("fit", "log.parquet", "--out", "fit", *SMALL, *FEW, "--free", "motor_strenght")[0] == 2
        monkeypatch.setattr("surefoot.pipeline.fit.Fit.run", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        assert surefoot("fit", "log.parquet", "--out", "fit", *SMALL, *FEW, "--free", "motor_strength")[0] == 130

    def test_a_log_of_falls(self, refused, log) -> None:
        gravity = log.gravity.copy()
        for rows in log.episodes()[1:]:
            gravity[rows.stop - 10 : rows.stop] = (1.0, 0.0, 0.0)  # on its side
        fell = len(log.episodes()) - 1
        refused(
            dataclasses.replace(log, gravity=gravity),
            *FEW,
            says=(f"the robot fell in {fell} of {fell + 1} episodes", "without any physical meaning"),
        )
