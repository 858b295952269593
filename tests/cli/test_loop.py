"""`surefoot loop`: the order of its steps, what is skipped, what goes on after a kill, how it ends. Steps are stand-ins
that leave what a real loop at toy size left.
"""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import save_file
from support.made_logs import log_of
from support.policy_files import layers
from support.robot_files import GO2, HEXAPOD

from surefoot.adapt import write_adaptation
from surefoot.errors import FitError, SurefootError
from surefoot.files import check_folder, outputs, write_json, write_text, write_whole
from surefoot.logs import write_log
from surefoot.logs.doctor import Finding
from surefoot.pipeline.artefacts import (
    CHECKPOINT,
    DOCTOR,
    EVALUATION,
    FIT,
    GAP,
    POLICY,
    SIMULATOR,
    VERDICT,
    VIDEO,
    WALKS,
)
from surefoot.pipeline.gap import GapSettings
from surefoot.policy import write_mlp
from surefoot.policy.driver import make_driver
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin
from surefoot.verify.fit_gap import FitGap
from surefoot.verify.rules import Reason

ALL = ["record", "doctor", "gap", "fit", "finetune", "verdict", "video"]
CLOSED = FitGap(0.192, 0.013, 0.011, measurable=False, nearer=True, held_out=True)
LEFT = FitGap(0.16, 0.031, 0.012, measurable=True, nearer=True, held_out=True)


class Stage:
    """Stand-ins for the steps, in the loop and in the verbs: `called` holds their names in order, `given` their
    options. What they leave is what a real loop left, changed where a test says so.
    """

    def __init__(self, toy, monkeypatch):
        self.called, self.given, self.fails = [], {}, {}
        self.report, self.gap, self.fit, self.tuned = toy.report, toy.gap, toy.fit, toy.tuned
        self.report = dataclasses.replace(toy.report, findings=(), usable_s=252.0, needed_s=240.0)
        self.verdict = dataclasses.replace(toy.verdict, reasons=(), gains=("total drift 1 → 0.5 m",), fit=CLOSED)
        self.walks = dataclasses.replace(toy.walks, says="10 s")
        self.policy = (toy.folder / "finetune" / POLICY).read_bytes()
        self.trained_min, self.films = 0.0, True
        for name in ("record", "doctor", "gap", "fit", "finetune", "verdict", "walks"):
            stand_in = self._guarded("video" if name == "walks" else name, getattr(self, f"_{name}"))
            monkeypatch.setattr(f"surefoot.pipeline.loop_steps.run_{name}", stand_in)
            if name not in ("doctor", "walks"):  # which are no verb, or call something else
                monkeypatch.setattr(f"surefoot.cli.{name}.run_{name}", stand_in)
        monkeypatch.setattr("surefoot.pipeline.loop.require_torch", lambda: None)

    def _guarded(self, name, stand_in):
        def run(*args, **named):
            print(f"{name} was here")
            self.called.append(name)
            if name in self.fails:
                raise self.fails[name]
            return stand_in(*args, **named)

        return run

    def _record(self, twin, policy, options, *, out, progress):
        self.given["record"] = twin.name, make_driver(policy, twin.robot).label, options
        log = log_of(twin.robot, source={"twin": twin.name}, policy="walk")
        write_log(log, out)
        return log

    def _doctor(self, case, *, out, draw):
        self.given["doctor"] = case
        self._write(out, DOCTOR, self.report)
        return self.report

    def _gap(self, case, settings, *, out, command, draw, progress, physics=None, facts=None):
        self.given["gap"] = case.log.path, case.driver.label, settings
        self._write(out, GAP, self.gap)
        return self.gap

    def _fit(self, case, options, *, out, command, draw, warn, progress, restart=False):
        self.given["fit"] = case.log.path, case.driver.label, options
        self.robot = case.robot
        self._write(out, FIT, self.fit)
        write_adaptation(out / "adaptation.json", self.fit.adaptation)
        write_text(out / SIMULATOR, "robot: go2\n")
        return self.fit

    def _finetune(self, driver, adaptation, options, *, out, say, show, restart=False):
        self.given["finetune"] = driver.label, adaptation.robot, options
        self.trained_min = max(self.trained_min, options.minutes + 0.05)  # an iteration more, and nothing is taken back
        state = {"state": json.dumps({"elapsed_s": 60 * self.trained_min})}
        write_whole(out / CHECKPOINT, lambda path: save_file({}, path, state))
        write_whole(out / POLICY, lambda path: path.write_bytes(self.policy))
        tuned = dataclasses.replace(self.tuned, path=out / POLICY)
        write_json(out / EVALUATION, tuned.to_dict())
        return dataclasses.replace(tuned, trained_s=60 * self.trained_min)

    def _verdict(self, before, after, adaptation, options, *, twin, fit_gap, out, facts, draw, progress):
        self.given["verdict"] = before.label, after.label, twin and twin.name, options
        self._write(out, VERDICT, self.verdict)
        return self.verdict

    def _walks(self, twin, before, after, *, out, seed, progress):
        self.given["video"] = twin.name, before.label, after.label, seed
        says = self.walks.says if self.films else "none: no picture can be drawn on this machine"
        walks = dataclasses.replace(self.walks, says=says, place=twin.name)
        write_json(out / WALKS, walks.to_dict())
        if self.films:
            write_text(out / VIDEO, "frames")
        return walks

    def _write(self, out: Path, name: str, result) -> None:
        write_json(out / name, result.to_dict())
        write_text(out / name.replace(".json", ".html"), "<p>a page</p>")


