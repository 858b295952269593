"""One recording as rows, one for each control tick, cut into episodes where time, mode or data have gaps."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing.recording import ROLES, RecordedChannel, Recording
from surefoot.logs.importing.resample import (
    ROUNDING_S,
    VELOCITY_FILTER,
    about,
    control_ticks,
    differentiate,
    hold,
    interpolate,
    nearest,
    period,
    rising,
)
from surefoot.logs.robot_log import OPTIONAL
from surefoot.logs.time_gaps import PAUSE_PERIODS
from surefoot.logs.time_unit import unit_of_step
from surefoot.robot.contract import Contract

FEWEST_ROWS = 5  # of an episode
SLOWEST_PERIODS = 10  # between samples: what happens in longer ones cannot be told by interpolation
FASTEST_S = 1e-5  # between samples; no joint is read more often
# times the control rate: the nearest sample is as good as an interpolated one, and is one that was measured
MUCH_FASTER = 4


@dataclass
class ImportNotes:
    """What the user is told about the log, gathered over recordings."""

    derived: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def control_rows(
    channels: dict[str, RecordedChannel], recording: Recording, contract: Contract, story: ImportNotes
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The recording's rows by column of the log, and its rate; gaps are never bridged."""
    name = recording.name
    position = channels["joint_position"]
    step_s, dt_s = period(position.time_s), contract.control_dt_s
    _refuse_clock(step_s, contract, recording)
    gap_s = PAUSE_PERIODS * max(step_s, dt_s) + ROUNDING_S
    runs = _runs(channels, _switched_off(channels, contract, name, story), gap_s, name, story)
    _fill_in(channels, runs, contract, step_s, name, story)
    if "command" not in channels:
        story.assumed["command"] = "no command was recorded; zero was written (say 'command: ...' in the map file)"
    elif (late_s := float(channels["command"].time_s[0] - position.time_s[0])) > gap_s:
        story.assumed["command"] = f"zero for {late_s:.3g} s before the first command of {name}"
    _leave_out_sparse(channels, gap_s, name, story)
    how = "kept" if about(step_s, dt_s) else "nearest" if dt_s / step_s >= MUCH_FASTER else "interpolated"
    foreign = {role: _risen(channel) for role, channel in channels.items() if channel.time_s is not position.time_s}
    parts = [_run(channels, foreign, run, how, gap_s, contract.control_hz) for run in runs]
    columns = _episodes([part[0] for part in parts], channels, gap_s, name, story)
    story.notes += _about_time(position.time_s, name, how, step_s, dt_s, parts[0][1] if parts else "")
    uncovered = sum(part[2] for part in parts)
    if uncovered:
        story.notes.append(f"{name}: {uncovered} rows without an action or another channel near in time were left out")
    seconds = sum(float(position.time_s[run.stop - 1] - position.time_s[run.start]) for run in runs)
    return columns, {"rate_hz": round(1 / step_s, 3), "rows": how, "seconds": round(seconds, 3)}


def _refuse_clock(step_s: float, contract: Contract, recording: Recording) -> None:
    if not step_s:
        raise LogError(
            f"{recording.where}: its time never advances; the time column or clock is wrong ('time:' in the map file)"
        )
    if not FASTEST_S < step_s <= SLOWEST_PERIODS * contract.control_dt_s:
        unit = unit_of_step(step_s, contract.control_dt_s)
        way = f"say 'time: {{from: COLUMN, unit: {unit or 'ms'}}}' in the map file"
        way = (
            f"where that is the wrong unit, {way}"
            if unit is None
            else f"its time may be in {unit}: give the time unit {unit}, or {way}"
        )
        raise LogError(
            f"{recording.where}: its rows are {step_s:.4g} s apart, for a robot that is controlled"
            f" {contract.control_hz:g} times a second; {way}",
            argument="map" if unit is None else "time_unit",
        )


