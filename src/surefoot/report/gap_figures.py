"""Figures of a gap: robot and simulator over each other as distributions, traces and torque-speed clouds."""

from collections.abc import Sequence

import numpy as np

from surefoot.gap import Measured
from surefoot.gap.channels import UNITS, Channel, Kind
from surefoot.gap.distance import wasserstein
from surefoot.logs.robot_log import RobotLog
from surefoot.report.charts import (
    ADAPTED,
    PANEL,
    ROBOT,
    SIMULATOR,
    Cloud,
    Key,
    Sample,
    Series,
    distributions,
    line_chart,
    number,
    ridges,
    scatter,
)
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.robot.targets import targets

OUTERMOST, INNER = 150, 250  # points of the simulator's torque-speed cloud that are drawn
SIDE_KEYS = (Key("robot", ROBOT), Key("simulator", SIMULATOR))
CHANGE_KEYS = (Key("robot", ROBOT, "fill"), Key("simulator before", SIMULATOR), Key("simulator after", ADAPTED))


def worst_distributions(measured: Measured, channels: Sequence[int]) -> list[str]:
    """Robot and simulator over each other, one panel for each channel."""
    panels = []
    for i in channels:
        channel = measured.gap.channels[i]
        panels.append(distributions(_samples(measured, i, labelled=False), _unit(channel), title=channel.name))
    return panels


def changed_distributions(before: Measured, after: Measured, channels: Sequence[int]) -> list[str]:
    """Robot, simulator before and simulator after over each other, one panel for each channel, with its two
    distances.
    """
    panels = []
    for i in channels:
        channel = before.gap.channels[i]
        samples = [*_samples(before, i, labelled=False), Sample("", _simulated(after, i), ADAPTED)]
        fell = f"{number(before.gap.distance[i], 2)} → {number(after.gap.distance[i], 2)}"
        panels.append(distributions(samples, _unit(channel), title=f"{channel.name}: {fell}"))
    return panels


def joint_ridges(measured: Measured, kind: Kind, label: str, width: int) -> str:
    """All channels of one kind, a row each."""
    rows = [
        (channel.where, _samples(measured, i))
        for i, channel in enumerate(measured.gap.channels)
        if channel.kind == kind
    ]
    return ridges(rows, label, width=width)


def typical_piece(measured: Measured) -> int:
    """The piece whose own distance is the median one."""
    side, simulated = measured.robot, measured.runs[0].samples[0]
    rows = [np.flatnonzero(side.piece == k) for k in range(int(side.piece[-1]) + 1)]
    distance = [float((wasserstein(side.samples[r], simulated[r]) / side.spread).mean()) for r in rows]
    return int(np.argsort(distance)[len(distance) // 2])


def trace_panels(measured: Measured, log: RobotLog, piece: int, channels: Sequence[int]) -> list[str]:
    """Channels of one piece over the log's own time, robot and simulator."""
    schedule = measured.simulator.schedule
    rows = schedule.rows[piece]
    counted = schedule.counted[piece, : rows.stop - rows.start]
    time_s = log.time_s[rows][counted]
    inside = measured.robot.piece == piece
    robot, simulated = measured.robot.samples[inside], measured.runs[0].samples[0][inside]
    panels = []
    for i in channels:
        channel = measured.gap.channels[i]
        lines = [Series("", time_s, robot[:, i], ROBOT), Series("", time_s, simulated[:, i], SIMULATOR)]
        title = channel.where if channel.kind == "position" else channel.name
        panels.append(line_chart(lines, "time, s", _unit(channel), title=title, width=PANEL, height=96))
    return panels


def torque_panels(measured: Measured, robot: Robot) -> list[str]:
    """Estimated torque against speed, a panel for each kind of joint with the same limits."""
    contract = robot.contract
    sides = [
        joint_torques(measured, samples, robot) for samples in (measured.robot.samples, measured.runs[0].samples[0])
    ]
    groups: dict[tuple[str, float, float], list[int]] = {}
    for name, joints in joint_types(robot).items():
        for j in joints:
            groups.setdefault((name, contract.torque_limit_nm[j], contract.velocity_limit_rad_s[j]), []).append(j)
    panels = []
    for (name, torque, speed), alike in groups.items():
        polygon = [(-speed, -torque), (speed, -torque), (speed, torque), (-speed, torque)]
        (robot_x, robot_y), (sim_x, sim_y) = (
            (velocity[:, alike].ravel(), force[:, alike].ravel()) for velocity, force in sides
        )
        few = _few(sim_x, sim_y)
        clouds = [Cloud("", robot_x, robot_y, ROBOT), Cloud("", sim_x[few], sim_y[few], SIMULATOR, cross=True)]
        panels.append(
            scatter(
                clouds,
                "rad/s",
                "N·m",
                title=name,
                polygon=polygon,
                polygon_label="",
                dot_px=1.2,
                width=PANEL,
                height=190,
            )
        )
    return panels


def joint_torques(measured: Measured, samples: np.ndarray, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Speeds and torques (rows, n_joints) by the servo's own law, from the target of the tick before."""
    contract, counted = robot.contract, measured.simulator.schedule.counted
    column = {(channel.where, channel.kind): i for i, channel in enumerate(measured.robot.channels)}
    position, velocity, action = (
        samples[:, [column[joint, kind] for joint in contract.joints]].astype(float)
        for kind in ("position", "velocity", "action")
    )
    target = targets(contract, action)
    torque = (
        np.array(contract.kp_nm_per_rad) * (target[:-1] - position[1:])
        - np.array(contract.kd_nms_per_rad) * velocity[1:]
    )
    follows = (
        np.diff(np.flatnonzero(np.pad(counted, ((0, 0), (0, 1))))) == 1
    )  # a tick between pieces, so that none follows another
    return velocity[1:][follows], torque[follows]


def _few(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Some points of a cloud: the outermost, which show how far it reaches, and a few of the rest, so that
    what lies under it is seen.
    """
    out = np.argsort(-np.hypot((x - x.mean()) / (x.std() or 1.0), (y - y.mean()) / (y.std() or 1.0)))
    rest = np.random.default_rng(0).permutation(out[OUTERMOST:])[:INNER]
    return np.concatenate([out[:OUTERMOST], rest])


def _samples(measured: Measured, i: int, labelled: bool = True) -> list[Sample]:
    """Both sides of a channel, the simulator's over all runs."""
    names = ("robot", "simulator") if labelled else ("", "")
    return [Sample(names[0], measured.robot.samples[:, i], ROBOT), Sample(names[1], _simulated(measured, i), SIMULATOR)]


def _simulated(measured: Measured, i: int) -> np.ndarray:
    return np.concatenate([run.samples[0][:, i] for run in measured.runs])


def _unit(channel: Channel) -> str:
    return "action" if channel.kind == "action" else UNITS[channel.kind]
