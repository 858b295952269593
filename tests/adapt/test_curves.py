"""Curves as knobs: where their knots lie, and what they add to worlds."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.adapt import SearchSpace, with_curves
from surefoot.adapt.curves import KNOTS, groups_of
from surefoot.errors import FitError
from surefoot.sim import Worlds
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import INPUTS, TorqueCurve


def seen(robot, rows: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    shape = (rows, robot.contract.n_joints)
    pose = np.array(robot.contract.pose_rad)
    return {
        "error": rng.normal(0, 0.1, shape),
        "position": pose + rng.normal(0, 0.2, shape),
        "velocity": rng.normal(0, 3.0, shape),
    }


def input_of(knot) -> str:
    return INPUTS[knot.input]


class TestCurves:
    def test_knots_lie_over_what_was_seen_and_share_by_type(self, robot) -> None:
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        types = groups_of(robot, per_joint=False)
        assert len(family.knobs) == len(types) * (KNOTS["position"] + KNOTS["error"] - 1 + KNOTS["velocity"] - 1)
        assert {knob.entries for knob in family.knobs} == set(types.values())
        one = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot), per_joint=True)
        assert len(one.knobs) == robot.contract.n_joints / len(types) * len(family.knobs)

    def test_a_joint_that_hardly_moved_has_no_curve(self, robot) -> None:
        still = seen(robot)
        still["position"][:, next(iter(groups_of(robot, False).values()))] = 0.5
        family = with_curves(SearchSpace(Physics(robot, {}), ()), still)
        first = next(iter(groups_of(robot, False).values()))
        assert not [knob for knob in family.knobs if knob.entries == first and input_of(knob) == "position"]

    def test_batched_and_single_curves_agree_and_are_level_beyond(self, robot) -> None:
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        turns = np.random.default_rng(1).normal(0, 1.0, (3, len(family.knobs)))
        added = family.curves(turns, pieces=4)
        inputs = np.random.default_rng(2).normal(0, 2.0, (3, 12, robot.contract.n_joints))
        torque = added(*inputs)
        for world in range(12):
            for joint in range(robot.contract.n_joints):
                alone = family.curve_of(turns[world // 4], joint)(inputs[:, world, joint][None])
                np.testing.assert_allclose(torque[world, joint], alone[0], atol=1e-12)
        far = [np.full((12, robot.contract.n_joints), value) for value in (50.0, 100.0)]
        np.testing.assert_allclose(added(far[0], far[0], far[0]), added(far[1], far[1], far[1]))

    def test_nothing_at_rest_of_error_and_velocity(self, robot) -> None:
        """Constants belong to the position's curve alone, or they could not be told apart."""
        family = with_curves(SearchSpace(Physics(robot, {}), ()), seen(robot))
        turns = np.array([[0.0 if input_of(knob) == "position" else 1.0 for knob in family.knobs]])
        zero = np.zeros((1, robot.contract.n_joints))
        np.testing.assert_allclose(family.curves(turns)(zero, zero, zero), 0.0, atol=1e-12)

    @pytest.mark.parametrize("adds", ["torque", "action"])
    def test_applied_to_worlds(self, robot, adds) -> None:
        family = with_curves(SearchSpace(Physics(robot, {"dry_friction_nm": 0.3}), ()), seen(robot), adds)
        turns = np.zeros((2, len(family.knobs)))
        turns[1] = 1.0
        worlds = Worlds(robot, 4, threads=1)
        family.apply(worlds, turns, 2)
        worlds.reset()
        for _ in range(5):
            worlds.step(np.zeros((4, robot.contract.n_joints)))
        moved = worlds.sensors.joint_position_rad
        np.testing.assert_array_equal(moved[0], moved[1])
        assert np.abs(moved[2] - moved[0]).max() > 1e-3
        assert (worlds.get("dry_friction_nm") == 0.3).all()

    @pytest.mark.parametrize("adds", ["torque", "action"])
    def test_curves_add_to_those_that_the_physics_has(self, robot, adds) -> None:
        """Every point has what its base has: a point of zeros moves as the base does, again and again."""
        base = Physics(robot, {}, curves=(TorqueCurve((1,), (-3.0, 3.0), (3.0, -3.0)),))
        space = with_curves(SearchSpace(base, ()), seen(robot), adds)
        worlds, zeros = Worlds(robot, 1, threads=1), np.zeros((1, len(space.knobs)))
        inputs = np.random.default_rng(2).normal(0, 0.3, (3, 1, robot.contract.n_joints))
        for turns in (zeros, zeros + 1.0, zeros):
            space.apply(worlds, turns, 1)
            expected = base.curves[0](*inputs) + (space.curves(turns)(*inputs) if adds == "torque" else 0.0)
            np.testing.assert_allclose(worlds.residual(*inputs), expected, atol=1e-12)

    def test_a_network_that_would_be_replaced_is_refused(self, robot) -> None:
        layers = ((np.ones((1, 3)), np.zeros(1)),)
        network = Network("torque", (JointGroup((robot.contract.joints[0],), layers, 1.0),))
        base = replace(Physics(robot, {}), network=network)
        with pytest.raises(FitError, match="has a network, which a new one would replace; leave it out"):
            with_curves(SearchSpace(base, ()), seen(robot))
