"""Gaps as fit.json holds them, with made-up figures."""

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