@pytest.fixture
def stage(toy_loop, monkeypatch) -> Stage:
    return Stage(toy_loop, monkeypatch)


@pytest.fixture
def loop(surefoot):
    return lambda *more: surefoot("loop", *(more or ("--twin", "go2-identified")), "--out", "run")


def run_json(here: Path) -> dict:
    return json.loads((here / "run" / "run.json").read_text(), parse_constant=pytest.fail)


class TestOrder:
    def test_a_virtual_robot_records_and_every_step_follows(self, stage, loop, here):
        code, out, err = loop()
        assert (code, err) == (0, "")
        assert stage.called == ALL
        gap = stage.gap.gap
        for words in (
            "record: 4 episodes, 4 s from the virtual robot go2-identified",
            f"gap: {gap.total:.3f}, {gap.total / gap.total_floor:.0f} × its floor; looks like",
            f"fit: gap {stage.fit.before.total:.3f} → {stage.fit.after.total:.3f} (floor",
            f"finetune: drift {stage.tuned.before.drift_m:.2f} → {stage.tuned.after.drift_m:.2f} m, velocity error",
            "verdict: GO",
            "report: run/report.html; video: run/video/before_after.mp4",
        ):
            assert words in out
        assert "was here" not in out
        printed = (here / "run" / "gap" / "log.txt").read_text()
        assert printed.startswith("gap was here\n")
        assert "worst channels" in printed
        assert stage.given["verdict"][:3] == ("walk", "policy", "go2-identified")
        assert stage.given["video"][:3] == ("go2-identified", "walk", "policy")
        assert "GO" in (here / "run" / "report.html").read_text()

    def test_a_log_of_ones_own(self, stage, loop, here, go2):
        write_log(log_of(go2), here / "day1.parquet")
        code, out, _ = loop("day1.parquet", "--minutes", 2.5, "--seed", 3, "--threads", 1, "--policy", "walk")
        assert code == 0
        assert stage.called == ALL[1:]
        assert stage.given["gap"] == (Path("day1.parquet"), "walk", GapSettings(seed=3, threads=1))
        assert stage.given["finetune"][2].minutes == 2.5
        assert stage.given["verdict"][2] is None
        assert stage.given["video"][0] == "simulator"  # no virtual robot but the fitted one
        assert "record" not in out

    def test_the_policy_is_the_one_that_the_log_names(self, stage, loop, here, go2):
        write_log(log_of(go2, policy="walk"), here / "day1.parquet")
        assert loop("day1.parquet")[0] == 0
        assert stage.given["finetune"][0] == "walk"

    def test_several_logs_become_one(self, stage, loop, here, go2):
        for seed, name in enumerate("ab"):
            write_log(log_of(go2, seed=seed), here / f"{name}.parquet")

        code, out, _ = loop("a.parquet", "b.parquet", "--policy", "walk")
        assert code == 0
        assert "join: 8 episodes, 8 s from 2 logs" in out
        assert stage.given["fit"][0] == Path("run/join/log.parquet")

    def test_the_fit_searches_what_is_to_blame(self, stage, loop):
        free = ("base_mass_kg", "base_com_offset_m")
        blaming = dataclasses.replace(stage.gap.diagnosis, free=free, sure="sure")
        stage.gap = dataclasses.replace(stage.gap, diagnosis=blaming)
        loop()
        assert stage.given["fit"][2].free == free


