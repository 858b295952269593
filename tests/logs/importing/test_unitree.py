"""Messages of Unitree robots: motors go to their joints."""

import numpy as np
import pytest
from support.log_files import mcap_of, message, write_bag
from support.recordings import brought_in, mapped, walk
from support.robot_files import HEXAPOD

from surefoot.cli.main import run
from surefoot.errors import LogError
from surefoot.logs import read_log
from surefoot.logs.importing import MapFile
from surefoot.logs.importing.unitree import motor_joints
from surefoot.robot import load_robot


def low_state(q, dq, tau, time_s):
    motors = [
        (
            message(
                "unitree_go/msg/MotorState",
                mode=1,
                q=float(q[i]),
                dq=float(dq[i]),
                tau_est=float(tau[i]),
                temperature=30 + i,
                lost=i,
            )
            if i < 12
            else message("unitree_go/msg/MotorState")
        )
        for i in range(20)
    ]
    about = message(
        "unitree_go/msg/IMUState",
        quaternion=np.array([1, 0, 0, 0], np.float32),
        gyroscope=np.array([time_s, 0.5, 0.25], np.float32),
    )
    return message(
        "unitree_go/msg/LowState",
        motor_state=motors,
        imu_state=about,
        foot_force=np.array([1, 2, 3, 4], np.int16),
        power_v=28.5,
        tick=round(time_s * 1e3),
    )


def low_cmd(q, kp=25.0, kd=0.5):
    motors = [
        (
            message("unitree_go/msg/MotorCmd", mode=1, q=float(q[i]), kp=kp, kd=kd)
            if i < 12
            else message("unitree_go/msg/MotorCmd", q=2.146e9)
        )
        for i in range(20)
    ]
    return message("unitree_go/msg/LowCmd", motor_cmd=motors)


def unitree_order(robot):
    """Place of each Unitree motor in the policy's order."""
    return [
        robot.contract.joints.index(f"{leg}_{part}_joint")
        for leg in ("FR", "FL", "RR", "RL")
        for part in ("hip", "thigh", "calf")
    ]


class TestUnitree:
    def bag(self, go2, tmp_path, storage="mcap", hz=500.0):
        time, position, velocity, torque, target = walk(go2, 500, hz)
        order = unitree_order(go2)
        found = []
        for i, t in enumerate(time):
            found.append(("/lowstate", t, low_state(position[i, order], velocity[i, order], torque[i, order], t)))
            (
                found.append(("/lf/lowstate", t, low_state(0 * position[i], velocity[i], torque[i], t)))
                if i % 25 == 0
                else None
            )
            if i % 10 == 0:
                found.append(("/lowcmd", t + 1e-4, low_cmd(target[i, order])))
        return write_bag(tmp_path / "bag", found, storage)

    @pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
    def test_motors_go_to_their_joints(self, go2, tmp_path, storage) -> None:
        time, position, velocity, torque, target = walk(go2, 500, 500.0)
        log = brought_in(go2, self.bag(go2, tmp_path, storage))
        every = np.arange(0, 500, 10)
        np.testing.assert_array_equal(log.joint_position_rad, position[every].astype(np.float32))
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity[every].astype(np.float32))
        np.testing.assert_array_equal(log.torque_nm, torque[every].astype(np.float32))
        found = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
        np.testing.assert_allclose(found, target[every].astype(np.float32), atol=1e-9)
        np.testing.assert_array_equal(log.motor_temperature_c[0, go2.contract.joints.index("FR_hip_joint")], 30)
        np.testing.assert_array_equal(log.motor_temperature_c[0, go2.contract.joints.index("RL_calf_joint")], 41)
        np.testing.assert_array_equal(log.gyro_rad_s[:, 0], time[every].astype(np.float32))
        np.testing.assert_array_equal(log.foot_contact[0], [1, 2, 3, 4])
        assert log.metadata["feet"] == ["FR", "FL", "RR", "RL"]
        np.testing.assert_allclose(log.battery_v, 28.5)
        assert log.metadata["recorded_gains"] == {"kp": [25.0] * 12, "kd": [0.5] * 12}
        assert "command" in log.metadata["assumed"]

    def test_the_file_keeps_it(self, go2, tmp_path, capsys) -> None:
        bag = self.bag(go2, tmp_path)
        assert run(["log", "import", str(mcap_of(bag)), "--robot", "go2", "--out", str(tmp_path / "log.parquet")]) == 0
        assert "joint_position <- /lowstate (LowState)" in capsys.readouterr().out
        back = read_log(tmp_path / "log.parquet")
        assert back.foot_contact.shape == (50, 4)
        assert run(["log", "show", str(tmp_path / "log.parquet")]) == 0
        assert "foot_contact" in capsys.readouterr().out

    def test_uncontrolled_motors_are_no_targets(self, go2, tmp_path) -> None:
        """While the motors are switched off there is no action: those rows go, and the rest is two episodes."""
        time, position, velocity, torque, target = walk(go2)
        found = []
        for i, t in enumerate(time):
            found.append(("/lowstate", t, low_state(position[i], velocity[i], torque[i], t)))
            found.append(("/lowcmd", t, low_cmd(target[i] if not 40 <= i < 60 else np.full(12, 2.146e9))))
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        assert log.n_episodes == 2
        assert np.abs(log.action).max() < 10
        assert any("hold no target" in note for note in log.metadata["notes"])

    def test_other_robots_list_their_motors(self, tmp_path, go2) -> None:
        hexapod = load_robot(HEXAPOD)
        bag = self.bag(go2, tmp_path)
        with pytest.raises(LogError, match="list the joint of motor 0, 1, 2") as caught:
            brought_in(hexapod, bag)
        assert "motors: [...]" in str(caught.value)
        motors = [None, *hexapod.contract.joints, None]
        assert motor_joints(hexapod.contract.joints, MapFile(motors=tuple(motors)), "unitree_go") == motors
        with pytest.raises(LogError, match="'knee'"):
            motor_joints(hexapod.contract.joints, MapFile(motors=("knee",)), "unitree_go")

    def test_humanoid_messages(self, robot, tmp_path) -> None:
        n = robot.contract.n_joints
        found = []
        for i in range(30):
            state = [
                message(
                    "unitree_hg/msg/MotorState", q=i + j / 100, dq=float(j), temperature=np.array([j, 99], np.int16)
                )
                for j in range(35)
            ]
            order = [message("unitree_hg/msg/MotorCmd", q=float(j)) for j in range(35)]
            found += [
                ("/lowstate", i / 50, message("unitree_hg/msg/LowState", motor_state=state)),
                ("/lowcmd", i / 50, message("unitree_hg/msg/LowCmd", motor_cmd=order)),
            ]
        log = brought_in(
            robot,
            write_bag(tmp_path / "bag", found),
            map_file=mapped(tmp_path, motors=list(robot.contract.joints)[::-1]),
        )
        np.testing.assert_allclose(log.joint_position_rad[7], 7 + np.arange(n)[::-1] / 100, rtol=1e-6)
        np.testing.assert_array_equal(log.motor_temperature_c[0], np.arange(n)[::-1])
