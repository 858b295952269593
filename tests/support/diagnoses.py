"""A made-up diagnosis of a gap."""

from support.pages import HOSTILE

from surefoot.fit.diagnose import Cause, Diagnosis

FOUND = Diagnosis(
    "it is a spring: it closes 93% of the gap",
    "sure",
    (
        Cause(
            "a torque that depends on position",
            "spring",
            "physics",
            0.93,
            0.02,
            (("spring[calf]", 0.0, 11.7, "N·m/rad"), ("delay_s", 0.0, 0.0, "s")),
            "the gap falls",
        ),
        Cause(HOSTILE, "friction", "numbers", 0.2, 0.2, (), HOSTILE),
    ),
    "all legs alike",
    60,
    1200.0,
    "physics is missing",
    (),
    {"delay_s": 0.003, "spring_stiffness_nm_per_rad": 11.7},
)
