"""Made-up results of a fit, with the measurements before and after it."""

import numpy as np

from surefoot.adapt import make_knobs
from surefoot.adapt.adaptation import Adaptation, Fitted
from surefoot.fit.result import FitResult, SearchIteration
from surefoot.gap import Gap, Measured
from surefoot.gap.channels import PUBLISHED, channels_of
from surefoot.gap.costs import RobotSamples
from surefoot.gap.schedule import Schedule
from surefoot.gap.simulate import Simulated, Simulator
from surefoot.policy.driver import make_driver
from surefoot.robot import Robot

PARAMETERS = ("dry_friction_nm", "armature_kgm2", "viscous_friction_nms", "delay_s", "torque_noise_nm")
TICKS = 20


def measured(robot: Robot, total: float, floor: float, limit: float, episodes: int = 4, error: float = 0.1) -> Measured:
    """A made-up measurement with a gap of `total`, uneven over the channels; episode 0 is in two pieces."""
    rng = np.random.default_rng(episodes)
    channels = channels_of(robot.contract, PUBLISHED)
    n, pieces = len(channels), episodes + 1
    piece = np.repeat(np.arange(pieces), TICKS)
    samples = rng.normal(size=(len(piece), n)).astype(np.float32)
    spread = np.ones(n)
    share = np.linspace(1.9, 0.1, n)
    runs = tuple(
        Simulated(
            (samples + total * share + 0.1 * rng.normal(size=samples.shape)).astype(np.float32)[None],
            piece,
            np.zeros(1),
        )
        for _ in range(2)
    )
    gap = Gap(
        channels,
        spread,
        total * share,
        np.full(n, floor),
        np.full(n, limit),
        total,
        (total * (1 - error), total * (1 + error)),
        floor,
        floor,
        limit,
        pieces,
        len(piece) * 0.02,
        0.0,
    )
    still = np.zeros((pieces, TICKS))
    schedule = Schedule(
        np.zeros((pieces, TICKS, 3)),
        np.zeros((pieces, robot.contract.n_joints)),
        still > -1,
        tuple(slice(TICKS * i, TICKS * (i + 1)) for i in range(pieces)),
        np.maximum(np.arange(pieces) - 1, 0),
        0.02,
    )
    return Measured(
        gap,
        RobotSamples(samples, piece, channels, spread),
        runs,
        Simulator(make_driver("zero", robot), schedule, PUBLISHED),
    )


def fitted(robot: Robot) -> tuple[Fitted, ...]:
    """Every knob of three parameters per joint and two of one value, found a little above its start."""
    found = []
    for knob in make_knobs(robot, PARAMETERS):
        value = min(knob.start + 0.3 * (abs(knob.start) or knob.step), knob.high)
        where = tuple(robot.contract.joints[k] for k in knob.entries) if knob.label else ()
        found.append(
            Fitted(
                knob.name,
                knob.parameter,
                where,
                knob.unit,
                knob.start,
                value,
                (0.9 * value, 1.1 * value),
                (knob.low, knob.high),
            )
        )
    return tuple(found)


def made(
    robot: Robot,
    before: Measured,
    after: Measured,
    held_before: Measured | None,
    held_after: Measured | None,
    costs: tuple[float, ...] = (0.1, 0.0046, 0.004, 0.0045, 0.004),
) -> FitResult:
    knobs = fitted(robot)
    start, end = (np.array([getattr(knob, name) for knob in knobs]) for name in ("start", "value"))
    steps = tuple(
        SearchIteration(i, cost, 60 * (i + 1), 8640.0 * (i + 1), 33.0 * (i + 1), tuple(end + 0.3**i * (start - end)))
        for i, cost in enumerate(costs)
    )
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * len(knobs), len(knobs)))
    correlation: np.ndarray = np.asarray(np.corrcoef(rows, rowvar=False))
    correlation[0, -2] = correlation[-2, 0] = 0.93  # the first joint's friction and the delay
    correlation[1, 2] = correlation[2, 1] = -0.88
    adaptation = Adaptation(robot.name, robot.hash, "static", knobs, {})
    return FitResult(
        adaptation,
        "quantile",
        steps,
        before,
        after,
        held_before,
        held_after,
        correlation,
        "the gap reached its floor",
        ("2 pieces fell and count less",),
    )
