"""`surefoot gap` as it is typed: figures, page and recording, and one sentence for each way in which a log is not
enough.
"""

import dataclasses
import json
import re
import shutil
from typing import Any

import numpy as np
import pytest
from support.diagnoses import FOUND
from support.pages import checked
from support.plant import scaled, taken
from support.robot_files import HEXAPOD
from support.walks import walked, whole_case

from surefoot.fit.diagnose import Diagnosis
from surefoot.gap import COSTS, measure
from surefoot.logs import RobotLog, write_log
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin


@pytest.fixture
def refused(surefoot, here):
    """A log is answered with one sentence that holds all parts, and nothing is written."""

    def call(log: RobotLog, *arguments: object, says: tuple[str, ...]) -> None:
        write_log(log, here / "log.parquet")
        code, out, error = surefoot("gap", "log.parquet", "--out", "gap", "--threads", "1", "--no-diagnose", *arguments)
        assert (code, out) == (2, "")
        assert re.fullmatch(r"surefoot: [^\n]+\n", error)
        for part in says:
            assert part in error
        assert not (here / "gap").exists()

    return call


@pytest.fixture(scope="module")
def short() -> RobotLog:
    """A few seconds of the nominal Go2."""
    return walked(load_robot("go2"), rollouts=4, seconds=2.5)


class TestCommand:
    def test_the_true_simulator_as_an_adaptation_leaves_no_gap(self, surefoot, here, go2) -> None:
        write_log(walked(go2, rollouts=6, action_offset_rad=0.06), here / "log.parquet")
        (here / "simulator.yaml").write_text("robot: go2\naction_offset_rad: 0.06\n")
        assert surefoot("gap", "log.parquet", "--policy", "walk", "--no-diagnose", "--out", "before")[0] == 0
        code, out, _ = surefoot(
            "gap", "log.parquet", "--policy", "walk", "--adaptation", "simulator.yaml", "--out", "after"
        )
        before, after = (json.loads((here / name / "gap.json").read_text())["gap"] for name in ("before", "after"))
        assert code == 0
        assert before["measurable"]
        assert not after["measurable"]
        assert "next:" not in out

    def test_figures_page_and_words(self, surefoot, here, go2, monkeypatch) -> None:
        """With the search for causes replaced by its answer: it has tests of its own."""
        seen: dict[str, object] = {}

        def answer(*arguments: object, **options: Any) -> Diagnosis:
            seen.update(options)
            return FOUND

        monkeypatch.setattr("surefoot.pipeline.gap.diagnose_gap", answer)
        write_log(walked(go2, rollouts=4, action_offset_rad=0.06), here / "a log.parquet")
        code, out, error = surefoot("gap", "a log.parquet", "--out", "gap", "--seed", "3", "--threads", "1")
        assert (code, error) == (0, "")
        assert seen["seed"] == 3
        for part in (
            "gap",
            "floor",
            "limit",
            "robot to itself",
            "worst channels",
            "it is a spring",
            "(sure)",
            "wrote gap/gap.json, gap/gap.html, gap/simulator.yaml",
        ):
            assert part in out
        assert "next: surefoot fit 'a log.parquet' --robot go2 --policy walk --out fit/" in out
        assert load_twin(here / "gap" / "simulator.yaml").physics.parameters["delay_s"] == (0.003,) * 12
        figures = json.loads((here / "gap" / "gap.json").read_text())
        assert figures["gap"]["measurable"] is True
        assert len(figures["gap"]["channels"]) == 36
        assert set(figures["costs"]) == set(COSTS)
        assert figures["diagnosis"]["causes"][0]["key"] == "spring"
        assert [finding["code"] for finding in figures["doctor"]["findings"] if finding["severity"] == "error"] == [
            "too-short"
        ]
        facts = figures["provenance"]
        assert facts["robot"]["hash"] == go2.hash
        assert facts["seed"] == 3
        assert len(facts["policy"]["hash"]) == len(facts["log"]["sha256"]) == 64
        assert facts["command"] == "surefoot gap 'a log.parquet' --robot go2 --policy walk --out gap --seed 3"
        checked((here / "gap" / "gap.html").read_text())

    def test_the_same_seed_gives_the_same_files_and_another_policy_is_told(self, surefoot, here, short) -> None:
        metadata = {**short.metadata, "policy_hash": "0" * 64}
        write_log(dataclasses.replace(short, metadata=metadata), here / "log.parquet")
        for name in ("one", "two"):
            code, out, _ = surefoot(
                "gap", "log.parquet", "--out", name, "--threads", "1", "--no-diagnose", "--cost", "sliced"
            )
            assert code == 0
            assert "driven by another policy (walk, 000000000000)" in out
            assert "sliced" in out
        one, two = (json.loads((here / name / "gap.json").read_text()) for name in ("one", "two"))
        for content in (one, two):  # the mark holds a hash of the file, and the command names its folder
            del content["written_by"], content["provenance"]["command"]
        assert one == two
        assert one["diagnosis"] is None

    def test_a_robot_that_is_not_a_quadruped(self, surefoot, here) -> None:
        write_log(walked(load_robot(HEXAPOD), rollouts=4), here / "log.parquet")
        code, out, error = surefoot(
            "gap", "log.parquet", "--robot", HEXAPOD, "--out", "gap", "--threads", "1", "--no-diagnose"
        )
        assert (code, error) == (0, "")
        assert "hexapod driven by trot" in out
        checked((here / "gap" / "gap.html").read_text())

    def test_rerun_recording(self, here, go2, short) -> None:
        pytest.importorskip("rerun")
        from surefoot.report.rrd import write_rrd

        measured = measure(whole_case(go2, short), threads=1, runs=2)
        write_rrd(here / "gap.rrd", measured, go2)
        content = (here / "gap.rrd").read_bytes()
        assert content[:3] == b"RRF"
        for part in (b"FL_hip_joint", b"position", b"simulator", b"command"):
            assert part in content
        assert list(here.iterdir()) == [here / "gap.rrd"]


