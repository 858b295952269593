"""The robot: `robot.yaml` + MJCF or URDF in, one frozen and hashed description out.

Everything later reads joint order, pose, gains, limits, scales, observation layout and rates from here.
It must not know policies or logs.
"""

from surefoot.robot.contract import Contract, Term
from surefoot.robot.load import Mirror, Robot, load_robot
from surefoot.robot.posture import LEVEL, Posture
from surefoot.robot.sensors import Sensors

__all__ = ["LEVEL", "Contract", "Mirror", "Posture", "Robot", "Sensors", "Term", "load_robot"]