def _switched_off(
    channels: dict[str, RecordedChannel], contract: Contract, name: str, story: ImportNotes
) -> np.ndarray:
    """At which samples of the joint positions a motor did not hold its joint, (samples,); these are cut out."""
    position, enabled = channels["joint_position"], channels.pop("enabled", None)
    off = np.zeros(len(position.time_s), dtype=bool)
    if enabled is None:
        return off
    own = [i for i, joint in enumerate(enabled.names or ()) if joint in contract.joints]
    on = np.asarray((enabled.values[:, own] if own else enabled.values).astype(bool).all(axis=1))
    if not on.any():
        story.notes.append(f"{name}: by {enabled.source} the motors were never on; it was not used")
        return off
    if enabled.time_s is position.time_s:
        off = ~on
    else:
        risen = rising(enabled.time_s)
        held, known = hold(enabled.time_s[risen], on[risen], position.time_s, np.inf)
        off = known & ~held
    phases = int((np.diff(off.astype(int), prepend=0) == 1).sum())
    if phases:
        what = "1 phase with motors off was" if phases == 1 else f"{phases} phases with motors off were"
        story.notes.append(f"{name}: {what} cut out, {int(off.sum())} of {len(off)} samples, by {enabled.source}")
    return off


def _runs(
    channels: dict[str, RecordedChannel], off: np.ndarray, gap_s: float, name: str, story: ImportNotes
) -> list[slice]:
    """Samples of the joint positions with the motors on, and without a gap, a jump of time, or a change of mode or
    episode between them.
    """
    position = channels["joint_position"]
    cuts = (np.abs(np.diff(position.time_s)) > gap_s) | (off[1:] != off[:-1])
    for role in ("mode", "episode"):
        if role in channels and channels[role].time_s is position.time_s:
            cuts |= np.diff(channels[role].values[:, 0]) != 0
    spans = [(a, b) for a, b in _spans(np.flatnonzero(cuts) + 1, len(position.time_s)) if not off[a]]
    runs = [slice(a, b) for a, b in spans if b - a >= FEWEST_ROWS]
    if len(runs) < len(spans):
        story.notes.append(f"{name}: {len(spans) - len(runs)} pieces shorter than {FEWEST_ROWS} rows were left out")
    return runs


def _fill_in(
    channels: dict[str, RecordedChannel],
    runs: list[slice],
    contract: Contract,
    step_s: float,
    name: str,
    story: ImportNotes,
) -> None:
    """Velocity, action and gravity from what was recorded, where they were not."""
    position = channels["joint_position"]
    if "joint_velocity" not in channels:
        slopes = np.full_like(position.values, np.nan)
        for run in runs:
            slopes[run] = differentiate(position.time_s[run], position.values[run])
        channels["joint_velocity"] = RecordedChannel(position.time_s, slopes, position.source)
        story.derived["joint_velocity_rad_s"] = f"{VELOCITY_FILTER}, at {1 / step_s:.4g} Hz"
    target = channels.pop("target", None)
    if target is not None and "action" in channels:
        story.notes.append(f"{name}: actions and joint targets were recorded; the actions were taken")
    elif target is not None:
        channels["action"] = RecordedChannel(
            target.time_s, (target.values - contract.pose_rad) / contract.action_scale_rad, target.source
        )
        story.derived["action"] = "(recorded joint target - pose) / action scale, by the contract"
    _orientation(channels, name, story)


def _risen(channel: RecordedChannel) -> RecordedChannel:
    """The samples of a channel with its own clock that are later than all before them."""
    keep = rising(channel.time_s)
    return channel if keep.all() else replace(channel, time_s=channel.time_s[keep], values=channel.values[keep])