class TestRefused:
    def test_too_little(self, refused, short) -> None:
        rows = np.concatenate([np.arange(r.start, r.start + 70) for r in short.episodes()])
        refused(taken(short, rows), says=("3.6 s of the log can be compared", "at least 5 s", "64 episodes of 4 s"))

    def test_one_episode_only(self, refused, go2) -> None:
        refused(walked(go2, rollouts=1, seconds=7.0), says=("only one episode", "record more"))

    def test_a_policy_that_falls(self, refused, short) -> None:
        refused(
            short,
            "--policy",
            "random",
            says=("the policy falls in", "of the simulated episodes on go2", "('surefoot doctor')"),
        )

    def test_no_actions(self, refused, short) -> None:
        refused(
            dataclasses.replace(short, action=np.zeros_like(short.action)),
            says=("the log has no actions", "record them"),
        )

    def test_another_robot(self, refused) -> None:
        refused(
            walked(load_robot(HEXAPOD), rollouts=2, seconds=1.0),
            "--policy",
            "walk",
            says=("of another robot (hexapod) than go2", "FL_hip_joint", "--robot"),
        )

    def test_what_the_doctor_calls_unusable(self, refused, go2) -> None:
        log = walked(go2, rollouts=12)
        refused(
            scaled(log, "joint_position_rad", 180 / np.pi, ("unit",)).log,
            says=("cannot be used: ", "surefoot doctor log.parquet --robot go2"),
        )

    def test_a_policy_that_is_not_at_hand(self, refused, short) -> None:
        named = dataclasses.replace(short, metadata={**short.metadata, "policy": "../secret"})
        refused(named, says=("names the policy '../secret'", "--policy", "walk"))
        refused(dataclasses.replace(short, metadata={}), says=("names no policy", "--policy"))
        refused(short, "--policy", "wolk", says=("no policy 'wolk'", "walk"))

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--cost", "waserstein"), ("unknown cost", "wasserstein")),
            (("--cost", "match-s-20"), ("does not hold quaternion, base_position_m",)),
            (("--settle-s", "-1"), ("settle_s is -1",)),
            (("--robot", "go3"), ("no robot 'go3'",)),
            (("--seed", "-4"), ("the seed is -4",)),
        ],
    )
    def test_options(self, refused, short, arguments, says) -> None:
        refused(short, *arguments, says=says)

    def test_rerun_that_is_not_installed(self, refused, short, monkeypatch) -> None:
        monkeypatch.setattr("surefoot.report.rrd.find_spec", lambda name: None)
        refused(short, "--rrd", says=("pip install 'surefoot[view]'",))

    def test_a_place_where_nothing_can_be_written(self, surefoot, here, short) -> None:
        write_log(short, here / "log.parquet")
        shutil.copy(here / "log.parquet", here / "gap")
        code, _, error = surefoot("gap", "log.parquet", "--out", "gap")
        assert code == 2
        assert "gap is a file, not a folder" in error