class TestResume:
    def test_what_is_done_is_not_done_again(self, stage, loop, here):
        loop()
        first = run_json(here)
        stage.called.clear()
        code, out, _ = loop()
        assert code == 0
        assert stage.called == []
        assert out.count("done before") == len(ALL)
        assert run_json(here) == first

    @pytest.mark.parametrize("name", ALL[2:])
    def test_stopped_in_any_step_the_same_command_goes_on_there(self, stage, loop, here, name):
        stage.fails[name] = KeyboardInterrupt()
        assert loop()[0] == 130
        assert run_json(here)["steps"][name]["state"] == "interrupted"
        assert not (here / "run" / "report.html").exists()
        stage.fails.clear()
        stage.called.clear()
        code, _, _ = loop()
        assert code == 0
        assert stage.called == ALL[ALL.index(name) :]
        assert run_json(here)["steps"][name]["runs"] == 2

    def test_killed_without_a_word(self, stage, loop, here):
        """After kill -9 the record still says 'running', with files that may be there in part."""
        loop()
        content = run_json(here)
        content["steps"]["fit"] |= {"state": "running", "files": {}}
        for name in ALL[4:]:
            del content["steps"][name]
            shutil.rmtree(here / "run" / name)
        with outputs("loop"):
            check_folder(here / "run", ("run.json",))
            write_text(here / "run" / "run.json", json.dumps(content))
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == ALL[3:]

    def test_a_file_that_is_gone_is_made_again(self, stage, loop, here):
        loop()
        (here / "run" / "gap" / "gap.html").unlink()
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == ["gap"]

    def test_a_file_that_was_edited_is_kept_until_told_otherwise(self, stage, loop, here):
        loop()
        (here / "run" / "verdict" / "verdict.json").write_text("{}")
        stage.called.clear()
        code, _, err = loop()
        assert code == 2
        assert "verdict.json already exists, and it was changed after 'surefoot verdict' wrote it" in err
        assert (here / "run" / "verdict" / "verdict.json").read_text() == "{}"
        assert loop("--twin", "go2-identified", "--overwrite")[0] == 0
        assert stage.called == ["verdict"]

    def test_more_minutes_go_on_with_the_training_and_all_that_follows(self, stage, loop, here, go2):
        loop()
        stage.called.clear()
        write_mlp(here / "better.onnx", go2.contract, layers(go2.contract, seed=3))
        stage.policy = (here / "better.onnx").read_bytes()
        assert loop("--twin", "go2-identified", "--minutes", 12)[0] == 0
        assert stage.called == ALL[4:]

    def test_fewer_minutes_keep_what_was_trained_and_say_so(self, stage, loop, here):
        assert "minutes before" not in loop("--twin", "go2-identified", "--minutes", 6)[1]
        stage.called.clear()
        for called in (
            ["finetune"],
            [],
        ):  # nothing that follows, since the policy is the same; and the next time nothing at all
            code, out, _ = loop("--twin", "go2-identified", "--minutes", 2)
            assert code == 0
            says = (
                "trained for 6.0 minutes before, and kept though only 2 are asked for (to train anew, remove"
                " run/finetune)"
            )
            assert says in out
            assert says in (here / "run" / "report.html").read_text()
            assert stage.called == called
            stage.called.clear()

    def test_a_video_that_is_gone_is_made_again(self, stage, loop, here):
        loop()
        assert set(run_json(here)["steps"]["video"]["files"]) == {WALKS, VIDEO}
        (here / "run" / "video" / VIDEO).unlink()
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == ["video"]
        assert (here / "run" / "video" / VIDEO).exists()

    def test_a_machine_that_cannot_draw_ends_well_and_does_not_try_again(self, stage, loop, here):
        stage.films = False
        code, out, _ = loop()
        assert code == 0
        assert "video: none: no picture can be drawn" in out
        assert set(run_json(here)["steps"]["video"]["files"]) == {WALKS}
        assert "none: no picture can be drawn" in (here / "run" / "report.html").read_text()
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == []

    def test_a_verdict_follows_what_the_fit_says_of_its_gap(self, stage, loop, here):
        loop()
        worse = dataclasses.replace(stage.fit.after, total=0.9 * stage.fit.before.total)
        stage.fit = dataclasses.replace(stage.fit, after=worse)
        (here / "run" / "fit" / "fit.json").unlink()
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == ["fit", "verdict"]

    def test_threads_change_nothing(self, stage, loop):
        loop()
        stage.called.clear()
        assert loop("--twin", "go2-identified", "--threads", 2)[0] == 0
        assert stage.called == []

    @pytest.mark.parametrize(("more", "named"), [(("--seed", 1), "seed"), (("--rollouts", 8), "recording")])
    def test_other_inputs_are_refused_and_restart_forgets(self, stage, loop, here, more, named):
        loop()
        (here / "run" / "notes.txt").write_text("mine")
        stage.called.clear()
        code, _, err = loop("--twin", "go2-identified", *more)
        assert code == 2
        assert f"holds a loop with other inputs ({named}); choose another folder, or restart" in err
        assert "(option --restart)" in err
        assert stage.called == []
        assert loop("--twin", "go2-identified", *more, "--restart")[0] == 0
        assert stage.called == ALL
        assert (here / "run" / "notes.txt").read_text() == "mine"

    def test_restart_spares_an_input_that_an_earlier_loop_made(self, stage, loop, here):
        loop()
        shutil.copy(GO2 / "policies" / "walk.onnx", here / "run" / "finetune" / "policy.onnx")
        code, _, err = loop("--twin", "go2-identified", "--policy", "run/finetune/policy.onnx", "--restart")
        assert code == 2
        assert "lies in a folder that a restart removes" in err
        assert (here / "run" / "finetune" / "policy.onnx").exists()

    def test_a_report_does_not_outlive_what_it_tells_of(self, stage, loop, here):
        loop()
        assert (here / "run" / "report.html").exists()
        stage.fails["finetune"] = SurefootError("stopped")
        assert loop("--twin", "go2-identified", "--minutes", 12)[0] == 2
        assert not (here / "run" / "report.html").exists()

    def test_a_log_that_was_changed_is_another_input(self, stage, loop, here, go2):
        write_log(log_of(go2), here / "a.parquet")
        loop("a.parquet", "--policy", "walk")
        write_log(log_of(go2, seed=1), here / "a.parquet")
        code, _, err = loop("a.parquet", "--policy", "walk")
        assert code == 2
        assert "other inputs (logs)" in err

    def test_the_same_log_elsewhere_is_the_same_input(self, stage, loop, here, go2):
        write_log(log_of(go2), here / "a.parquet")
        loop("a.parquet", "--policy", "walk")
        (here / "logs").mkdir()
        shutil.move(here / "a.parquet", here / "logs" / "a.parquet")
        stage.called.clear()
        assert loop("logs/a.parquet", "--policy", "walk")[0] == 0
        assert stage.called == []

    @pytest.mark.parametrize(
        "text",
        ["", "[]", '{"surefoot_loop": 1}', '{"surefoot_loop": 1, "inputs": {}, "versions": {}, "steps": {"fit": 3}}'],
    )
    def test_a_record_that_is_none_is_not_overwritten(self, stage, loop, here, text):
        (here / "run").mkdir()
        (here / "run" / "run.json").write_text(text)
        code, _, err = loop()
        assert code == 2
        assert "run.json already exists, and surefoot cannot tell who wrote it" in err
        assert (here / "run" / "run.json").read_text() == text


