"""What drove a robot: a policy whose file is read once, something built in, or a recording that is played again."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from surefoot.files import sha256
from surefoot.policy.agents import BUILT_IN, Agent, PolicyAgent, ZeroAgent, find_policy, make_agent, with_policy_posture
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot

REPLAY = "replay"  # instead of a policy: play the log's actions again, on a robot that hangs


@dataclass(frozen=True, eq=False)
class Driver:
    """Makes agents for any number of worlds, for the robot in the posture that the policy names."""

    robot: Robot
    make: Callable[[int], Agent]
    policy: OnnxPolicy | None  # None: built in, or a replay
    label: str
    hash: str
    word: str  # by which it was asked for: a name or a path

    @property
    def replays(self) -> bool:
        """Whether recorded actions are played again."""
        return self.word == REPLAY


def make_driver(policy: "str | Path | OnnxPolicy | Driver", robot: Robot, seed: int = 0) -> Driver:
    """A driver from a policy, its path or shipped name, the name of something built in, or 'replay'; a driver stays."""
    if isinstance(policy, Driver):
        return policy
    word = policy.name if isinstance(policy, OnnxPolicy) else str(policy)
    if word == REPLAY:
        return Driver(robot, lambda _: ZeroAgent(), None, REPLAY, sha256(REPLAY.encode()), REPLAY)
    if not isinstance(policy, OnnxPolicy) and word in BUILT_IN:
        agent = make_agent(word, robot, 1, seed=seed)
        return Driver(robot, lambda n: make_agent(word, robot, n, seed=seed), None, agent.label, agent.hash, word)
    loaded = policy if isinstance(policy, OnnxPolicy) else OnnxPolicy.load(find_policy(policy, robot))
    used = with_policy_posture(robot, loaded)
    loaded.check(used)
    return Driver(used, lambda n: PolicyAgent(loaded, used, n), loaded, Path(loaded.name).stem, loaded.hash, word)
