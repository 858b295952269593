"""`surefoot gap` as a user meets it: the page, the figures, the recording, and one sentence for each way in
which a log is not enough.
"""

import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
from plant import scaled, taken
from robot_files import HEXAPOD
from test_report import HOSTILE, checked

from surefoot.fit.diagnose import Cause, Diagnosis
from surefoot.gap import COSTS, Measured, measure, schedule_of, scores
from surefoot.gap.channels import PUBLISHED
from surefoot.logs import RobotLog, record, write_log
from surefoot.logs.doctor import check_log
from surefoot.policy.agents import make_agent
from surefoot.report.gap_figures import joint_torques, torque_panels, typical_piece
from surefoot.report.gap_page import gap_page
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin, load_twin

POLICIES = {"go2": "walk", "hexapod": "trot"}
FOUND = Diagnosis(
    "it is a spring: it closes 93% of the gap",
    "sure",
    (
        Cause(
            "a torque that depends on position",
            "spring",
            "physics",
            0.93,
            0.02,
            (("spring[calf]", 0.0, 11.7, "N·m/rad"), ("delay_s", 0.0, 0.0, "s")),
            "the gap falls",
        ),
        Cause(HOSTILE, "friction", "numbers", 0.2, 0.2, (), HOSTILE),
    ),
    "all legs alike",
    60,
    1200.0,
    "physics is missing",
    (),
    {"delay_s": 0.003, "spring_stiffness_nm_per_rad": 11.7},
)
NOTHING = Diagnosis("no measurable gap: 0.012 against a floor of 0.013", "sure", (), "nowhere", 0, 0.0)


def walked(robot: Robot, rollouts: int = 6, seconds: float = 2.5, seed: int = 1, **parameters: object) -> RobotLog:
    return record(
        Twin("made", Physics(robot, parameters)),
        POLICIES[robot.name],
        rollouts=rollouts,
        seconds=seconds,
        seed=seed,
        threads=1,
    )


@pytest.fixture(scope="module")
def log(robot) -> RobotLog:
    """A robot whose joints rub more than the simulator's."""
    return walked(robot, dry_friction_nm=0.6, delay_s=0.008)


@pytest.fixture(scope="module")
def measured(robot, log) -> Measured:
    return measure(
        log, schedule_of(log, robot), robot, lambda n: make_agent(POLICIES[robot.name], robot, n), threads=1, runs=3
    )


@pytest.fixture(scope="module")
def page(robot, log, measured) -> str:
    return gap_page(
        measured,
        FOUND,
        check_log(log, robot),
        log,
        robot,
        {"seed": 0, "command": "surefoot gap"},
        HOSTILE,
        scores(measured),
        follow="surefoot evaluate POLICY --twin SIMULATOR",
    )


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


class TestPage:
    def test_it_is_one_whole_file_that_asks_for_nothing(self, page) -> None:
        outline = checked(page)
        assert "<script" not in page
        assert len(page.encode()) < 1_500_000
        assert outline.headings.count("h2") >= 7

    def test_headline_floor_and_verdict(self, page, measured) -> None:
        said = text_of(page)
        assert "a measurable gap" in said
        assert "robot to itself" in said
        assert "simulator to itself" in said
        assert "measurable above" in said
        assert f"worst: {measured.gap.channels[measured.gap.worst[0]].name}" in said

    def test_every_joint_channel_and_cost_is_there(self, page, robot) -> None:
        said = text_of(page)
        for name in (*robot.contract.joints, *PUBLISHED, *COSTS):
            assert name in said

    def test_causes_and_the_next_command(self, page) -> None:
        said = text_of(page)
        assert "<code>surefoot evaluate POLICY --twin SIMULATOR</code>" in page
        assert "physics is missing" in page
        assert "spring[calf]: 0 → 11.7 N·m/rad" in said
        assert "delay_s" not in said  # what did not change is not worth a line
        assert "93 % of the gap; 0.02 × spread remain" in said
        assert "physics is missing" in said

    def test_without_diagnosis_doctor_and_scores(self, robot, log, measured) -> None:
        page = gap_page(measured, None, None, log, robot, {}, "t")
        checked(page)
        assert "No cause was looked for." in page
        assert "By other distances" not in page
        assert "What the doctor says" not in page

    def test_no_gap_reads_as_none(self, robot, log, measured) -> None:
        gap = dataclasses.replace(measured.gap, total=measured.gap.total_floor, distance=measured.gap.floor)
        page = gap_page(dataclasses.replace(measured, gap=gap), NOTHING, None, log, robot, {}, "t")
        checked(page)
        assert "no measurable gap" in page
        assert "a measurable gap" not in page.replace("no measurable gap", "")
        assert page.count('class="h"') >= len(gap.channels)  # every cell is hatched
        assert f"{len(gap.channels)} of {len(gap.channels)} lie within" in page

    def test_the_cost_that_decides_is_in_the_headline(self, robot, log, measured) -> None:
        found = scores(measured)
        within = tuple(dataclasses.replace(score, limit=score.value + 1) for score in found)
        page = gap_page(measured, None, None, log, robot, {}, "t", within, "mmd")
        assert "Gap by mmd" in page
        assert "no measurable gap" in page


class TestFigures:
    def test_the_typical_piece_is_neither_the_best_nor_the_worst(self, robot, log, measured) -> None:
        side = measured.robot
        shifted = side.samples.copy()
        shifted[side.piece == 3] += 50 * side.spread.astype(np.float32)
        assert typical_piece(dataclasses.replace(measured, robot=dataclasses.replace(side, samples=shifted))) != 3
        assert 0 <= typical_piece(measured) < 6

    def test_a_torque_panel_for_each_kind_of_joint_with_its_limits(self, robot, measured) -> None:
        panels = torque_panels(measured, robot)
        assert len(panels) == 3  # both robots have three joints a leg
        assert all('class="k3"' in panel for panel in panels)
        said = " ".join(panels)
        assert ("calf_joint" if robot.name == "go2" else "tibia") in said

    def test_torque_is_the_servo_s_law_with_the_target_before_and_never_across_pieces(
        self, robot, log, measured
    ) -> None:
        contract, schedule = robot.contract, measured.simulator.schedule
        speed, torque = joint_torques(measured, measured.robot.samples, robot)
        follows = schedule.counted[:, 1:] & schedule.counted[:, :-1]
        assert len(torque) == follows.sum()
        row = schedule.rows[0].start + int(np.argmax(follows[0])) + 1  # the first tick whose predecessor counts too
        target = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * log.action[row - 1]
        expected = (
            np.array(contract.kp_nm_per_rad) * (target - log.joint_position_rad[row])
            - np.array(contract.kd_nms_per_rad) * log.joint_velocity_rad_s[row]
        )
        np.testing.assert_allclose(torque[0], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(speed[0], log.joint_velocity_rad_s[row], rtol=1e-5)


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

        def answer(*arguments: object, **options: object) -> Diagnosis:
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
        one, two = ((here / name / "gap.json").read_text() for name in ("one", "two"))
        assert one.replace("--out one", "--out two") == two
        assert json.loads(one)["diagnosis"] is None

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

        measured = measure(short, schedule_of(short, go2), go2, lambda n: make_agent("walk", go2, n), threads=1, runs=2)
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
            says=("the policy falls in", "of the simulated episodes on go2", "surefoot evaluate"),
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
