"""A gap as a Rerun recording: every joint's traces of robot and simulator, to scroll through (extra `view`)."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from surefoot.errors import SurefootError
from surefoot.files import write_whole
from surefoot.gap import Measured
from surefoot.robot import Robot

PAUSE_S = 0.5  # between pieces, so that no line seems to lead from one to the next
SIDES = {"robot": (0, 114, 178), "simulator": (199, 80, 0)}  # colours of Okabe and Ito, as in the pages
COMMAND = ("forward m/s", "left m/s", "turn rad/s")


def refuse_missing() -> None:
    """Say how to get Rerun where it is not installed."""
    if find_spec("rerun") is None:
        raise SurefootError(
            "a recording for Rerun needs rerun-sdk, which is not installed; `pip install 'surefoot[view]'` adds it"
        )


def write_rrd(path: Path, measured: Measured, robot: Robot) -> None:
    """Write robot and first simulated run, piece after piece on one time line, whole or not at all."""
    refuse_missing()
    import rerun as rr
    import rerun.blueprint as rrb

    schedule = measured.simulator.schedule
    time_s = _time_s(measured.robot.piece, schedule.dt_s)
    joints = robot.contract.joints
    kinds = tuple(dict.fromkeys(channel.kind for channel in measured.robot.channels))
    views = [
        rrb.Vertical(
            *(rrb.TimeSeriesView(origin=rr.new_entity_path([joint, kind]), name=str(kind)) for kind in kinds),
            name=joint,
        )
        for joint in joints
    ]

    def write(temporary: Path) -> None:
        recording = rr.RecordingStream("surefoot gap", recording_id=f"{robot.name} {measured.gap.total:.6f}")
        recording.save(str(temporary), default_blueprint=rrb.Blueprint(rrb.Tabs(*views)))
        when = [rr.TimeColumn("time", duration=time_s)]
        for side, samples in (("robot", measured.robot.samples), ("simulator", measured.runs[0].samples[0])):
            for i, channel in enumerate(measured.robot.channels):
                entity = rr.new_entity_path([channel.where, channel.kind, side])
                recording.log(entity, rr.SeriesLines(colors=SIDES[side], names=side), static=True)
                recording.send_columns(entity, when, rr.Scalars.columns(scalars=samples[:, i].astype(float)))
        for name, values in zip(COMMAND, schedule.command[schedule.counted][:, :3].T, strict=True):
            recording.send_columns(rr.new_entity_path(["command", name]), when, rr.Scalars.columns(scalars=values))
        recording.send_columns("piece", when, rr.Scalars.columns(scalars=measured.robot.piece.astype(float)))
        recording.flush()
        recording.disconnect()

    write_whole(path, write)


def _time_s(piece: np.ndarray, dt_s: float) -> np.ndarray:
    """Time of every sample, the pieces one after the other with a pause between them."""
    return np.arange(len(piece)) * dt_s + piece * PAUSE_S
