"""`surefoot loop`: the order of its steps, what is skipped, what goes on after a kill, how it ends. Verbs are stand-ins
that parse the words that they are given as the real ones do, and leave made-up files.
"""

import functools
import importlib
import json
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import save_file
from support.loop_files import (
    ADAPTED_GAP,
    LEFT,
    doctor_figures,
    evaluation,
    fit_figures,
    gap_figures,
    log_of,
    verdict_figures,
)
from support.policy_files import layers
from support.robot_files import GO2, HEXAPOD

from surefoot.adapt import Adaptation, Fitted, write_adaptation
from surefoot.cli.loop_steps import VIDEO, WALKS, blamed
from surefoot.errors import FitError, SurefootError
from surefoot.files import check_folder, outputs, write_text
from surefoot.logs import write_log
from surefoot.pipeline.gap import GapSettings
from surefoot.policy import write_mlp
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin

main = importlib.import_module("surefoot.cli.main")
ALL = ["record", "doctor", "gap", "fit", "finetune", "verdict", "video"]


class Stage:
    """Stand-ins for the verbs: `called` holds their names in order, `given` their arguments; what they find
    can be changed.
    """

    def __init__(self, go2, monkeypatch):
        self.go2, self.called, self.given, self.fails = go2, [], {}, {}
        self.doctor, self.gap, self.fit, self.verdict = (
            doctor_figures(),
            gap_figures(),
            fit_figures(),
            verdict_figures(),
        )
        self.evaluation, self.tuned = {"before": evaluation(1.2, 0.1), "after": evaluation(0.2, 0.05)}, b"a policy"
        self.trained_min, self.films = 0.0, True
        for name in ("record", "doctor", "gap", "fit", "finetune", "verdict"):
            self._replace(name, monkeypatch)
        monkeypatch.setattr("surefoot.cli.loop_video.film_both", self._film)
        monkeypatch.setattr("surefoot.cli.loop.TRAINING", ())

    def _replace(self, name: str, monkeypatch) -> None:
        verb = main.VERBS[name]
        module = importlib.import_module(verb.module)
        real = getattr(module, verb.function)

        @functools.wraps(real)
        def stand_in(*positional, **named):
            print(f"{name} was here")
            self.called.append(name)
            self.given[name] = positional, named
            if name in self.fails:
                raise self.fails[name]
            return getattr(self, f"_{name}")(*positional, **named)

        monkeypatch.setattr(module, verb.function, stand_in)

    def _record(self, twin, out, **_):
        write_log(log_of(self.go2), out)

    def _doctor(self, log, html, json, **_):
        assert json
        assert log.is_file()
        print(__import__("json").dumps(self.doctor))
        html.write_text("<p>doctor</p>")
        return self.doctor["exit_code"]

    def _gap(self, log, out, **_):
        self._write(out, gap=self.gap)

    def _fit(self, log, *, out, **_):
        self._write(out, fit=self.fit)
        knob = Fitted("delay_s", "delay_s", (), "s", 0.0, 0.004, (0.003, 0.005), (0.0, 0.06))
        write_adaptation(
            out / "adaptation.json", Adaptation(self.go2.name, self.go2.hash, "static", (knob,), {"delay_s": 0.004})
        )
        (out / "simulator.yaml").write_text("robot: go2\n")

    def _finetune(self, policy, adaptation, out, options, **_):
        self.trained_min = max(self.trained_min, options.minutes + 0.05)  # an iteration more, and nothing is taken back
        save_file({}, out / "checkpoint.safetensors", {"state": json.dumps({"elapsed_s": 60 * self.trained_min})})
        (out / "policy.onnx").write_bytes(self.tuned)
        (out / "eval.json").write_text(json.dumps(self.evaluation))

    def _verdict(self, *, out, **_):
        self._write(out, verdict=self.verdict)
        return 0 if self.verdict["verdict"] == "GO" else 3

    def _film(self, out, twin, before, after, seed):
        self.called.append("video")
        self.given["video"] = (out, twin, before, after, seed), {}
        if "video" in self.fails:
            raise self.fails["video"]
        side = {"path_m": [[0, 0], [1, 0.2]], "falls": 0}
        says = "10 s" if self.films else "none: no picture can be drawn on this machine"
        walks = {"says": says, "place": twin, "commanded_m": [[0, 0], [1, 0]], "before": side, "after": side}
        write_text(out / WALKS, json.dumps(walks))
        if self.films:
            write_text(out / VIDEO, "frames")

    def _write(self, out: Path, **figures: dict) -> None:
        for name, content in figures.items():
            (out / f"{name}.json").write_text(json.dumps(content))
            (out / f"{name}.html").write_text(f"<p>{name}</p>")


