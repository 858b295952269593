"""Made-up results of the steps of a loop, as their files hold them."""

from typing import Any

import numpy as np

from surefoot.files import json_ready
from surefoot.logs import RobotLog
from surefoot.robot import Robot
from surefoot.verify.compare import PER_EPISODE, Compared, Estimate, FallCounts, Side
from surefoot.verify.fit_gap import FitGap
from surefoot.verify.paths import Track
from surefoot.verify.rules import Reason
from surefoot.verify.verdict import Verdict

BEFORE_GAP = {
    "total": 0.192,
    "interval": [0.19, 0.195],
    "floor": 0.012,
    "robot_floor": 0.012,
    "limit": 0.014,
    "measurable": True,
    "pieces": 4,
    "seconds": 4.0,
    "fallen": 0.0,
    "channels": [
        {"where": "FL_calf_joint", "kind": "position", "distance": 0.4, "floor": 0.01, "limit": 0.02, "spread": 0.2}
    ],
}
ADAPTED_GAP = BEFORE_GAP | {"total": 0.012, "floor": 0.011, "measurable": False}


def log_of(robot: Robot, seed: int = 0, gyro: bool = True, **metadata: Any) -> RobotLog:
    """Four episodes of a second; numbers without any meaning."""
    contract, rng = robot.contract, np.random.default_rng(seed)
    ticks = round(contract.control_hz) + 1
    rows = 4 * ticks
    joints: dict[str, Any] = {
        name: rng.normal(size=(rows, contract.n_joints)).astype(np.float32)
        for name in ("joint_position_rad", "joint_velocity_rad_s", "action")
    }
    return RobotLog(
        joints=contract.joints,
        episode=np.repeat(np.arange(4, dtype=np.int32), ticks),
        time_s=np.tile(np.arange(ticks) / contract.control_hz, 4),
        command=np.zeros((rows, 3), np.float32),
        gyro_rad_s=np.zeros((rows, 3), np.float32) if gyro else None,
        gravity=np.tile(np.array([0, 0, -1], np.float32), (rows, 1)),
        **joints,
        metadata={"control_hz": contract.control_hz, "robot_hash": robot.hash, "fallen_episodes": 1, **metadata},
    )


def doctor_figures(exit_code: int = 0, findings: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"exit_code": exit_code, "findings": findings or [], "usable_s": 252.0, "needed_s": 240.0}


def gap_figures() -> dict[str, Any]:
    cause = {
        "name": "friction and inertia of the joints",
        "key": "friction",
        "kind": "numbers",
        "explains": 0.86,
        "cost": 0.03,
        "values": [],
        "evidence": "With it free, the gap falls.",
    }
    diagnosis = {
        "says": "it is friction and inertia of the joints: that closes 86% of the gap",
        "sure": "sure",
        "causes": [cause],
        "where": "spread",
        "free": [],
        "advice": "identify them",
        "settings": {},
    }
    return {"gap": dict(BEFORE_GAP), "diagnosis": diagnosis}


def fit_figures() -> dict[str, Any]:
    held = ADAPTED_GAP | {"total": 0.013}
    gaps = {"before": BEFORE_GAP, "after": ADAPTED_GAP, "held_out_before": BEFORE_GAP, "held_out_after": held}
    return {
        "gaps": gaps,
        "knobs": [{"name": "delay_s"}],
        "verdict": "The gap fell from 0.192 to 0.012 (floor 0.011).",
        "knots": [],
    }


def evaluation(drift_m: float | None, error_m_s: float | None, falls: int = 0, pushed: int = 0) -> dict[str, Any]:
    straight = {"command": [1.0, 0.0, 0.0], "lateral_abs_m": drift_m, "episodes": 8, "falls": 0}
    turn = {"command": [0.0, 0.0, 1.0], "lateral_abs_m": 9.0, "episodes": 8, "falls": falls}
    walk = {"velocity_error_m_s": error_m_s, "episodes": 40, "falls": falls}
    return {"walk": walk, "pushed": walk | {"falls": pushed}, "directions": {"+x": straight, "turn left": turn}}


TRACK = Track((0.0, 0.5, 1.0), (0.0, 0.1, 0.2), (0.0, 0.05, 0.1), (0.0, 0.15, float("nan")))
CLOSED = FitGap(0.192, 0.013, 0.011, measurable=False, nearer=True, held_out=True)
LEFT = FitGap(0.16, 0.031, 0.012, measurable=True, nearer=True, held_out=True)


def verdict_figures(go: bool = True, fit: FitGap | None = CLOSED) -> dict[str, Any]:
    """As `Verdict.to_dict` gives them."""

    def side(scale: float) -> Side:
        figures = {name: Estimate(scale, 0.9 * scale, 1.1 * scale, 20) for name in PER_EPISODE}
        drift = {
            "+x": Estimate(scale, 0.5 * scale, 1.5 * scale, 6),
            "-x": Estimate(float("nan"), float("nan"), float("nan"), 0),
        }
        return Side(figures, 0.6, drift, drift, drift)

    change = {name: Estimate(-0.5, -0.6, -0.4, 20) for name in PER_EPISODE}
    named = tuple(
        Compared(name, side(1.0), side(0.5), change, FallCounts(44, 0, 0, 0), FallCounts(20, 1, 0, 0))
        for name in ("nominal", "adapted", "twin go2-identified")
    )
    reasons = (
        ()
        if go
        else (
            Reason("more falls", "adapted", "more falls (9 of 44, was 0): at a low delay"),
            Reason("worse", "nominal", "worse"),
        )
    )
    paths = {one.name: ({"+x": TRACK, "-x": TRACK}, {"+x": TRACK, "-x": TRACK}) for one in named}
    found = Verdict(reasons, ("total drift 1 → 0.5 m",), named, None, (), (), (), paths, fit=fit)
    return dict(json_ready(found.to_dict()))
