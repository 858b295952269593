"""Unitree's low-level messages: their public definitions, and the order of their motors."""

from collections.abc import Sequence

from surefoot.errors import LogError, nearest
from surefoot.logs.importing.mapping import ROBOT_ORDER, MapFile
from surefoot.logs.importing.names import plain

STATES = ("unitree_go/msg/LowState", "unitree_hg/msg/LowState")
COMMANDS = ("unitree_go/msg/LowCmd", "unitree_hg/msg/LowCmd")
MOTORS = {"unitree_go": 20, "unitree_hg": 35}
LEGS = ("FR", "FL", "RR", "RL")  # of the quadrupeds: motors 0 to 11, and the four feet
PARTS = ("hip", "thigh", "calf")
POSITION_OFF = 1e6  # an uncontrolled motor is sent a position of 2.146e9

DEFINITIONS = {
    "unitree_go/msg/IMUState": (
        "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy\nint8 temperature"
    ),
    "unitree_go/msg/MotorState": (
        "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\nfloat32 q_raw\nfloat32 dq_raw\nfloat32"
        " ddq_raw\nint8 temperature\nuint32 lost\nuint32[2] reserve"
    ),
    "unitree_go/msg/BmsState": (
        "uint8 version_high\nuint8 version_low\nuint8 status\nuint8 soc\nint32 current\nuint16 cycle\nint8[2] bq_ntc\n"
        "int8[2] mcu_ntc\nuint16[15] cell_vol"
    ),
    "unitree_go/msg/LowState": (
        "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\nuint16"
        " bandwidth\nIMUState imu_state\nMotorState[20] motor_state\nBmsState bms_state\nint16[4] foot_force\nint16[4]"
        " foot_force_est\nuint32 tick\nuint8[40] wireless_remote\nuint8 bit_flag\nfloat32 adc_reel\nint8"
        " temperature_ntc1\nint8 temperature_ntc2\nfloat32 power_v\nfloat32 power_a\nuint16[4] fan_frequency\nuint32"
        " reserve\nuint32 crc"
    ),
    "unitree_go/msg/MotorCmd": (
        "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\nuint32[3] reserve"
    ),
    "unitree_go/msg/BmsCmd": "uint8 off\nuint8[3] reserve",
    "unitree_go/msg/LowCmd": (
        "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\nuint16"
        " bandwidth\nMotorCmd[20] motor_cmd\nBmsCmd bms_cmd\nuint8[40] wireless_remote\nuint8[12] led\nuint8[2]"
        " fan\nuint8 gpio\nuint32 reserve\nuint32 crc"
    ),
    "unitree_hg/msg/IMUState": (
        "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy\nint16 temperature"
    ),
    "unitree_hg/msg/MotorState": (
        "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\nint16[2] temperature\nfloat32 vol\nuint32[2]"
        " sensor\nuint32 motorstate\nuint32[4] reserve"
    ),
    "unitree_hg/msg/LowState": (
        "uint32[2] version\nuint8 mode_pr\nuint8 mode_machine\nuint32 tick\nIMUState imu_state\nMotorState[35]"
        " motor_state\nuint8[40] wireless_remote\nuint32[4] reserve\nuint32 crc"
    ),
    "unitree_hg/msg/MotorCmd": "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\nuint32 reserve",
    "unitree_hg/msg/LowCmd": "uint8 mode_pr\nuint8 mode_machine\nMotorCmd[35] motor_cmd\nuint32[4] reserve\nuint32 crc",
}


def unitree_order(joints: Sequence[str]) -> tuple[str, ...] | None:
    """The joints of a quadruped in the order of Unitree's motors; None where its joints are not called so."""
    found: list[str] = []
    for leg in LEGS:
        for part in PARTS:
            matches = [joint for joint in joints if {leg.lower(), part} <= set(plain(joint).split("_"))]
            if len(matches) != 1:
                return None
            found.append(matches[0])
    return tuple(found) if set(found) == set(joints) else None


def motor_joints(joints: Sequence[str], map_file: MapFile, family: str | None) -> list[str | None]:
    """The joint of each motor, in the order of a family's messages, or as many as the map file lists; None for a motor
    without one.
    """
    count = MOTORS[family] if family is not None else None
    if isinstance(map_file.motors, tuple):
        if count is not None and len(map_file.motors) > count:
            raise LogError(
                f"{map_file.name}: motors lists {len(map_file.motors)} joints; a {family} message has {count} motors"
            )
        for name in map_file.motors:
            if name is not None and name not in joints:
                raise LogError(
                    f"{map_file.name}: motors names {name!r}, which is not a joint of the robot{nearest(name, joints)}"
                )
        return [*map_file.motors, *[None] * ((count or 0) - len(map_file.motors))]
    if map_file.motors == ROBOT_ORDER:
        return [*joints, *[None] * ((count or 0) - len(joints))]
    found = unitree_order(joints)
    if family != "unitree_go" or found is None:
        raise LogError(
            f"the motors of {family} messages cannot be matched with the joints {', '.join(joints[:3])}, ... of the"
            " robot; list the joint of motor 0, 1, 2 and so on in the map file: 'motors: [...]', null for a motor"
            " without one",
            argument="map",
        )
    return [*found, *[None] * (MOTORS[family] - len(found))]