@pytest.fixture
def stage(go2, monkeypatch) -> Stage:
    monkeypatch.setitem(main.VERBS, "loop", main.Verb("surefoot.cli.loop", "loop", ""))
    return Stage(go2, monkeypatch)


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
        for words in (
            "record: 4 episodes, 4 s from the virtual robot go2-identified",
            "gap: 0.192, 16 × its floor; looks like friction",
            "fit: gap 0.192 → 0.012 (floor 0.011; held out 0.013), 1 parameters",
            "finetune: drift 1.20 → 0.20 m, velocity error 0.100 → 0.050 m/s",
            "verdict: GO",
            "report: run/report.html; video: run/video/before_after.mp4",
        ):
            assert words in out
        assert "was here" not in out
        assert (here / "run" / "gap" / "log.txt").read_text() == "gap was here\n"
        assert stage.given["verdict"][1]["twin"] == "go2-identified"
        assert stage.given["video"][0][1:4] == ("go2-identified", "walk", "run/finetune/policy.onnx")
        assert "GO" in (here / "run" / "report.html").read_text()

    def test_a_log_of_ones_own(self, stage, loop, here, go2):
        write_log(log_of(go2), here / "day1.parquet")
        code, out, _ = loop("day1.parquet", "--minutes", 2.5, "--seed", 3, "--threads", 1, "--policy", "walk")
        assert code == 0
        assert stage.called == ALL[1:]
        asked = stage.given["gap"][1]
        assert (asked["log"], asked["settings"]) == (Path("day1.parquet"), GapSettings(seed=3, threads=1))
        assert stage.given["finetune"][1]["options"].minutes == 2.5
        assert stage.given["finetune"][1]["adaptation"] == Path("run/fit")
        assert stage.given["verdict"][1]["twin"] is None
        assert stage.given["video"][0][1] == "run/fit/simulator.yaml"  # no virtual robot but the fitted one
        assert "record" not in out

    def test_the_policy_is_the_one_that_the_log_names(self, stage, loop, here, go2):
        write_log(log_of(go2, policy="walk"), here / "day1.parquet")
        assert loop("day1.parquet")[0] == 0
        assert stage.given["finetune"][1]["policy"] == "walk"

    def test_several_logs_become_one(self, stage, loop, here, go2):
        for seed, name in enumerate("ab"):
            write_log(log_of(go2, seed=seed), here / f"{name}.parquet")

        code, out, _ = loop("a.parquet", "b.parquet", "--policy", "walk")
        assert code == 0
        assert "join: 8 episodes, 8 s from 2 logs" in out
        assert stage.given["fit"][0] == (Path("run/join/log.parquet"),)

    def test_the_fit_searches_what_is_to_blame(self, stage, loop):
        stage.gap["diagnosis"]["free"] = ["base_mass_kg", "base_com_offset_m"]
        loop()
        assert stage.given["fit"][1]["options"].free == ("base_mass_kg", "base_com_offset_m")

    def test_blame(self):
        found = gap_figures()
        assert blamed(found) == ()
        found["diagnosis"]["free"] = ["floor_friction"]
        assert blamed(found) == ("floor_friction",)
        found["diagnosis"]["sure"] = "unsure"
        assert blamed(found) == ()
        assert blamed({"diagnosis": None}) == ()


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

    def test_a_file_that_was_changed_or_is_gone_is_made_again(self, stage, loop, here):
        loop()
        (here / "run" / "gap" / "gap.html").unlink()
        (here / "run" / "verdict" / "verdict.json").write_text("{}")
        stage.called.clear()
        assert loop()[0] == 0
        assert stage.called == ["gap", "verdict"]

    def test_more_minutes_go_on_with_the_training_and_all_that_follows(self, stage, loop, here):
        loop()
        stage.called.clear()
        stage.tuned = b"a better policy"
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
                "trained for 6.0 minutes before, and kept though --minutes asks for 2 (to train anew, remove"
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
        stage.fit["gaps"]["held_out_after"] = ADAPTED_GAP | {"total": 0.05, "measurable": True}
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
        assert f"holds a loop with other inputs ({named}); give another --out, or --restart" in err
        assert stage.called == []
        assert loop("--twin", "go2-identified", *more, "--restart")[0] == 0
        assert stage.called == ALL
        assert (here / "run" / "notes.txt").read_text() == "mine"

    def test_restart_spares_an_input_that_an_earlier_loop_made(self, stage, loop, here):
        loop()
        shutil.copy(GO2 / "policies" / "walk.onnx", here / "run" / "finetune" / "policy.onnx")
        code, _, err = loop("--twin", "go2-identified", "--policy", "run/finetune/policy.onnx", "--restart")
        assert code == 2
        assert "lies in a folder that --restart removes" in err
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
        stage.doctor = doctor_figures(
            2,
            [
                {
                    "code": "sign",
                    "severity": "error",
                    "title": "FL_hip_joint is turned round",
                    "why": "w",
                    "fix": "negate it",
                }
            ],
        )
        code, out, _ = loop()
        assert code == 2
        assert stage.called == ALL[:2]
        assert (
            "doctor: not usable: FL_hip_joint is turned round; negate it (all findings: run/doctor/doctor.html)" in out
        )
        assert run_json(here)["outcome"]["exit_code"] == 2
        assert "negate it" in (here / "run" / "report.html").read_text()

    def test_warnings_do_not_end_it(self, stage, loop):
        stage.doctor = doctor_figures(
            1, [{"code": "coverage", "severity": "warning", "title": "no turns", "why": "w", "fix": "turn"}]
        )
        code, out, _ = loop()
        assert code == 0
        assert "usable with care, 4.2 of 4.0 minutes that a fit needs: no turns" in out

    def test_no_measurable_gap(self, stage, loop, here):
        stage.gap["gap"] |= {"measurable": False, "total": 0.011}
        stage.gap["diagnosis"]["causes"] = []
        code, out, _ = loop()
        assert code == 4
        assert stage.called == ALL[:3]
        assert "no measurable gap" in out
        assert "no measurable gap" in (here / "run" / "report.html").read_text()
        stage.called.clear()
        assert loop()[0] == 4
        assert stage.called == []

    def test_a_fit_that_came_no_nearer(self, stage, loop, here):
        stage.fit["gaps"]["after"] = ADAPTED_GAP | {"total": 0.3, "measurable": True}
        code, out, _ = loop()
        assert code == 3
        assert stage.called == ALL[:4]
        assert "no nearer to the robot" in out
        assert "came no nearer" in (here / "run" / "report.html").read_text()

    def test_no_go_completes_the_report(self, stage, loop, here):
        stage.verdict = verdict_figures(go=False)
        code, out, _ = loop()
        assert code == 3
        assert stage.called == ALL
        assert "verdict: NO-GO, adapted: more falls, and 1 more (" in out
        assert "Keep the old policy on the robot." in (here / "run" / "report.html").read_text()

    def test_a_go_beside_a_gap_that_is_left_says_so(self, stage, loop, here):
        assert "but the fit" not in loop()[1]
        stage.verdict = verdict_figures(fit=LEFT)
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
        stage.evaluation = {"before": evaluation(1.2, 0.1, falls=3, pushed=9), "after": evaluation(0.2, 0.05, pushed=2)}
        says = (
            "velocity error 0.100 → 0.050 m/s, falls 6 → 0 of 56, falls when pushed 9 → 2 of 40 in the fitted simulator"
        )
        assert says in loop()[1]

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
        stage.evaluation = {"before": evaluation(1.2, 0.1), "after": evaluation(0.2, 0.05), "choice": choice}
        told = " ".join(loop()[1].split())
        assert says in told
        assert ("training made it worse" in told) == bool(says)

    def test_a_policy_that_always_falls_still_has_its_sentence(self, stage, loop):
        stage.evaluation = {"before": evaluation(None, None), "after": evaluation(0.2, 0.05)}
        assert "drift (fell) → 0.20 m" in loop()[1]


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

    def test_every_command_line_runs_its_step_alone(self, stage, loop, surefoot, here):
        loop("--twin", "go2-identified", "--threads", 2)
        given = dict(stage.given)
        for name in ALL[:-1]:
            words = run_json(here)["steps"][name]["command"].split()
            assert words[:2] == ["surefoot", name]
            surefoot(*words[1:])
            assert stage.given[name] == given[name]


