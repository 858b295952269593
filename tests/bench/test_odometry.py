"""The figures of the bench of leg odometry."""

import numpy as np
import odometry
import pytest

from surefoot.robot import load_robot
from surefoot.sim.physics import Physics


@pytest.fixture(scope="module")
def recording():
    return odometry.record(Physics(load_robot(odometry.HEXAPOD), odometry.NOISE), "trot", 2, 1.0, seed=1)


def test_each_estimator_sees_the_same_walk(recording):
    shape = recording.velocity.shape
    given = {name: estimate(recording) for name, estimate in odometry.ESTIMATORS.items()}
    assert {estimates.shape for estimates in given.values()} == {shape}
    figures = {name: odometry.errors([(recording, estimates)]) for name, estimates in given.items()}
    assert figures["odometry"]["across"] < figures["all feet"]["across"]
    assert figures["zero"]["total"] == pytest.approx(
        np.sqrt((recording.velocity[recording.counted] ** 2).sum(1).mean())
    )


def test_errors_are_split_along_and_across_gravity(recording):
    wrong = recording.velocity + 0.3 * recording.down
    figures = odometry.errors([(recording, wrong)])
    assert figures["along"] == pytest.approx(0.3)
    assert figures["across"] == pytest.approx(0.0, abs=1e-6)
    assert figures["total"] == pytest.approx(figures["worst"]) == pytest.approx(0.3)


def test_the_first_ticks_do_not_count(recording):
    assert recording.counted.sum(axis=0).max() == round((1.0 - odometry.WARM_S) * 50)