class TestEnds:
    def test_a_log_that_the_doctor_refuses(self, stage, loop, here):
        found = Finding("sign", "error", "FL_hip_joint is turned round", "e", "w", "negate it")
        stage.report = dataclasses.replace(stage.report, findings=(found,))
        code, out, _ = loop()
        assert code == 2
        assert stage.called == ALL[:2]
        assert (
            "doctor: not usable: FL_hip_joint is turned round; negate it (all findings: run/doctor/doctor.html)" in out
        )
        assert run_json(here)["outcome"]["exit_code"] == 2
        assert "negate it" in (here / "run" / "report.html").read_text()

    def test_warnings_do_not_end_it(self, stage, loop):
        found = Finding("coverage", "warning", "no turns", "e", "w", "turn")
        stage.report = dataclasses.replace(stage.report, findings=(found,))
        code, out, _ = loop()
        assert code == 0
        assert "usable with care, 4.2 of 4.0 minutes that a fit needs: no turns" in out

    def test_no_measurable_gap(self, stage, loop, here):
        none = dataclasses.replace(stage.gap.gap, total=0.5 * stage.gap.gap.total_limit)
        stage.gap = dataclasses.replace(stage.gap, gap=none)
        code, out, _ = loop()
        assert code == 4
        assert stage.called == ALL[:3]
        assert "no measurable gap" in out
        assert "no measurable gap" in (here / "run" / "report.html").read_text()
        stage.called.clear()
        assert loop()[0] == 4
        assert stage.called == []

    def test_a_fit_that_came_no_nearer(self, stage, loop, here):
        worse = dataclasses.replace(stage.fit.after, total=1.1 * stage.fit.before.total)
        stage.fit = dataclasses.replace(stage.fit, after=worse)
        code, out, _ = loop()
        assert code == 3
        assert stage.called == ALL[:4]
        assert "no nearer to the robot" in out
        assert "came no nearer" in (here / "run" / "report.html").read_text()

    def test_no_go_completes_the_report(self, stage, loop, here):
        against = (
            Reason("more falls", "adapted", "falls in 9 of 44 episodes instead of 0"),
            Reason("worse", "nominal", "x"),
        )
        stage.verdict = dataclasses.replace(stage.verdict, reasons=against)
        code, out, _ = loop()
        assert code == 3
        assert stage.called == ALL
        assert "verdict: NO-GO, adapted: falls in 9 of 44 episodes instead of 0, and 1 more (" in out
        assert "Keep the old policy on the robot." in (here / "run" / "report.html").read_text()

    def test_a_go_beside_a_gap_that_is_left_says_so(self, stage, loop, here):
        assert "but the fit" not in loop()[1]
        stage.verdict = dataclasses.replace(stage.verdict, fit=LEFT)
        (here / "run" / "verdict" / "verdict.json").unlink()
        code, out, _ = loop()
        assert code == 0
        assert (
            "total drift 1 → 0.5 m; but the fit left 0.031 of a gap of 0.160 (floor 0.012) on held-out episodes" in out
        )
        assert "The fit left 0.031 of a gap of 0.160" in (here / "run" / "report.html").read_text()

    def test_a_verb_that_fails_says_so_once(self, stage, loop, here):
        stage.fails["fit"] = FitError("the log is too odd; record another")
        code, out, err = loop()
        assert code == 2
        assert err == "surefoot: the log is too odd; record another\n"
        assert "too odd" not in out
        assert (
            run_json(here)["steps"]["fit"] | {"state": "failed", "says": "the log is too odd; record another"}
            == run_json(here)["steps"]["fit"]
        )

    def test_falls_of_the_fine_tuning_are_told_where_there_are_any(self, stage, loop):
        before, after = stage.tuned.before, stage.tuned.after
        fell = dataclasses.replace(before, walk=dataclasses.replace(before.walk, falls=3))
        pushed = dataclasses.replace(after, pushed=dataclasses.replace(after.pushed, falls=2))
        stage.tuned = dataclasses.replace(stage.tuned, before=fell, after=pushed)
        told = loop()[1]
        assert f", falls {fell.falls[0]} → {pushed.falls[0]} of {after.falls[1]}, falls when pushed" in told
        assert f"→ 2 of {after.pushed.episodes} in the fitted simulator" in told

    @pytest.mark.parametrize(
        ("choice", "says"),
        [
            (None, ""),
            ({"kept": "new", "reason": "", "share": 1.0}, ""),
            (
                {"kept": "part", "reason": "9 of 96 fell with it", "share": 0.5},
                "50 % of the way to what was trained, training made it worse",
            ),
            ({"kept": "old", "reason": "9 of 96 fell with it", "share": 0.0}, "trimmed only, training made it worse"),
        ],
    )
    def test_a_training_that_was_not_kept_is_told(self, stage, loop, choice, says):
        stage.tuned = dataclasses.replace(stage.tuned, choice=choice)
        told = " ".join(loop()[1].split())
        assert says in told
        assert ("training made it worse" in told) == bool(says)

    def test_a_policy_that_always_falls_still_has_its_sentence(self, stage, loop):
        before = stage.tuned.before
        nan = float("nan")
        fallen = {name: dataclasses.replace(one, lateral_abs_m=nan) for name, one in before.directions.items()}
        stage.tuned = dataclasses.replace(stage.tuned, before=dataclasses.replace(before, directions=fallen))
        assert f"drift (fell) → {stage.tuned.after.drift_m:.2f} m" in loop()[1]