def _about_time(time_s: np.ndarray, name: str, how: str, step_s: float, dt_s: float, followed: str) -> list[str]:
    notes = []
    if how != "kept":
        verb = (
            "the sample nearest to each control tick was taken"
            if how == "nearest"
            else "control ticks were interpolated linearly"
        )
        notes.append(f"{name}: recorded at {1 / step_s:.4g} Hz; {verb} ({1 / dt_s:g} Hz, following {followed})")
    back, same = int((np.diff(time_s) < 0).sum()), int((np.diff(time_s) == 0).sum())
    if back or same:
        kept = "kept as they are" if how == "kept" else "only rising ones were used"
        notes.append(f"{name}: {back} time stamps go back and {same} repeat the one before; {kept}")
    return notes


def _orientation(channels: dict[str, RecordedChannel], name: str, story: ImportNotes) -> None:
    """Unit quaternions of one sign, and gravity from them where it was not recorded."""
    if "quaternion" not in channels:
        return
    channel = channels["quaternion"]
    length = np.linalg.norm(channel.values, axis=1, keepdims=True)
    if np.median(length) < 0.5:
        story.notes.append(f"{name}: {channel.source} holds no unit quaternions and was left out")
        channels.pop("quaternion")
        return
    unit = np.where(length > 0.5, channel.values / np.maximum(length, 1e-12), [1.0, 0.0, 0.0, 0.0])
    turns = np.where(np.einsum("ij,ij->i", unit[1:], unit[:-1]) < 0, -1.0, 1.0)
    unit = (
        unit * np.concatenate([[1.0], np.cumprod(turns)])[:, None]
    )  # q and -q are one orientation; between them lies nonsense
    channels["quaternion"] = replace(channel, values=unit)
    if "gravity" not in channels:
        w, x, y, z = unit.T
        down = np.stack([2 * (w * y - x * z), -2 * (w * x + y * z), -1 + 2 * (x * x + y * y)], axis=1)  # Rᵀ (0, 0, -1)
        channels["gravity"] = RecordedChannel(channel.time_s, down, channel.source)
        story.derived["gravity"] = "from the recorded quaternion"


def _leave_out_sparse(channels: dict[str, RecordedChannel], gap_s: float, name: str, story: ImportNotes) -> None:
    """An optional channel that covers less than half of the time is left out, instead of taking rows away."""
    position = channels["joint_position"]
    for role, channel in list(channels.items()):
        if ROLES[role].column in OPTIONAL and channel.time_s is not position.time_s:
            risen = _risen(channel)
            covered = interpolate(risen.time_s, risen.values, position.time_s, _own_gap_s(risen, gap_s))[1]
            if covered.mean() < 0.5:
                story.notes.append(
                    f"{name}: {role} ({channel.source}) covers {covered.mean():.0%} of the time and was left out"
                )
                del channels[role]


def _own_gap_s(channel: RecordedChannel, gap_s: float) -> float:
    return max(gap_s, PAUSE_PERIODS * period(channel.time_s) + ROUNDING_S)


