"""The policy: an ONNX file with the robot's contract inside, and sensor readings, in; a batch of actions out.

Built-in agents (zero, random, trot, step) act through the same interface, to look at a robot before it has a policy.
It must not know training, simulators or logs.
"""

from typing import TYPE_CHECKING

from surefoot.lazy import lazy_names

if TYPE_CHECKING:
    from surefoot.policy.agents import Agent, PolicyAgent, RandomAgent, ZeroAgent, make_agent, with_policy_posture
    from surefoot.policy.estimate import Estimator, OnnxEstimator
    from surefoot.policy.export_mlp import write_mlp
    from surefoot.policy.observation import Observer
    from surefoot.policy.odometry import LegOdometry
    from surefoot.policy.onnx_policy import OnnxPolicy, attach
    from surefoot.policy.step import StepAgent, StepGait
    from surefoot.policy.trot import Gait, TrotAgent

__all__ = [
    "Agent",
    "Estimator",
    "Gait",
    "LegOdometry",
    "Observer",
    "OnnxEstimator",
    "OnnxPolicy",
    "PolicyAgent",
    "RandomAgent",
    "StepAgent",
    "StepGait",
    "TrotAgent",
    "ZeroAgent",
    "attach",
    "make_agent",
    "with_policy_posture",
    "write_mlp",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("Agent", "PolicyAgent", "RandomAgent", "ZeroAgent", "with_policy_posture", "make_agent"),
            "surefoot.policy.agents",
        ),
        **dict.fromkeys(("Estimator", "OnnxEstimator"), "surefoot.policy.estimate"),
        "LegOdometry": "surefoot.policy.odometry",
        "write_mlp": "surefoot.policy.export_mlp",
        "Observer": "surefoot.policy.observation",
        **dict.fromkeys(("OnnxPolicy", "attach"), "surefoot.policy.onnx_policy"),
        **dict.fromkeys(("StepAgent", "StepGait"), "surefoot.policy.step"),
        **dict.fromkeys(("Gait", "TrotAgent"), "surefoot.policy.trot"),
    },
)
