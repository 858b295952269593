"""Which commands the log holds, which it lacks, and what to record next."""

from typing import Any

import numpy as np

from surefoot.logs.doctor.findings import Finding
from surefoot.logs.robot_log import RobotLog
from surefoot.robot import Contract

CELLS = 3  # along each axis of the command
# Words for the lowest, middle and highest third of each axis.
WORDS = (
    ("walking backward", "slow or no forward speed", "walking forward"),
    ("stepping right", "little sideways speed", "stepping left"),
    ("turning right", "little turning", "turning left"),
)
AXES = (("vx", "m/s"), ("vy", "m/s"), ("wz", "rad/s"))
THIN = 0.02  # share of the usable time below which a third counts as missing
FEWEST_S = 10.0  # below, chance decides
EPISODE_S = 4.0  # of the recordings that are proposed


def command_grid(command: np.ndarray, usable: np.ndarray, contract: Contract) -> np.ndarray:
    """Share of the usable rows in each cell of the command range, (CELLS, CELLS, CELLS); commands beyond it
    count at its edge.
    """
    grid = np.zeros((CELLS, CELLS, CELLS))
    kept = command[usable]
    if not len(kept):
        return grid
    low, high = np.array(contract.command_range).T
    width = np.maximum(high - low, 1e-12)
    cell = np.clip(((np.nan_to_num(kept) - low) / width * CELLS).astype(int), 0, CELLS - 1)
    cell[:, high - low <= 1e-12] = CELLS // 2
    np.add.at(grid, tuple(cell.T), 1.0)
    return grid / len(kept)


def check_coverage(
    log: RobotLog, contract: Contract, grid: np.ndarray, usable_s: float
) -> tuple[list[str], list[Finding]]:
    """Missing parts in words, and findings about commands."""
    findings: list[Finding] = []
    supposed = _said(log.metadata, "assumed")
    made_up = "command" in supposed and not np.nan_to_num(log.command).any()
    for name, how in supposed.items():
        if not (name == "command" and made_up):
            findings.append(
                Finding(
                    "assumed",
                    "note",
                    f"the importer had to suppose the {name}",
                    how,
                    "if it supposed wrongly, all that depends on it is wrong",
                    "say it in the map file, if this is not how it was",
                )
            )
    if made_up:
        findings.append(
            Finding(
                "no-command",
                "error",
                "the log holds no command",
                supposed["command"],
                "rollouts run under the log's own commands; without them the robot cannot be compared with its"
                " simulator",
                "record the velocity command that the policy was given, and name its column in the mapping file",
            )
        )
        return [], findings
    if usable_s < FEWEST_S:
        return [], findings
    missing = []
    for axis, words in enumerate(WORDS):
        low, high = contract.command_range[axis]
        if high - low <= 1e-12:
            continue
        share = grid.sum(axis=tuple(a for a in range(3) if a != axis))
        for cell in np.flatnonzero(share < THIN):
            ends = low + (high - low) * np.array([cell, cell + 1]) / CELLS
            name, unit = AXES[axis]
            missing.append(f"{words[cell]} ({name} {ends[0]:+.2g} to {ends[1]:+.2g} {unit})")
    if missing:
        findings.append(
            Finding(
                "coverage",
                "warning",
                f"the log lacks {'; '.join(missing)}",
                f"less than {THIN:.0%} of the usable time in each of them; {np.count_nonzero(grid)} of {grid.size}"
                " cells of the command range are visited",
                "what a robot never did while it was logged, a fitted simulator guesses",
                f"record also {'; '.join(missing)}",
            )
        )
    elif np.count_nonzero(grid) < grid.size and all(high - low > 1e-12 for low, high in contract.command_range):
        empty = np.argwhere(grid == 0)
        named = "; ".join(" + ".join(WORDS[axis][c] for axis, c in enumerate(cell)) for cell in empty[:3])
        findings.append(
            Finding(
                "coverage",
                "note",
                f"{len(empty)} of {grid.size} combinations of commands are missing",
                f"among them {named}",
                "each direction is there, though not every mix of them",
                "nothing, or a longer recording",
            )
        )
    return missing, findings


def check_amount(usable_s: float, needed_s: float) -> list[Finding]:
    """Minutes against what a fit needs."""
    if usable_s >= 0.75 * needed_s:
        return []
    little = usable_s < 0.25 * needed_s
    return [
        Finding(
            "too-short",
            "error" if little else "warning",
            f"{usable_s / 60:.1f} of {needed_s / 60:.1f} minutes that a fit needs are usable",
            f"{usable_s:.1f} s remain after cuts",
            "with so little, chance looks like physics" if little else "intervals of fitted parameters will be wide",
            f"record {(needed_s - usable_s) / 60:.1f} more minutes",
        )
    ]


def propose(missing: list[str], usable_s: float, needed_s: float) -> str | None:
    """The next recording in words; None where nothing is missing."""
    lacking_s = max(needed_s - usable_s, 0.0)
    if lacking_s <= 0.25 * needed_s and not missing:
        return None
    episodes = max(4 * len(missing), int(np.ceil(lacking_s / EPISODE_S)))
    what = "; ".join(missing) if missing else "random commands over the whole range"
    return f"record {episodes} episodes of {EPISODE_S:g} s with {what}, each command held for about 2 s"


def derived(metadata: dict[str, Any], name: str) -> str | None:
    """How the importer says that it computed a channel; None where it was recorded."""
    return next((how for key, how in _said(metadata, "derived").items() if name in key), None)


def _said(metadata: dict[str, Any], what: str) -> dict[str, str]:
    """What the importer says about channels that it did not find, by name."""
    value = metadata.get(what)
    if isinstance(value, dict):
        return {str(key): str(how)[:200] for key, how in value.items()}
    return {str(key): what for key in value} if isinstance(value, list) else {}