def _run(
    channels: dict[str, RecordedChannel],
    foreign: dict[str, RecordedChannel],
    run: slice,
    how: str,
    gap_s: float,
    control_hz: float,
) -> tuple[dict[str, np.ndarray], str, int]:
    """Rows of one run, what its ticks follow, and how many rows were left out."""
    base_s = channels["joint_position"].time_s[run]
    index = np.arange(run.start, run.stop)
    at_s, followed = base_s, ""
    if how != "kept":
        rise = rising(base_s)
        index, base_s = index[rise], base_s[rise]
        action = foreign.get("action")
        own_s, acted = (base_s, channels["action"].values[index]) if action is None else (action.time_s, action.values)
        at_s, followed = control_ticks(base_s, own_s, acted, control_hz)
    if how == "nearest":
        picked = np.unique(nearest(base_s, at_s))
        index, at_s = index[picked], base_s[picked]
    rows: dict[str, np.ndarray] = {"time_s": at_s}
    covered = np.ones(len(at_s), dtype=bool)
    for role, channel in channels.items():
        if role not in foreign and how != "interpolated":
            rows[role] = channel.values[index]
            continue
        own = foreign.get(role)
        time_s, values = (base_s, channel.values[index]) if own is None else (own.time_s, own.values)
        # Ticks in a hole of the base would be invented; another channel may pause as long as an episode may.
        widest_s = 2.1 * gap_s / PAUSE_PERIODS if own is None else _own_gap_s(own, gap_s)
        if not ROLES[role].hold:
            rows[role], there = interpolate(time_s, values, at_s, widest_s)
        elif role == "action":
            # The row's action is the one in force in the middle of its period: a policy sends it shortly after it has
            # read the state.
            rows[role], there = hold(time_s, values, at_s if own is None else at_s + 0.5 / control_hz, widest_s)
        else:
            rows[role], known = hold(time_s, values, at_s, np.inf)
            rows[role] = np.where(known[:, None], rows[role], 0.0)
            there = np.ones_like(known)
        covered &= there
    if "quaternion" in rows:
        rows["quaternion"] = rows["quaternion"] / np.linalg.norm(rows["quaternion"], axis=1, keepdims=True)
    return {role: values[covered] for role, values in rows.items()}, followed, int((~covered).sum())


def _episodes(
    runs: list[dict[str, np.ndarray]], channels: dict[str, RecordedChannel], gap_s: float, name: str, story: ImportNotes
) -> dict[str, np.ndarray]:
    """Columns of the log: episodes numbered from 0, each starting at time 0; very short ones are left out."""
    empty = {"time_s": np.zeros(0), **{role: channel.values[:0] for role, channel in channels.items()}}
    rows = {role: np.concatenate([run[role] for run in (empty, *runs)]) for role in empty}
    for role, values in rows.items():
        if role != "time_s":
            values[~(np.abs(values) <= np.finfo(np.float32).max)] = np.nan  # beyond what the file can hold
    run_of_row = np.repeat(np.arange(len(runs)), [len(run["time_s"]) for run in runs])
    whole = np.all(
        [np.isfinite(rows[role]).all(axis=1) for role in ("joint_position", "joint_velocity", "action")], axis=0
    )
    if not whole.all():
        story.notes.append(f"{name}: {int((~whole).sum())} rows with numbers that are not finite were left out")
    rows, run_of_row = {role: values[whole] for role, values in rows.items()}, run_of_row[whole]
    time_s = rows.pop("time_s")
    breaks = (np.abs(np.diff(time_s)) > gap_s) | (np.diff(run_of_row) != 0)
    for role in ("mode", "episode"):
        if role in rows:
            breaks |= np.diff(rows.pop(role)[:, 0]) != 0
    spans = _spans(np.flatnonzero(breaks) + 1, len(time_s))
    kept = [(a, b) for a, b in spans if b - a >= FEWEST_ROWS]
    if len(kept) < len(spans):
        story.notes.append(f"{name}: {len(spans) - len(kept)} pieces shorter than {FEWEST_ROWS} rows were left out")
    if len(kept) > 1:
        story.notes.append(
            f"{name}: cut into {len(kept)} episodes at gaps longer than {gap_s:.3g} s, jumps of time, motors off, or changes"
            " of mode or episode"
        )
    pick = np.concatenate([np.zeros(0, dtype=int), *(np.arange(a, b) for a, b in kept)])
    lengths = [b - a for a, b in kept]
    columns = {str(ROLES[role].column): values[pick] for role, values in rows.items()}
    columns["time_s"] = time_s[pick] - np.repeat([time_s[a] for a, _ in kept], lengths)
    columns["episode"] = np.repeat(np.arange(len(kept), dtype=np.int32), lengths)
    columns.setdefault("command", np.zeros((len(pick), 3)))
    return columns


def _spans(cuts: np.ndarray, length: int) -> list[tuple[int, int]]:
    edges = [0, *(int(c) for c in cuts), length]
    return [(a, b) for a, b in pairwise(edges) if b > a]