class TestRecord:
    @pytest.mark.parametrize(("policy", "seconds"), [("walk", 4.0), ("biped", 7.0)])
    def test_a_robot_that_has_to_rise_records_for_longer(self, stage, loop, here, policy, seconds):
        loop("--twin", "go2-identified", "--policy", policy)
        assert run_json(here)["inputs"]["recording"]["seconds"] == seconds

    def test_provenance_of_everything(self, stage, loop, here, go2):
        loop()
        content = run_json(here)
        assert content["inputs"]["robot"]["hash"] == go2.hash
        assert len(content["inputs"]["policy"]["sha256"]) == len(content["inputs"]["twin"]["hash"]) == 64
        assert {"surefoot", "mujoco", "numpy", "torch"} <= set(content["versions"])
        assert content["outcome"]["exit_code"] == 0
        for name in ALL:
            entry = content["steps"][name]
            assert entry["state"] == "done"
            assert entry["says"]
            assert all(len(found) == 64 for found in entry["files"].values())
            assert entry["files"]

    @pytest.mark.parametrize("name", ["record", "gap", "fit", "finetune", "verdict"])
    def test_every_command_line_runs_its_step_alone(self, stage, loop, surefoot, here, name):
        loop()
        given = stage.given.pop(name)
        words = run_json(here)["steps"][name]["command"].split()
        assert words[:2] == ["surefoot", name]
        surefoot(*words[1:])
        assert stage.given[name] == given


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ((), "give a log of the robot, or a virtual robot that records one"),
            (("nowhere.parquet",), "nowhere.parquet does not exist"),
            (("--twin", "nobody"), "no virtual robot 'nobody'"),
            (("--twin", "go2-worn", "--robot", HEXAPOD), "go2-worn is of go2, and not of the hexapod"),
            (("--twin", "go2-worn", "--policy", "trot"), "trot is built in and has no network to fine-tune"),
            (("--twin", "go2-worn", "--minutes", 0), "fine-tuning needs a time above 0"),
            (("--twin", "go2-worn", "--seed", -1), "the seed is -1"),
            (("a.parquet", "a.parquet", "--policy", "walk"), "a log is given twice"),
            (("a.parquet", "--policy", "walk", "--rollouts", 3), "--rollouts and --seconds are for a virtual robot"),
        ],
    )
    def test_in_one_sentence_before_any_work(self, stage, surefoot, here, go2, more, says):
        write_log(log_of(go2), here / "a.parquet")
        code, _, err = surefoot("loop", *more, "--out", "run")
        assert code == 2
        assert says in err
        assert err.count("\n") == 1
        assert not (here / "run").exists()

    @pytest.mark.parametrize("joined", [False, True])
    def test_a_log_that_another_virtual_robot_recorded(self, stage, surefoot, here, go2, joined):
        own = {"kind": "virtual robot", "twin": "go2-worn", "twin_hash": load_twin("go2-worn").hash}
        source = {"kind": "several logs", "logs": [{"file": "b.parquet", "source": own}]} if joined else own
        write_log(log_of(go2, source=source), here / "a.parquet")
        code, _, err = surefoot("loop", "a.parquet", "--policy", "walk", "--twin", "go2-identified", "--out", "run")
        assert code == 2
        assert (
            "a.parquet was recorded by go2-worn and not by go2-identified; give the virtual robot that recorded it"
            in err
        )
        assert err.count("\n") == 1
        assert not (here / "run").exists()
        assert surefoot("loop", "a.parquet", "--policy", "walk", "--twin", "go2-worn", "--out", "run")[0] == 0

    @pytest.mark.parametrize(
        "source", [None, "a day in June", {"kind": "csv"}, {"kind": "several logs", "logs": [3, {"source": None}]}]
    )
    def test_a_log_that_no_virtual_robot_recorded_goes_with_any(self, stage, surefoot, here, go2, source):
        write_log(log_of(go2, source=source), here / "a.parquet")
        assert surefoot("loop", "a.parquet", "--policy", "walk", "--twin", "go2-worn", "--out", "run")[0] == 0

    def test_another_virtual_robot_of_the_same_name(self, stage, surefoot, here, go2):
        write_log(
            log_of(go2, source={"kind": "virtual robot", "twin": "go2-worn", "twin_hash": "0" * 64}), here / "a.parquet"
        )
        code, _, err = surefoot("loop", "a.parquet", "--policy", "walk", "--twin", "go2-worn", "--out", "run")
        assert code == 2
        assert "was recorded by another go2-worn, with other values, and not by go2-worn" in err

    def test_without_pytorch(self, loop, here, monkeypatch):
        monkeypatch.setattr("surefoot.pipeline.finetune.TRAINING", ("no_such_module",))
        code, _, err = loop()
        assert code == 2
        assert "pip install 'surefoot[train]'" in err
        assert not (here / "run" / "run.json").exists()


