"""Columns with numbers instead of names go to the right joints: Unitree's motors are FR FL RR RL."""

from pathlib import Path

import numpy as np
import pytest
from support.log_files import joint_columns, write_csv, write_record_mcap
from support.recordings import brought_in, mapped, motion, refused

import surefoot
from surefoot.logs import record
from surefoot.logs.importing.unitree import unitree_order
from surefoot.sim import load_twin

POLICY = Path(surefoot.__file__).parent / "robots" / "go2" / "policies" / "walk.onnx"


def in_unitree_order(robot, values):
    return values[:, [robot.contract.joints.index(joint) for joint in unitree_order(robot.contract.joints)]]


def numbered(pattern: str, values):
    return {pattern.format(i): values[:, i] for i in range(values.shape[1])}


@pytest.fixture(scope="module", params=["trot", str(POLICY)], ids=["trot", "policy"])
def walk(go2, request):
    """Time, position, velocity, target and action of a Go2 that walks."""
    log = record(load_twin("go2-identified"), request.param, rollouts=1, seconds=6.0, seed=3, threads=1)
    targets = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
    return log.time_s, log.joint_position_rad, log.joint_velocity_rad_s, targets, log.action


class TestUnitreeOrder:
    @pytest.mark.parametrize(
        ("position", "velocity", "target"),
        [
            ("motor_{}_q", "motor_{}_dq", "motor_{}_q_des"),
            ("motor_state[{}].q", "motor_state[{}].dq", "motor_cmd[{}].q"),
            ("q_{}", "dq_{}", "q_des_{}"),
            ("joint_pos_{}", "joint_vel_{}", "joint_pos_target_{}"),
        ],
    )
    def test_left_and_right_are_right(self, go2, tmp_path, walk, position, velocity, target) -> None:
        time, q, dq, wanted, _ = walk
        data = {"time": time} | numbered(position, in_unitree_order(go2, q))
        data |= numbered(velocity, in_unitree_order(go2, dq)) | numbered(target, in_unitree_order(go2, wanted))
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.joint_position_rad, q)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, dq)
        np.testing.assert_allclose(
            go2.contract.pose_rad + log.action * go2.contract.action_scale_rad, wanted, atol=1e-6
        )
        assert "order of Unitree's motors, FR FL RR RL" in log.metadata["assumed"]["joint order"]
        assert "'motors: robot.yaml'" in log.metadata["assumed"]["joint order"]

    @pytest.mark.parametrize("name", ["q_{}", "dof_pos_{}"])
    def test_the_order_of_robot_yaml_is_told_by_the_motion(self, go2, tmp_path, walk, name) -> None:
        time, q, _, wanted, _ = walk
        data = {"time": time} | numbered(name, q) | numbered("target_{}", wanted)
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.joint_position_rad, q)
        assert (
            "order of robot.yaml: under its weight the robot's hips give way outwards"
            in log.metadata["assumed"]["joint order"]
        )

    def test_a_policys_output_is_in_its_own_order(self, go2, tmp_path, walk) -> None:
        time, q, _, _, action = walk
        data = {"time": time} | numbered("motor_{}_q", in_unitree_order(go2, q)) | numbered("action_{}", action)
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.joint_position_rad, q)
        np.testing.assert_array_equal(log.action, action)

    def test_all_twenty_motors(self, go2, tmp_path, walk) -> None:
        time, q, _, wanted, _ = walk
        fill = np.zeros((len(q), 8))
        data = {"time": time} | numbered("motor_state[{}].q", np.hstack([in_unitree_order(go2, q), fill]))
        data |= numbered("motor_cmd[{}].q", np.hstack([in_unitree_order(go2, wanted), fill]))
        np.testing.assert_array_equal(brought_in(go2, write_csv(tmp_path / "run.csv", data)).joint_position_rad, q)

    def test_in_messages_of_json(self, go2, tmp_path, walk) -> None:
        time, q, _, wanted, _ = walk
        found = []
        for t, state, target in zip(time, in_unitree_order(go2, q), in_unitree_order(go2, wanted), strict=True):
            found.append(("/lowstate", t, {"motor_state": [{"q": float(v), "dq": 0.0} for v in state]}))
            found.append(("/lowcmd", t, {"motor_cmd": [{"q": float(v), "kp": 25.0} for v in target]}))
        log = brought_in(go2, write_record_mcap(tmp_path / "run.mcap", found))
        np.testing.assert_allclose(log.joint_position_rad, q, atol=1e-12)

    def test_streams_of_one_recording_have_one_order(self, go2, tmp_path, walk) -> None:
        """What the name of one tells holds for the other; where none tells, the motion does."""
        time, q, _, wanted, _ = walk
        for state, command in (("motor_{}_q", "q_{}"), ("q_{}", "q_{}")):
            write_csv(tmp_path / "state.csv", {"time": time} | numbered(state, in_unitree_order(go2, q)))
            write_csv(tmp_path / "cmd.csv", {"time": time} | numbered(command, in_unitree_order(go2, wanted)))
            log = brought_in(go2, tmp_path)
            np.testing.assert_array_equal(log.joint_position_rad, q)
            targets = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
            np.testing.assert_allclose(targets, wanted, atol=1e-6)

    def test_columns_without_names_follow_those_that_have_some(self, go2, tmp_path) -> None:
        """Positions are numbered in Unitree's order; targets name their joints, or are a policy's output."""
        log = record(load_twin("go2-identified"), str(POLICY), rollouts=1, seconds=6.0, seed=3, threads=1)
        time, q, action = log.time_s, log.joint_position_rad, log.action
        wanted = go2.contract.pose_rad + action * go2.contract.action_scale_rad
        positions = {"time": time} | numbered("dof_pos_{}", in_unitree_order(go2, q))
        for asked in (joint_columns("target_pos_", go2.contract.joints, wanted), numbered("action_{}", action)):
            log = brought_in(go2, write_csv(tmp_path / "run.csv", positions | asked))
            np.testing.assert_array_equal(log.joint_position_rad, q)
            assert "rad off their targets that way" in log.metadata["assumed"]["joint order"]


