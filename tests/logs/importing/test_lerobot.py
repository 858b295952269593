"""LeRobot folders become logs."""

import numpy as np
from support.log_files import write_lerobot
from support.recordings import brought_in, mapped, motion, refused


class TestLeRobot:
    def test_v3_folder(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot, 100)
        joints = robot.contract.joints
        state = np.concatenate([position, velocity], axis=1)
        names = [f"{j}.pos" for j in joints] + [f"{j}.vel" for j in joints]
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (state, names), "action": (target, {"motors": [f"{j}.pos" for j in joints]})},
            np.repeat([0, 1], [60, 40]),
            50.0,
        )
        log = brought_in(robot, folder)
        assert [rows.stop - rows.start for rows in log.episodes()] == [60, 40]
        np.testing.assert_array_equal(log.joint_position_rad, position.astype(np.float32))
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity.astype(np.float32))
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target.astype(np.float32), atol=1e-9)
        np.testing.assert_allclose(log.time_s[:60], time[:60], atol=1e-6)

    def test_what_action_means_is_asked(self, robot, tmp_path) -> None:
        """A policy's output has another pose and scale than the joints that it moves."""
        _, position, _, target = motion(robot)
        contract = robot.contract
        output = (target - contract.pose_rad) / contract.action_scale_rad
        joints = list(contract.joints)
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (position, joints), "action": (output, joints)},
            np.zeros(100, int),
            50.0,
        )
        refused(robot, folder, "may hold joint targets or a policy's output", "'target: action/*'")
        log = brought_in(robot, folder, map_file=mapped(tmp_path, action="action/*"))
        np.testing.assert_array_equal(log.action, output.astype(np.float32))

    def test_actions_that_the_joints_follow_are_targets(self, robot, tmp_path) -> None:
        """In another order than the positions, with the names in it; of version 2, with a file for each episode."""
        _, position, _, target = motion(robot)
        joints = list(robot.contract.joints)
        order = np.random.default_rng(1).permutation(len(joints))
        folder = write_lerobot(
            tmp_path / "set",
            {
                "observation.state": (position, {"motors": joints}),
                "action": (target[:, order], {"motors": [joints[i] for i in order]}),
            },
            np.zeros(100, int),
            50.0,
        )
        chunk = folder / "data" / "chunk-000"
        (chunk / "file-000.parquet").rename(chunk / "episode_000000.parquet")
        log = brought_in(robot, folder)
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target.astype(np.float32), atol=1e-9)
        assert "the joints follow it" in log.metadata["assumed"]["action"]

    def test_damaged_folders(self, go2, tmp_path) -> None:
        _, position, _, target = motion(go2)
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (position, None), "action": (target, None)},
            np.zeros(100, int),
            50.0,
        )
        (folder / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"PAR1")
        refused(go2, folder, "not a readable Parquet file")
        (folder / "data" / "chunk-000" / "file-000.parquet").unlink()
        refused(go2, folder, "no data/chunk-*")
        (folder / "meta" / "info.json").write_text("[1]")
        refused(go2, folder, "does not describe features")
        (folder / "meta" / "info.json").write_text("{")
        refused(go2, folder, "is not valid JSON")
