"""The built-in step: two robots with two legs, and what it refuses."""

import dataclasses

import numpy as np
import pytest
from support.policy_files import sensors_of
from support.robot_files import BIPED

from surefoot.errors import RobotError
from surefoot.policy import StepAgent, make_agent
from surefoot.robot import Robot, Sensors, load_robot
from surefoot.sim import Worlds

N = 6
SPREAD_RAD = 0.05  # of the joints at the start


@pytest.fixture(scope="module", params=["g1", BIPED], ids=["g1", "biped"])
def walker(request) -> Robot:
    return load_robot(request.param)


def walk(robot: Robot, commands: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean velocity (n, 3) in level axes of the base after 2 s, and the lowest uprightness, (n,)."""
    n, contract = len(commands), robot.contract
    worlds, agent = Worlds(robot, n, threads=1), StepAgent(robot)
    spread = np.random.default_rng(0).uniform(-SPREAD_RAD, SPREAD_RAD, (n, contract.n_joints))
    low, high = np.array(contract.position_limit_rad).T
    worlds.reset(joint_position_rad=np.clip(np.array(contract.pose_rad) + spread, low, high))
    motion, upright = [], np.ones(n)
    for k in range(round(seconds * contract.control_hz)):
        worlds.step(agent.act(worlds.sensors, commands))
        upright = np.minimum(upright, -worlds.sensors.gravity[:, 2])
        if k >= 2 * contract.control_hz:
            w, x, y, z = worlds.base_quaternion.T
            heading = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            velocity = worlds.base_velocity
            c, s = np.cos(heading), np.sin(heading)
            ahead, left = c * velocity[:, 0] + s * velocity[:, 1], c * velocity[:, 1] - s * velocity[:, 0]
            motion.append(np.column_stack([ahead, left, velocity[:, 5]]))
    return np.mean(motion, axis=0), upright


class TestSteps:
    def test_steps_in_place_from_any_start(self, walker: Robot) -> None:
        motion, upright = walk(walker, np.zeros((N, 3)), 10.0)
        assert (upright > 0.9).all()
        assert np.abs(motion[:, :2]).max() < 0.05

    def test_walks_where_it_is_told(self, walker: Robot) -> None:
        commands = np.array([(0.25, 0, 0), (-0.2, 0, 0), (0, 0.12, 0), (0, -0.12, 0)])
        motion, upright = walk(walker, commands, 6.0)
        assert (upright > 0.9).all()
        np.testing.assert_allclose(motion[:, :2], commands[:, :2], atol=0.07)

    def test_turns_both_ways(self) -> None:
        motion, upright = walk(load_robot("g1"), np.array([(0, 0, 0.3), (0, 0, -0.3)]), 6.0)
        assert (upright > 0.9).all()
        assert motion[0, 2] > 0.1 > -0.1 > motion[1, 2]

    def test_each_robot_has_its_own_time_and_command(self, walker: Robot, random: np.random.Generator) -> None:
        """To the last bit, whoever walks beside it."""
        agent, seen = StepAgent(walker), sensors_of(random, 8, walker.contract.n_joints)
        seen = dataclasses.replace(seen, time_s=random.uniform(0, 9, 8))
        command = random.uniform(-1, 1, (8, 3))
        together = agent.act(seen, command)
        for k in range(8):
            values = {field.name: getattr(seen, field.name) for field in dataclasses.fields(Sensors)}
            alone = Sensors(**{name: None if value is None else value[k : k + 1] for name, value in values.items()})
            np.testing.assert_array_equal(agent.act(alone, command[k : k + 1])[0], together[k])

    def test_moves_the_legs_alone(self, random: np.random.Generator) -> None:
        g1 = load_robot("g1")
        action = StepAgent(g1).act(sensors_of(random, 2, 29, time_s=1.0), np.zeros((2, 3)))
        assert action[:, :12].all()
        assert not action[:, 12:].any()


class TestRefusals:
    def test_other_numbers_of_feet(self, robot: Robot) -> None:
        with pytest.raises(RobotError, match=f"for robots with two feet, and {robot.name} has {len(robot.feet)}.*trot"):
            make_agent("step", robot, 1)

    def test_a_leg_whose_joints_take_no_position(self) -> None:
        g1 = load_robot("g1")
        kinds = tuple("torque" if name == "left_knee_joint" else "position" for name in g1.contract.joints)
        changed = dataclasses.replace(g1, contract=dataclasses.replace(g1.contract, action_kind=kinds))
        with pytest.raises(RobotError, match="takes none for left_knee_joint"):
            StepAgent(changed)
