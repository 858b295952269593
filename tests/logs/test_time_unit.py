"""The unit of time that a log is in."""

import dataclasses

import numpy as np
import pytest

from surefoot.logs import RobotLog, record
from surefoot.logs.time_unit import unit_of_time
from surefoot.sim.twin import load_twin


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return record(load_twin("go2-identified"), "walk", rollouts=8, seconds=4.0, seed=1)


@pytest.mark.parametrize("rate_hz", [50, 200, 500, 1000])
@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_the_unit_of_time_at_usual_rates(log, rate_hz, unit, factor) -> None:
    time_s = np.arange(len(log.time_s)) / rate_hz
    changed = dataclasses.replace(log, time_s=time_s * factor, episode=np.zeros_like(log.episode))
    assert unit_of_time(changed, 0.02) == unit
    assert unit_of_time(dataclasses.replace(changed, time_s=time_s), 0.02) is None