class TestAnyRobot:
    def test_a_hexapod_with_its_own_policy(self, stage, surefoot, here):
        hexapod = load_robot(HEXAPOD)
        write_mlp(here / "mine.onnx", hexapod.contract, layers(hexapod.contract))
        stage.policy = (here / "mine.onnx").read_bytes()
        (here / "twin.yaml").write_text(f"robot: {HEXAPOD}\n")
        code, _, err = surefoot("loop", "--twin", "twin.yaml", "--policy", "mine.onnx", "--out", "run")
        assert (code, err) == (0, "")
        assert stage.robot.hash == hexapod.hash


class TestReal:
    def test_a_recording_that_is_too_short_ends_at_the_doctor(self, surefoot, here, monkeypatch):
        """The first verbs themselves, on any machine in seconds."""
        monkeypatch.setattr("surefoot.pipeline.loop.require_torch", lambda: None)
        words = ("loop", "--twin", "go2-identified", "--rollouts", 2, "--seconds", 2, "--out", "run", "--threads", 1)
        code, out, err = surefoot(*words)
        assert (code, err) == (2, "")
        assert "record: 2 episodes, 4 s from the virtual robot go2-identified" in out
        assert "doctor: not usable: " in out
        assert "record" in (here / "run" / "doctor" / "doctor.json").read_text()
        first = (here / "run" / "record" / "log.parquet").stat().st_mtime_ns
        code, out, _ = surefoot(*words)
        assert code == 2
        assert out.count("done before") == 2
        assert (here / "run" / "record" / "log.parquet").stat().st_mtime_ns == first
