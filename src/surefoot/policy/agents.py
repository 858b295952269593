"""What can drive a robot: a policy, or something built in. All act on a batch of robots at once."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from surefoot.errors import PolicyError, nearest
from surefoot.files import path_of, sha256
from surefoot.policy.estimate import make_estimator
from surefoot.policy.observation import Observer
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.policy.trot import TrotAgent
from surefoot.robot import Contract, Robot, Sensors
from surefoot.robot.posture import POSTURE_KEY, read_posture
from surefoot.robot.targets import clip_actions

BUILT_IN = ("zero", "random", "trot")
LARGEST_COMMAND = 10.0  # m/s or rad/s, of a policy that brings its own range


class Agent(Protocol):
    """Turns sensor readings and commands into actions, for n robots at once."""

    @property
    def label(self) -> str:
        """A short name, for tables."""
        ...

    @property
    def hash(self) -> str:
        """Hash of all that decides what it does, for provenance."""
        ...

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots, of all without `ids`."""
        ...

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints), float64, for a command (n, 3) of forward m/s, left m/s and turn rad/s."""
        ...


class ZeroAgent:
    """Holds the default pose."""

    label = "zero"
    hash = sha256(b"zero")

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Zeros (n, n_joints)."""
        return np.zeros(sensors.joint_position_rad.shape)


class RandomAgent:
    """Independent normal actions; a reset does not rewind them, so that no two episodes are alike."""

    label = "random"

    def __init__(self, seed: int = 0, std: float = 1.0) -> None:
        self.hash = sha256(b"random", repr((seed, std)).encode())
        self._std = std
        self._random = np.random.default_rng(seed)

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Normal numbers (n, n_joints) with the given standard deviation."""
        return self._std * self._random.standard_normal(sensors.joint_position_rad.shape)


class PolicyAgent:
    """A policy in the loop: it observes its own previous output, clipped, and zero after a reset.

    Actions are as wide as the contract's joints. Joints that the policy does not drive get 0, which holds their pose.
    """

    def __init__(self, policy: OnnxPolicy, robot: Robot, n: int) -> None:
        policy.check(robot)
        contract = policy.contract
        self.policy = policy
        self.label = Path(policy.name).stem
        self.hash = policy.hash
        self._observer = Observer(contract, n)
        self._estimate = make_estimator(robot, contract, n)
        self._last_action = np.zeros((n, contract.n_joints))
        self._state = policy.initial_state(n)

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the previous action, the history and the recurrent state of some robots, of all without `ids`."""
        rows = slice(None) if ids is None else ids
        self._observer.reset(ids)
        self._last_action[rows] = 0.0
        for part in self._state:
            part[rows] = 0.0
        if self._estimate is not None:
            self._estimate.reset(ids)

    def remember(self, last_action: np.ndarray) -> None:
        """Go on as if these (n, n_joints) had been the previous actions."""
        self._last_action[:] = last_action

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints), clipped as the contract says; a row that is not finite stays so until its reset."""
        if self._estimate is not None:
            sensors = replace(sensors, base_velocity_m_s=self._estimate.update(sensors, command, self._last_action))
        observations = self._observer.observe_all(sensors, command, self._last_action)
        output, after = self.policy.advance(observations, self._state)
        for part, new in zip(self._state, after, strict=True):
            part[:] = new
        action = clipped(expanded(output, self.policy.contract), self.policy.contract)
        self._last_action[:] = action
        return action


def expanded(output: np.ndarray, contract: Contract) -> np.ndarray:
    """A policy's output (n, n_driven) as actions (n, n_joints): those of held joints are 0."""
    if not contract.driven:
        return output
    action = np.zeros((len(output), contract.n_joints))
    action[:, contract.driven_index] = output
    return action


def clipped(action: np.ndarray, contract: Contract) -> np.ndarray:
    """Actions (n, n_joints) within the contract's clip, float64; a row that is not finite becomes NaN throughout.

    A clip would make an ordinary action of infinity, and nobody would learn that the network is broken.
    """
    action = action.astype(np.float64)
    finite = np.isfinite(action)
    if not finite.all():
        action[~finite.all(axis=1)] = np.nan
    return clip_actions(contract, action)


def make_agent(name_or_path: str | Path, robot: Robot, n: int, seed: int = 0) -> Agent:
    """The agent for 'zero', 'random', 'trot', the name of a policy shipped with the robot, or the path of
    an .onnx file.
    """
    name = str(name_or_path)
    if name == "zero":
        return ZeroAgent()
    if name == "random":
        return RandomAgent(seed)
    if name == "trot":
        return TrotAgent(robot)
    return PolicyAgent(OnnxPolicy.load(find_policy(name, robot)), robot, n)


def find_policy(name_or_path: str | Path, robot: Robot) -> Path:
    """The file of a policy that ships with the robot, by its name, or of any other by its path."""
    name = str(name_or_path)
    shipped = {file.stem: file for file in sorted((robot.path.parent / "policies").glob("*.onnx"))}
    path = shipped.get(name, path_of(name))
    if path.suffix == ".onnx" or path.exists():
        return path
    raise PolicyError(
        f"no policy {name!r}{nearest(name, (*BUILT_IN, *shipped))}; give one of {', '.join((*BUILT_IN, *shipped))}, or"
        " the path of an .onnx file"
    )


def with_policy_posture(robot: Robot, policy: OnnxPolicy | str | Path) -> Robot:
    """The robot in the posture that a policy's file names, and then with the file's range of commands.

    `policy` is a loaded policy, or a name or path as for `make_agent`. A built-in agent, and a policy that names no
    posture, leave the robot as it is.
    """
    if not isinstance(policy, OnnxPolicy):
        if str(policy) in BUILT_IN:
            return robot
        policy = OnnxPolicy.load(find_policy(policy, robot))
    posture = read_posture(
        policy.metadata.get(POSTURE_KEY), policy.name, robot.contract.n_joints, robot.feet, robot.trunk_height_m
    )
    if posture.level:
        return robot
    for (low, high), what in zip(policy.contract.command_range, ("forward m/s", "left m/s", "turn rad/s"), strict=True):
        if not -LARGEST_COMMAND <= low <= high <= LARGEST_COMMAND:
            raise PolicyError(
                f"the contract inside {policy.name}: command_range ({what}) is {low:g} to {high:g}; it must go from a"
                f" lower to a higher number within ±{LARGEST_COMMAND:g}; export the policy again"
            )
    narrowed = replace(robot.contract, command_range=policy.contract.command_range)
    return replace(robot, posture=posture, contract=narrowed, own_contract_hash=robot.contract_hash)
