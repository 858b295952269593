"""What a virtual robot records, and what stays hidden."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from support.log_files import ARRAYS
from support.robot_files import HEXAPOD

from surefoot.errors import LogError, WorldsError
from surefoot.logs import random_commands, read_log, record, write_log
from surefoot.sim import Twin, load_twin
from surefoot.sim.falls import FALLEN_GRAVITY_Z
from surefoot.sim.physics import Physics


def make(tmp_path: Path, **keys):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"robot": "go2", **keys}))
    return load_twin(tmp_path / "mine.yaml")


def test_what_is_recorded(log, go2) -> None:
    assert log.n_episodes == 4
    assert log.seconds == pytest.approx(4 * 0.98, abs=0.01)
    assert log.joints == go2.contract.joints
    for rows in log.episodes():
        assert rows.stop - rows.start == 50
        assert log.time_s[rows.start] == 0
    assert np.isfinite(log.joint_position_rad).all()
    low, high = np.array(go2.contract.position_limit_rad).T
    assert (log.joint_position_rad > low - 0.1).all()
    assert (log.joint_position_rad < high + 0.1).all()
    np.testing.assert_allclose(np.linalg.norm(log.gravity, axis=1), 1)
    assert log.action.std(axis=0).min() > 0
    assert len(np.unique(log.joint_position_rad[::50, 0])) == 4  # episodes start apart


def test_a_log_says_where_it_comes_from(log, go2) -> None:
    source = log.metadata["source"]
    assert (log.metadata["robot"], log.metadata["robot_hash"], log.metadata["contract_hash"]) == (
        "go2",
        go2.hash,
        go2.contract.hash,
    )
    assert (log.metadata["policy"], log.metadata["control_hz"], log.metadata["fallen_episodes"]) == ("trot", 50.0, 0)
    assert (source["twin"], source["seed"], source["rollouts"], source["seconds"], source["hold_s"]) == (
        "go2-identified",
        3,
        4,
        1.0,
        0.4,
    )
    assert source["twin_hash"] == load_twin("go2-identified").hash
    assert "parameters" not in json.dumps(log.metadata)  # what is hidden stays hidden
    assert "armature" not in json.dumps(log.metadata)


def test_base_state_stays_hidden(table) -> None:
    assert table.column_names == list(ARRAYS)
    assert not any(
        word in name
        for name in table.column_names
        for word in ("base", "body", "height", "torque", "contact", "quaternion")
    )


@pytest.mark.parametrize("robot", ["go2", HEXAPOD], ids=["go2", "hexapod"])
def test_same_seed_same_bytes_at_any_number_of_threads(tmp_path, robot) -> None:
    twin = make(
        tmp_path,
        robot=str(robot),
        torque_noise_nm=0.3,
        encoder_noise_rad=0.001,
        delay_s=0.005,
        time_jitter_s=0.001,
        time_shift_s=[0, 0.1],
    )
    written = {}
    for name, seed, threads in (("one", 5, 1), ("two", 5, 2), ("other", 6, 2)):
        path = tmp_path / f"{name}.parquet"
        digest = write_log(record(twin, "trot", rollouts=4, seconds=1.0, seed=seed, threads=threads), path)
        written[name] = path.read_bytes()
        assert digest == hashlib.sha256(written[name]).hexdigest()
    assert written["one"] == written["two"]
    assert written["one"] != written["other"]
    one, other = read_log(tmp_path / "one.parquet"), read_log(tmp_path / "other.parquet")
    assert not np.array_equal(one.command[:40], other.command[:40])
    assert not np.array_equal(one.joint_position_rad[:40], other.joint_position_rad[:40])


def test_time_jitters_and_never_goes_back(tmp_path) -> None:
    exact = record(make(tmp_path), "zero", rollouts=2, seconds=0.4)
    np.testing.assert_allclose(np.diff(exact.time_s[:20]), 0.02, rtol=1e-6)
    for jitter in (0.001, 0.02, 1.0):
        shaken = record(make(tmp_path, time_jitter_s=jitter), "zero", rollouts=2, seconds=0.4)
        for rows in shaken.episodes():
            steps = np.diff(shaken.time_s[rows])
            assert (steps > 0).all()
            assert steps.std() > 0.0005
            assert shaken.time_s[rows.start] == 0
        np.testing.assert_array_equal(
            shaken.joint_position_rad, exact.joint_position_rad
        )  # the clock is wrong, not the robot


def test_time_shift_drops_the_beginning(tmp_path) -> None:
    """A recording that starts late by 0.2 s holds what a punctual one holds from its tenth tick on."""
    whole = record(make(tmp_path), "trot", rollouts=2, seconds=0.8, hold_s=0.1, seed=2)
    late = record(make(tmp_path, time_shift_s=0.2), "trot", rollouts=2, seconds=0.6, hold_s=0.1, seed=2)
    for a, b in zip(whole.episodes(), late.episodes(), strict=True):
        assert late.time_s[b.start] == 0
        for name in ("command", "joint_position_rad", "action"):
            np.testing.assert_array_equal(getattr(whole, name)[a][10:], getattr(late, name)[b])
    apart = record(make(tmp_path, time_shift_s=[0.0, 0.5]), "zero", rollouts=6, seconds=0.2)
    assert len(apart.time_s) == 6 * 10  # each is as long as was asked for


def test_an_episode_ends_soon_after_a_fall(tmp_path) -> None:
    """A load far off on one side tips the robot over; the episode stops half a second later."""
    log = record(make(tmp_path, base_com_offset_m=[0.0, 0.5, 0.3]), "zero", rollouts=3, seconds=4.0)
    assert log.metadata["fallen_episodes"] == 3
    for rows in log.episodes():
        down = np.flatnonzero(log.gravity[rows, 2] > FALLEN_GRAVITY_Z)
        assert 0 < rows.stop - rows.start < 200
        assert rows.stop - rows.start - down[0] == 25


def test_commands_are_held_in_range_and_sometimes_zero(robot) -> None:
    commands = random_commands(robot.contract, 200, 105, 0.5, np.random.default_rng(1))
    assert commands.shape == (200, 105, 3)
    low, high = np.array(robot.contract.command_range).T
    assert (commands >= low).all()
    assert (commands <= high).all()
    pieces = commands[:, ::25]
    np.testing.assert_array_equal(commands, np.repeat(pieces, 25, axis=1)[:, :105])
    standing = (pieces == 0).all(axis=2)
    assert 0.07 < standing.mean() < 0.13
    walking = pieces[~standing]
    np.testing.assert_allclose(walking.mean(axis=0), (low + high) / 2, atol=0.1)
    assert (np.ptp(walking, axis=0) > 0.9 * (high - low)).all()


def test_commands_of_some_speeds_only(go2) -> None:
    rng = np.random.default_rng(0)
    slow = random_commands(go2.contract, 40, 200, 1.0, rng, (0.0, 0.4))
    assert np.linalg.norm(slow[..., :2], axis=-1).max() <= 0.4
    assert (slow == 0.0).all(axis=-1).any()
    fast = random_commands(go2.contract, 40, 200, 1.0, rng, (1.0, 1.0))
    assert np.linalg.norm(fast[..., :2], axis=-1).min() > 0.4  # sideways, the contract allows 0.5
    assert fast[..., 0].max() > 0.9


@pytest.mark.parametrize("speed", [(0.6, 0.0), (-0.1, 0.5), (0.0, float("nan"))])
def test_speeds_that_cannot_be(go2, speed) -> None:
    with pytest.raises(LogError, match="lower one first"):
        record(Twin("nominal", Physics(go2, {})), "zero", rollouts=1, seconds=0.1, speed_m_s=speed)


def test_one_command_for_the_whole_episode(go2) -> None:
    commands = random_commands(go2.contract, 5, 30, 1e300, np.random.default_rng(1))
    assert (commands == commands[:, :1]).all()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"rollouts": 0}, LogError, "0 rollouts of 0.2 s hold no data"),
        ({"seconds": 0.001}, LogError, "at least 1 rollout of 0.04 s"),
        ({"seconds": -1.0}, LogError, "seconds is -1"),
        ({"seconds": float("nan")}, LogError, "seconds is nan"),
        ({"seconds": float("inf")}, LogError, "seconds is inf"),
        ({"seconds": 1e9}, LogError, "GB of memory"),
        ({"rollouts": 10**12}, LogError, "GB of memory"),
        ({"hold_s": 0.0}, LogError, "hold_s is 0"),
        ({"hold_s": float("nan")}, LogError, "hold_s is nan"),
        ({"seed": -1}, WorldsError, "the seed is -1"),
        ({"threads": -1}, WorldsError, "-1 threads"),
        ({"threads": 10**12}, WorldsError, "1000000000000 threads"),
    ],
)
def test_recording_that_cannot_be(go2, options, error, says) -> None:
    with pytest.raises(error, match=says) as caught:
        record(load_twin("go2-identified"), "zero", **{"rollouts": 2, "seconds": 0.2} | options)
    assert "\n" not in str(caught.value)


def test_unstable_rollout_is_named(tmp_path) -> None:
    with pytest.raises(
        LogError,
        match=r"rollout 0 of mine stopped after 0\.\d\d s \(2 of 2 rollouts stopped\): the simulation became unstable",
    ):
        record(make(tmp_path, kp_nm_per_rad=1e9, torque_limit_nm=1e12), "trot", rollouts=2, seconds=0.2)
