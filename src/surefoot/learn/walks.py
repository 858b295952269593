"""What policies do on walks: how fast they went where, under commands that are held for a while, and who fell."""

import numpy as np

from surefoot.policy.agents import PolicyAgent
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim.falls import Falls
from surefoot.sim.frames import in_heading_frame
from surefoot.sim.worlds import Worlds


def velocities(
    robot: Robot, policy: OnnxPolicy, worlds: Worlds, rising: np.ndarray, heard: np.ndarray, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean velocities (k, n, 3) forward, left and turning under k commands (k, n, 3), each held for
    `seconds`, and who fell, (n,).

    Robots begin at rest; in a posture that has to be risen to, `rising`, (n, 3), is what they hear until
    they should be up.
    """
    contract, posture, n = robot.contract, robot.posture, worlds.n
    worlds.reset()
    agent, falls = PolicyAgent(policy, robot, n), Falls(posture, n, contract.control_dt_s)
    agent.reset(None)
    ticks = max(1, round(seconds * contract.control_hz))
    way, down = np.zeros((len(heard), n, 3)), np.zeros(n, dtype=bool)
    for tick in range(-round(posture.rise_s * contract.control_hz), ticks * len(heard)):
        worlds.step(agent.act(worlds.sensors, heard[tick // ticks] if tick >= 0 else rising))
        quaternion, base = posture.frame(worlds.base_quaternion), worlds.base_velocity
        down |= falls.look(worlds.base_quaternion, worlds.base_position_m[:, 2]) | ~worlds.alive
        if tick >= 0:
            way[tick // ticks] += np.column_stack(
                [in_heading_frame(base[:, :3], quaternion)[:, :2], posture.turned(base[:, 3:])[:, 2]]
            )
    return way / ticks, down


def more_fell(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether more of the same robots, (n,), fell after than before, beyond what chance does to those that
    fell one time and not the other.
    """
    return bool(int(after.sum()) - int(before.sum()) > np.sqrt(int((before ^ after).sum())))
