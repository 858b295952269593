"""The doctor: every planted fault is found with its joint and time, and a clean log raises nothing."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
import yaml
from support import plant
from support.policy_files import layers
from support.robot_files import HEXAPOD
from support.walks import built_in

from surefoot.errors import LogError
from surefoot.logs import RobotLog, read_log, record, write_log
from surefoot.logs.doctor import LogReport, check_log
from surefoot.logs.doctor.findings import ORDER
from surefoot.policy import OnnxPolicy, write_mlp
from surefoot.robot import Robot, load_robot
from surefoot.sim import load_twin
from surefoot.sim.twin import shipped_twins

NEEDED_S = 60.0
NOISY = {
    "delay_s": 0.005,
    "dry_friction_nm": 0.1,
    "viscous_friction_nms": 0.05,
    "torque_noise_nm": 0.2,
    "encoder_noise_rad": 0.001,
    "velocity_noise_rad_s": 0.05,
    "gyro_noise_rad_s": 0.01,
    "gravity_noise": 0.005,
    "time_jitter_s": 0.0005,
}
PAIRS = {"go2": ("FL_thigh_joint", "RR_thigh_joint"), "hexapod": ("L1.coxa", "R2.coxa")}


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> dict[str, tuple[RobotLog, Robot]]:
    """A clean log of a noisy Go2 and of a noisy hexapod, as they come back from a file."""
    folder = tmp_path_factory.mktemp("doctor")
    (folder / "hexapod.yaml").write_text(yaml.safe_dump({"robot": str(HEXAPOD), **NOISY}))
    logs = {}
    for name, twin in (("go2", load_twin("go2-identified")), ("hexapod", load_twin(folder / "hexapod.yaml"))):
        write_log(record(twin, "trot", rollouts=20, seconds=4.0, seed=1), folder / f"{name}.parquet")
        logs[name] = (read_log(folder / f"{name}.parquet"), twin.robot)
    return logs


@pytest.fixture(scope="module")
def go2_log(clean) -> RobotLog:
    return clean["go2"][0]


@pytest.fixture(scope="module")
def walk(tmp_path_factory, go2) -> tuple[RobotLog, OnnxPolicy]:
    """A log of a policy, and that policy; an untrained one does, since only what it says from what it sees
    is looked at.
    """
    path = tmp_path_factory.mktemp("policy") / "policy.onnx"
    write_mlp(path, go2.contract, layers(go2.contract))
    log = record(load_twin("go2-identified"), str(path), rollouts=4, seconds=2.0, seed=1)
    return log, OnnxPolicy.load(path)


def codes(diagnosis: LogReport, *severities: str) -> set[str]:
    return {finding.code for finding in diagnosis.findings if not severities or finding.severity in severities}


def quietly(log: RobotLog, robot: Robot) -> LogReport:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return check_log(log, robot, needed_s=NEEDED_S)


class TestCleanLogs:
    @pytest.mark.parametrize("name", ["go2", "hexapod"])
    def test_nothing_above_a_note(self, clean, name) -> None:
        log, robot = clean[name]
        diagnosis = quietly(log, robot)
        assert codes(diagnosis, "warning", "error") == set()
        assert diagnosis.exit_code == 0
        assert diagnosis.usable_s > NEEDED_S
        assert diagnosis.usable.mean() > 0.9

    # Not yet of humanoids: of arms and waists that hardly move the doctor says what is not so.
    @pytest.mark.parametrize("twin", [name for name in shipped_twins() if not name.startswith("g1")])
    def test_nothing_above_a_note_on_a_shipped_twin(self, twin) -> None:
        """One seed here; bench/doctor.py runs twenty."""
        loaded = load_twin(twin)
        diagnosis = quietly(record(loaded, built_in(loaded.robot), rollouts=16, seconds=4.0, seed=2), loaded.robot)
        assert codes(diagnosis, "warning", "error") <= {"too-short"}

    @pytest.mark.parametrize("name", ["go2", "hexapod"])
    def test_delay_is_a_small_part_of_a_period(self, clean, name) -> None:
        log, robot = clean[name]
        delay = check_log(log, robot).delay
        assert delay is not None
        assert 0 <= delay.low_s <= delay.seconds <= delay.high_s < robot.contract.control_dt_s

    def test_a_known_delay_lies_in_its_interval(self, tmp_path) -> None:
        (tmp_path / "slow.yaml").write_text(yaml.safe_dump({"robot": str(HEXAPOD), **NOISY, "delay_s": 0.06}))
        twin = load_twin(tmp_path / "slow.yaml")
        delay = check_log(record(twin, "trot", rollouts=8, seconds=4.0), twin.robot).delay
        assert delay is not None
        assert delay.seconds == pytest.approx(0.06, abs=0.008)
        assert delay.low_s - 0.005 <= 0.06 <= delay.high_s + 0.005

    def test_coverage_sums_to_one(self, go2_log, go2) -> None:
        diagnosis = check_log(go2_log, go2)
        assert diagnosis.coverage.shape == (3, 3, 3)
        assert diagnosis.coverage.sum() == pytest.approx(1)

    def test_a_log_at_ten_times_the_rate(self, go2_log, go2) -> None:
        """Rows repeated ten times by interpolation: only the rate is worth a word."""
        fast = _faster(go2_log, 10)
        diagnosis = check_log(fast, go2, needed_s=NEEDED_S)
        assert codes(diagnosis, "warning", "error") == {"rate"}
        (finding,) = (f for f in diagnosis.findings if f.code == "rate")
        assert "every 10th row" in finding.fix
        assert diagnosis.exit_code == 1


class TestPlantedFaults:
    @pytest.mark.parametrize("fault", list(plant.faults(load_robot("go2"), PAIRS["go2"], np.random.default_rng(0))))
    def test_on_go2(self, clean, fault) -> None:
        self.check(clean, "go2", fault)

    @pytest.mark.parametrize(
        "fault",
        [
            "swapped in all channels",
            "swapped in position",
            "swapped in action",
            "left and right mirrored",
            "left and right exchanged",
            "sign flipped in all channels",
            "sign flipped in position and velocity",
            "sign flipped in velocity",
            "sign flipped in action",
            "degrees",
            "velocity in rpm",
            "action scale × 2",
            "action scale × 1/2",
            "action offset 0.3 rad",
            "motion 140 ms late",
            "frozen for 1 s",
        ],
    )
    def test_on_hexapod(self, clean, fault) -> None:
        self.check(clean, "hexapod", fault)

    def check(self, clean, name: str, fault: str) -> None:
        log, robot = clean[name]
        planted = plant.faults(robot, PAIRS[name], np.random.default_rng(0))[fault](log)
        diagnosis = quietly(planted.log, robot)
        assert plant.found(planted, diagnosis.findings), [(f.code, f.joints, f.spans) for f in diagnosis.findings]
        assert [f.title for f in plant.false_alarms(planted, diagnosis.findings)] == []
        for finding in plant.found(planted, diagnosis.findings):
            assert finding.evidence
            assert finding.why
            assert finding.fix
            assert "\n" not in finding.title

    def test_the_channel_at_fault_is_named(self, go2_log, go2) -> None:
        for channel, word in ((plant.POSITION, "position"), (plant.VELOCITY, "velocity"), (plant.ACTION, "action")):
            for planted in (
                plant.flipped(go2_log, "RR_calf_joint", (channel,)),
                plant.swapped(go2_log, *PAIRS["go2"], (channel,)),
            ):
                (finding,) = plant.found(planted, check_log(planted.log, go2).findings)
                assert word in finding.title
                assert not any(other in finding.title for other in {"position", "velocity", "action"} - {word})

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda velocity: 0 * velocity, "constant-channel"),
            (lambda velocity: np.clip(velocity, -1.0, 1.0), "clipped-channel"),
            (lambda velocity: np.round(velocity), "coarse-channel"),
            (lambda velocity: np.where(np.arange(len(velocity)) == 7, np.nan, velocity), "not-a-number"),
            (lambda velocity: 2.5 * velocity, "velocity-scale"),
            (lambda velocity: np.roll(velocity, 40), "position-velocity"),
            (lambda velocity: np.rad2deg(velocity), "unit"),
        ],
    )
    def test_a_finding_knows_its_channel(self, go2_log, go2, change, code) -> None:
        velocity = go2_log.joint_velocity_rad_s.copy()
        velocity[:, 4] = change(velocity[:, 4])
        report = check_log(dataclasses.replace(go2_log, joint_velocity_rad_s=velocity), go2)
        found = [finding for finding in report.findings if finding.code == code]
        assert {finding.channel for finding in found} == {"velocity"}
        assert LogReport.from_dict(report.to_dict()).findings == report.findings

    def test_two_faults_at_once(self, go2_log, go2) -> None:
        both = plant.flipped(plant.swapped(go2_log, "FL_hip_joint", "RR_hip_joint").log, "FR_calf_joint").log
        diagnosis = check_log(both, go2, needed_s=NEEDED_S)
        assert {(f.code, f.joints) for f in diagnosis.findings if f.severity == "error"} == {
            ("swapped-joints", ("FL_hip_joint", "RR_hip_joint")),
            ("flipped-sign", ("FR_calf_joint",)),
        }

    def test_some_episodes_only(self, go2_log, go2) -> None:
        """Velocities of another joint in three episodes: those, and no others, are named."""
        velocity = go2_log.joint_velocity_rad_s.copy()
        column = go2_log.joints.index("FL_calf_joint")
        rows = np.isin(go2_log.episode, [3, 4, 5])
        velocity[rows, column] = -velocity[rows, column]
        diagnosis = check_log(plant.changed(go2_log, joint_velocity_rad_s=velocity), go2)
        (finding,) = (f for f in diagnosis.findings if f.code == "position-velocity")
        assert finding.joints == ("FL_calf_joint",)
        assert {span.episode for span in finding.spans} == {3, 4, 5}

    def test_without_an_imu(self, go2_log, go2) -> None:
        """A calf that bends the wrong way leaves its range; the feet cannot be asked."""
        blind = dataclasses.replace(go2_log, gyro_rad_s=None, gravity=None)
        assert codes(check_log(blind, go2, needed_s=NEEDED_S), "warning", "error") == set()
        planted = plant.flipped(blind, "FL_calf_joint")
        assert plant.found(planted, check_log(planted.log, go2).findings)

    def test_orientation_from_a_quaternion(self, go2_log, go2) -> None:
        """The same fall is found where the log holds an orientation instead of gravity."""
        fallen = plant.fall(go2_log)
        g = fallen.log.gravity
        roll, pitch = np.arctan2(-g[:, 1], -g[:, 2]), np.arcsin(np.clip(g[:, 0], -1, 1))
        quaternion = np.stack(
            [
                np.cos(roll / 2) * np.cos(pitch / 2),
                np.sin(roll / 2) * np.cos(pitch / 2),
                np.cos(roll / 2) * np.sin(pitch / 2),
                -np.sin(roll / 2) * np.sin(pitch / 2),
            ],
            axis=1,
        )
        log = dataclasses.replace(fallen.log, gravity=None, quaternion=quaternion)
        assert plant.found(fallen, check_log(log, go2).findings)

    def test_gravity_that_points_up(self, go2_log, go2) -> None:
        diagnosis = check_log(plant.changed(go2_log, gravity=-go2_log.gravity), go2, needed_s=NEEDED_S)
        assert codes(diagnosis, "error") == {"gravity-up"}  # and no fall

    def test_gyro_in_degrees(self, go2_log, go2) -> None:
        diagnosis = check_log(plant.changed(go2_log, gyro_rad_s=np.rad2deg(go2_log.gyro_rad_s)), go2, needed_s=NEEDED_S)
        assert codes(diagnosis, "error") == {"unit"}
        assert "gyro" in diagnosis.findings[0].title


class TestCuts:
    def test_a_fall_is_cut_to_the_end_of_its_episode(self, go2_log, go2) -> None:
        planted = plant.fall(go2_log)
        assert planted.when is not None
        diagnosis = check_log(planted.log, go2)
        spans = [span for span, why in diagnosis.cuts if why == "fall" and span.episode == planted.when[0]]
        (span,) = spans
        rows = go2_log.episode == planted.when[0]
        assert span.end_s == pytest.approx(go2_log.time_s[rows][-1])
        assert span.start_s < planted.when[1] - 0.3  # with a margin before the base left level
        inside = rows & (go2_log.time_s >= span.start_s) & (go2_log.time_s <= span.end_s)
        assert not diagnosis.usable[inside].any()
        assert diagnosis.usable[rows & ~inside].any()

    def test_many_falls_are_a_warning(self, go2_log, go2) -> None:
        gravity = go2_log.gravity.copy()
        for rows in go2_log.episodes()[:12]:
            gravity[rows.start + 100 : rows.stop] = [0.0, 1.0, 0.0]
        diagnosis = check_log(plant.changed(go2_log, gravity=gravity), go2, needed_s=20)
        (finding,) = (f for f in diagnosis.findings if f.code == "fall")
        assert finding.severity == "warning"
        assert "12 of 20" in finding.title

    def test_near_falls_are_cut_with_margins(self, go2_log, go2) -> None:
        rows = go2_log.episodes()[7]
        gravity = go2_log.gravity.copy()
        gravity[rows.start + 100 : rows.start + 110] = [0.0, np.sin(0.75), -np.cos(0.75)]
        diagnosis = check_log(plant.changed(go2_log, gravity=gravity), go2)
        (finding,) = (f for f in diagnosis.findings if f.code == "near-fall")
        (span,) = finding.spans
        assert span.episode == 7
        assert span.start_s == pytest.approx(go2_log.time_s[rows.start + 100] - 0.5, abs=0.05)
        assert span.end_s == pytest.approx(go2_log.time_s[rows.start + 109] + 0.5, abs=0.05)

    def test_rows_that_are_left_out_are_named(self, go2_log, go2) -> None:
        for planted, why in (
            (plant.not_a_number(go2_log, "FL_hip_joint"), "not a number"),
            (plant.frozen(go2_log, "FL_calf_joint"), "frozen channel"),
            (plant.repeated_time(go2_log), "repeated or missing time"),
        ):
            assert planted.when is not None
            diagnosis = check_log(planted.log, go2)
            assert planted.when[0] in {span.episode for span, reason in diagnosis.cuts if reason == why}
            rows = (
                (planted.log.episode == planted.when[0])
                & (planted.log.time_s >= planted.when[1])
                & (planted.log.time_s <= planted.when[2])
            )
            assert not diagnosis.usable[rows].all()

    def test_too_little_time(self, go2_log, go2) -> None:
        for needed_s, severity in ((60.0, None), (130.0, "warning"), (400.0, "error")):
            found = [f.severity for f in check_log(go2_log, go2, needed_s=needed_s).findings if f.code == "too-short"]
            assert found == ([] if severity is None else [severity])
        proposal = check_log(go2_log, go2, needed_s=400.0).proposal
        assert proposal is not None
        assert "episodes of 4 s" in proposal

    def test_missing_commands_are_named_and_proposed(self, go2_log, go2) -> None:
        diagnosis = check_log(plant.forward_only(go2_log).log, go2)
        (finding,) = (f for f in diagnosis.findings if f.code == "coverage")
        for part in ("walking backward", "stepping left", "stepping right", "turning left", "turning right"):
            assert part in finding.title
        assert diagnosis.proposal is not None
        assert "turning left" in diagnosis.proposal


class TestMetadata:
    def test_a_command_that_was_made_up(self, go2_log, go2) -> None:
        log = dataclasses.replace(
            go2_log,
            command=0 * go2_log.command,
            metadata={"assumed": {"command": "no command was recorded; zero was written"}},
        )
        assert "no-command" in codes(check_log(log, go2), "error")

    def test_what_was_supposed_or_derived_is_a_note(self, go2_log, go2) -> None:
        said = {"assumed": {"joint order": "as in robot.yaml"}, "derived": {"joint_velocity_rad_s": "a filter"}}
        diagnosis = check_log(dataclasses.replace(go2_log, metadata=said), go2, needed_s=NEEDED_S)
        assert {"assumed", "derived-velocity"} <= codes(diagnosis, "note")
        assert diagnosis.exit_code == 0

    def test_another_contract(self, go2_log, go2) -> None:
        log = dataclasses.replace(go2_log, metadata=go2_log.metadata | {"contract_hash": "0" * 64, "control_hz": 100})
        assert {"other-contract", "rate-said"} <= codes(check_log(log, go2), "warning")

    def test_gains_that_were_sent(self, go2_log, go2) -> None:
        own = {"kp": list(go2.contract.kp_nm_per_rad), "kd": list(go2.contract.kd_nms_per_rad)}
        same = dataclasses.replace(go2_log, metadata=go2_log.metadata | {"recorded_gains": own})
        assert "other-gains" not in codes(check_log(same, go2))
        own["kp"][2] *= 1.5
        own["kd"][0] = None
        other = dataclasses.replace(go2_log, metadata=go2_log.metadata | {"recorded_gains": own})
        (finding,) = (f for f in check_log(other, go2).findings if f.code == "other-gains")
        assert finding.severity == "warning"
        assert go2.contract.joints[2] in finding.evidence
        assert go2.contract.joints[0] not in finding.evidence

    @pytest.mark.parametrize("said", [None, 3, [], {}, {"kp": 20}, {"kp": ["a"] * 12, "kd": [True] * 12}])
    def test_gains_that_say_nothing(self, go2_log, go2, said) -> None:
        log = dataclasses.replace(go2_log, metadata=go2_log.metadata | {"recorded_gains": said})
        assert "other-gains" not in codes(check_log(log, go2))

    def test_joints_of_another_robot(self, clean, go2) -> None:
        diagnosis = check_log(clean["hexapod"][0], go2)
        (finding,) = (f for f in diagnosis.findings if f.code == "joint-names")
        assert finding.severity == "error"
        assert "FL_hip_joint" in finding.title

    def test_a_misspelt_joint_is_named_with_the_nearest(self, go2_log, go2) -> None:
        joints = tuple(name.replace("RL_calf_joint", "RL_clf_joint") for name in go2_log.joints)
        (finding,) = (
            f for f in check_log(dataclasses.replace(go2_log, joints=joints), go2).findings if f.code == "joint-names"
        )
        assert "did you mean 'RL_calf_joint'" in finding.evidence

    def test_another_order_with_right_names_is_understood(self, go2_log, go2) -> None:
        order = [*range(3, 6), *range(3), *range(9, 12), *range(6, 9)]
        columns = {name: getattr(go2_log, name)[:, order] for name in plant.ALL}
        log = dataclasses.replace(go2_log, joints=tuple(go2_log.joints[i] for i in order), **columns)
        assert codes(check_log(log, go2, needed_s=NEEDED_S), "warning", "error") == {"joint-order"}


class TestPolicy:
    def test_its_own_log(self, walk, go2) -> None:
        log, policy = walk
        assert not {code for code in codes(check_log(log, go2, policy)) if code.startswith("policy")}

    def test_another_policy(self, walk, go2, tmp_path) -> None:
        write_mlp(tmp_path / "other.onnx", go2.contract, layers(go2.contract, seed=5))
        diagnosis = check_log(walk[0], go2, OnnxPolicy.load(tmp_path / "other.onnx"))
        assert "policy-actions" in codes(diagnosis, "error")
        assert "policy-hash" in codes(diagnosis, "warning")

    @pytest.mark.parametrize(("shift", "word"), [(1, "late"), (-1, "early")])
    def test_actions_one_row_off(self, walk, go2, shift, word) -> None:
        log, policy = walk
        action = log.action.copy()
        for rows in log.episodes():
            action[rows] = np.roll(log.action[rows], shift, axis=0)
        (finding,) = (
            f for f in check_log(plant.changed(log, action=action), go2, policy).findings if f.code == "policy-shift"
        )
        assert word in finding.title

    def test_swapped_channels_show_without_any_motion_model(self, walk, go2) -> None:
        log, policy = walk
        planted = plant.swapped(log, "FL_hip_joint", "FR_hip_joint")
        assert {"policy-actions"} <= codes(check_log(planted.log, go2, policy))

    def test_what_cannot_be_checked(self, walk, go2) -> None:
        log, policy = walk
        diagnosis = check_log(dataclasses.replace(log, gyro_rad_s=None), go2, policy)
        (finding,) = (f for f in diagnosis.findings if f.code == "policy-unchecked")
        assert "gyro" in finding.title

    def test_a_policy_of_another_robot(self, walk, clean) -> None:
        log, robot = clean["hexapod"]
        assert "policy-contract" in codes(check_log(log, robot, walk[1]), "error")

    def test_a_history_in_the_observation(self, clean, tmp_path) -> None:
        robot = clean["hexapod"][1]
        assert any(term.history > 1 for term in robot.contract.observation)
        write_mlp(tmp_path / "policy.onnx", robot.contract, layers(robot.contract))
        (tmp_path / "twin.yaml").write_text(yaml.safe_dump({"robot": str(HEXAPOD), **NOISY}))
        log = record(load_twin(tmp_path / "twin.yaml"), str(tmp_path / "policy.onnx"), rollouts=2, seconds=2.0)
        assert not {
            code
            for code in codes(check_log(log, robot, OnnxPolicy.load(tmp_path / "policy.onnx")))
            if code.startswith("policy")
        }


class TestRoughLogs:
    """Nothing that a file can hold may end in a traceback or in a warning of NumPy."""

    @pytest.mark.parametrize("rows", [1, 2, 3, 30])
    def test_very_short(self, go2_log, go2, rows) -> None:
        diagnosis = quietly(plant.taken(go2_log, np.arange(rows)), go2)
        assert "too-short" in codes(diagnosis, "error")

    def test_no_rows(self, go2_log, go2) -> None:
        with pytest.raises(LogError, match="no rows"):
            check_log(plant.taken(go2_log, np.arange(0)), go2)

    def test_episodes_of_one_row(self, go2_log, go2) -> None:
        diagnosis = quietly(dataclasses.replace(go2_log, episode=np.arange(len(go2_log.episode), dtype=np.int32)), go2)
        assert "no-time" in codes(diagnosis, "error")

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e30, 0.0, 5.0])
    @pytest.mark.parametrize("name", ["time_s", "command", *plant.ALL, "gyro_rad_s", "gravity"])
    def test_a_channel_of_one_value(self, go2_log, go2, name, value) -> None:
        short = plant.taken(go2_log, np.arange(400))
        diagnosis = quietly(plant.changed(short, **{name: np.full(getattr(short, name).shape, value)}), go2)
        json.dumps(diagnosis.to_dict(), allow_nan=False)
        if not abs(value) <= 1e6:
            assert "not-a-number" in codes(diagnosis, "error") or (
                name == "time_s" and "no-time" in codes(diagnosis, "error")
            )
        elif name in plant.ALL:
            assert "constant-channel" in codes(diagnosis, "error")

    def test_noise(self, go2_log, go2) -> None:
        rng = np.random.default_rng(0)
        short = plant.taken(go2_log, np.arange(2000))
        for size in (1e-8, 1.0, 1e5):
            noise = {
                name: size * rng.standard_normal(getattr(short, name).shape)
                for name in ("command", *plant.ALL, "gyro_rad_s", "gravity")
            }
            diagnosis = quietly(plant.changed(short, **noise), go2)
            assert diagnosis.exit_code == 2

    @pytest.mark.parametrize("mirrored", [True, False])
    @pytest.mark.parametrize("name", ["go2", "hexapod"])
    def test_a_robot_that_only_stands(self, clean, name, mirrored) -> None:
        robot = clean[name][1] if mirrored else dataclasses.replace(clean[name][1], mirror=None)
        held = {channel: np.repeat(getattr(clean[name][0], channel)[:1], 600, axis=0) for channel in plant.ALL}
        diagnosis = quietly(plant.changed(plant.taken(clean[name][0], np.arange(600)), **held), robot)
        assert {"constant-channel", "too-short"} <= codes(diagnosis, "error")
        assert diagnosis.delay is None

    def test_worst_first(self, go2_log, go2) -> None:
        log = plant.not_a_number(plant.flipped(go2_log, "FL_calf_joint").log, "FR_hip_joint").log
        findings = check_log(log, go2, needed_s=130.0).findings
        order = [ORDER[finding.severity] for finding in findings]
        assert order == sorted(order)
        assert len(set(order)) == 3

    def test_the_log_is_left_alone(self, go2_log, go2) -> None:
        before = {name: getattr(go2_log, name).copy() for name in plant.ALL}
        check_log(go2_log, go2)
        for name, values in before.items():
            np.testing.assert_array_equal(getattr(go2_log, name), values)

    def test_the_same_log_gives_the_same_diagnosis(self, go2_log, go2) -> None:
        assert check_log(go2_log, go2).to_dict() == check_log(go2_log, go2).to_dict()


def _faster(log: RobotLog, times: int) -> RobotLog:
    """The log at a higher rate: readings between rows, actions and commands held."""
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("episode", "time_s", "command", *plant.ALL, "gyro_rad_s", "gravity")
    }
    for rows in log.episodes():
        n = rows.stop - rows.start
        fine = np.arange((n - 1) * times + 1) / times
        for name, parts in columns.items():
            values = np.asarray(getattr(log, name)[rows])
            if name in ("episode", "command", "action"):
                parts.append(values[fine.astype(int)])
            elif values.ndim == 1:
                parts.append(np.interp(fine, np.arange(n), values))
            else:
                parts.append(np.stack([np.interp(fine, np.arange(n), column) for column in values.T], axis=1))
    return plant.changed(log, **{name: np.concatenate(parts) for name, parts in columns.items()})


class TestStandRecordings:
    """Legs in the air, driven by one excitation: what such a log cannot tell is not guessed."""

    @staticmethod
    def chirp(robot: Robot, seconds: float = 40.0) -> RobotLog:
        """All joints follow the same sweep, 40 ms late and 0.9 times as far; nobody carries any weight."""
        contract = robot.contract
        time_s = np.arange(round(seconds * contract.control_hz)) * contract.control_dt_s

        def sweep(late_s: float) -> np.ndarray:
            at = np.maximum(time_s - late_s, 0.0)
            return 0.2 * np.sin(2 * np.pi * (0.2 * at + 0.04 * at**2))

        scale, pose = np.array(contract.action_scale_rad), np.array(contract.pose_rad)
        position = pose + 0.9 * sweep(0.04)[:, None] * np.ones(contract.n_joints)
        return RobotLog(
            joints=contract.joints,
            episode=np.zeros(len(time_s), np.int32),
            time_s=time_s,
            command=np.zeros((len(time_s), 3)),
            joint_position_rad=position,
            joint_velocity_rad_s=np.gradient(position, contract.control_dt_s, axis=0),
            action=sweep(0.0)[:, None] / scale,
            metadata={"assumed": {"command": "none was recorded"}},
        )

    def test_joints_that_move_alike_are_not_called_swapped(self, robot) -> None:
        diagnosis = quietly(self.chirp(robot), robot)
        assert "one-excitation" in codes(diagnosis, "note")
        assert not codes(diagnosis) & {"swapped-joints", "flipped-sign", "mirrored-joints"}
        assert diagnosis.delay is None

    def test_a_robot_that_hangs_is_not_held_against_its_weight(self, go2) -> None:
        diagnosis = quietly(self.chirp(go2), go2)
        assert "hanging" in codes(diagnosis, "note")
        assert "action-offset" not in codes(diagnosis)

    def test_a_fault_of_many_joints_is_said_once(self, go2) -> None:
        log = self.chirp(go2)
        off = log.joint_position_rad + 5.0
        beyond = [
            f
            for f in quietly(dataclasses.replace(log, joint_position_rad=off), go2).findings
            if f.code == "beyond-limits"
        ]
        assert len(beyond) == 1
        assert len(beyond[0].joints) > 3
