"""Mean velocities of policies under commands that are held for a while, and which robots fell."""

import numpy as np

from surefoot.errors import PolicyError
from surefoot.policy.agents import PolicyAgent
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim.nonfinite import NonFiniteProbe, nonfinite
from surefoot.sim.probes import FallProbe, TrackingProbe
from surefoot.sim.walk import Script, rise_ticks, walk
from surefoot.sim.worlds import Worlds


def velocities(
    robot: Robot, policy: OnnxPolicy, worlds: Worlds, rising: np.ndarray, heard: np.ndarray, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean velocities (k, n, 3) forward m/s, left m/s and turn rad/s under k commands (k, n, 3), each held for
    `seconds`, and which robots fell, (n,).

    Robots begin at rest; in a posture that has to be risen to, `rising`, (n, 3), is what they hear until
    they should be up.
    """
    ticks = max(1, round(seconds * robot.contract.control_hz))
    agent, tracking, falls = (
        PolicyAgent(policy, robot, worlds.n),
        TrackingProbe(robot.posture),
        FallProbe(robot.posture),
    )
    finite = NonFiniteProbe()
    worlds.reset()
    agent.reset(None)
    script = Script(heard.repeat(ticks, axis=0), n_rise=rise_ticks(robot), rise_command=rising)
    walk(worlds, agent, script, (tracking, falls, finite))
    broken = nonfinite([(finite.result(), np.arange(worlds.n))], worlds.control_dt_s)
    if broken is not None:
        raise PolicyError(f"{policy.name}: {broken.says}")
    held = tracking.result().velocity.reshape(worlds.n, len(heard), ticks, 3)
    # tick after tick: the same robot has the same mean to the last bit in whatever batch it walks
    total = np.cumsum(held, axis=2)[:, :, -1]
    return np.ascontiguousarray(total.swapaxes(0, 1)) / ticks, falls.result().fell


def more_fell(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether more of the same robots, (n,), fell after than before, beyond what chance does to those that
    fell one time and not the other.
    """
    return bool(int(after.sum()) - int(before.sum()) > np.sqrt(int((before ^ after).sum())))