class TestRefused:
    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ((), "give a log of the robot, or a virtual robot with --twin"),
            (("nowhere.parquet",), "nowhere.parquet does not exist"),
            (("--twin", "nobody"), "no virtual robot 'nobody'"),
            (("--twin", "go2-worn", "--robot", HEXAPOD), "go2-worn is of go2, and not of the hexapod"),
            (("--twin", "go2-worn", "--policy", "trot"), "trot is built in and has no network to fine-tune"),
            (("--twin", "go2-worn", "--minutes", 0), "minutes is 0"),
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
            "a.parquet was recorded by go2-worn and --twin gives go2-identified; give the virtual robot that"
            " recorded it" in err
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
        assert "was recorded by another go2-worn, with other values, and --twin gives go2-worn" in err

    def test_without_pytorch(self, stage, loop, here, monkeypatch):
        monkeypatch.setattr("surefoot.cli.loop.TRAINING", ("no_such_module",))
        code, _, err = loop()
        assert code == 2
        assert "pip install 'surefoot[train]'" in err
        assert stage.called == []


class TestAnyRobot:
    def test_a_hexapod_with_its_own_policy(self, stage, surefoot, here, monkeypatch):
        hexapod = load_robot(HEXAPOD)
        stage.go2 = hexapod
        write_mlp(here / "mine.onnx", hexapod.contract, layers(hexapod.contract))
        (here / "twin.yaml").write_text(f"robot: {HEXAPOD}\n")
        code, _, err = surefoot("loop", "--twin", "twin.yaml", "--policy", "mine.onnx", "--out", "run")
        assert (code, err) == (0, "")
        assert load_robot(stage.given["fit"][1]["robot"]).hash == hexapod.hash


class TestReal:
    def test_a_recording_that_is_too_short_ends_at_the_doctor(self, surefoot, here, monkeypatch):
        """The first verbs themselves, on any machine in seconds."""
        monkeypatch.setitem(main.VERBS, "loop", main.Verb("surefoot.cli.loop", "loop", ""))
        monkeypatch.setattr("surefoot.cli.loop.TRAINING", ())
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