class TestWhereNothingTells:
    def test_short_swings_are_no_evidence(self, go2, tmp_path) -> None:
        """A mean over less than a swing may be anywhere: the order of robot.yaml, and the way out."""
        for seed in range(20):
            time, position, _, target = motion(go2, rows=40, seed=seed)
            data = {"time": time} | numbered("q_{}", position) | numbered("q_des_{}", target)
            log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
            np.testing.assert_array_equal(log.joint_position_rad, position)
        assert "'motors: unitree'" in log.metadata["assumed"]["joint order"]

    def test_the_map_file_has_the_last_word(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        data = {"time": time} | numbered("q_{}", position) | numbered("q_des_{}", target)
        path = write_csv(tmp_path / "run.csv", data)
        swapped = brought_in(go2, path, map_file=mapped(tmp_path, motors="unitree"))
        order = [unitree_order(go2.contract.joints).index(joint) for joint in go2.contract.joints]
        np.testing.assert_array_equal(swapped.joint_position_rad, position[:, order])
        assert "joint order" not in swapped.metadata["assumed"]
        kept = brought_in(go2, path, map_file=mapped(tmp_path, motors="robot.yaml"))
        np.testing.assert_array_equal(kept.joint_position_rad, position)
        listed = mapped(tmp_path, motors=list(go2.contract.joints)[::-1])
        np.testing.assert_array_equal(brought_in(go2, path, map_file=listed).joint_position_rad, position[:, ::-1])
        refused(go2, path, "which is not a joint of the robot", map_file=mapped(tmp_path, motors=["knee"]))

    def test_robots_without_such_joints_keep_their_order(self, robot, tmp_path) -> None:
        if robot.name == "go2":
            assert unitree_order(robot.contract.joints) is not None
            return
        time, position, _, target = motion(robot)
        data = {"time": time} | numbered("motor_{}_q", position) | numbered("motor_{}_q_des", target)
        log = brought_in(robot, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.joint_position_rad, position)
