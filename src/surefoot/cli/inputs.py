"""What `gap` and `fit` have in common: what drove the robot, what the doctor says, changed simulators, provenance."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from surefoot import __version__
from surefoot.adapt import ADAPTATION, read_adaptation
from surefoot.errors import GapError
from surefoot.files import file_hash, sha256, yaml_comment
from surefoot.logs import RobotLog
from surefoot.logs.doctor import LogReport
from surefoot.policy.agents import BUILT_IN, Agent, PolicyAgent, ZeroAgent, make_agent
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.robot.load import shipped_robots
from surefoot.sim.network import Network
from surefoot.sim.physics import Physics
from surefoot.sim.twin import load_twin

VERSIONS = {"surefoot": __version__, "mujoco": mujoco.__version__, "numpy": np.__version__}
REPLAY = "replay"  # instead of a policy: play the log's actions again, on a robot that hangs
TOO_SHORT = "too-short"  # the doctor's word for a log that is enough for a gap and not for a fit


@dataclass(frozen=True)
class Driver:
    """What drove the robot: makes agents for any number of worlds, from a file that is read once."""

    make: Callable[[int], Agent]
    policy: OnnxPolicy | None
    label: str
    hash: str


def make_driver(name: str, robot: Robot, seed: int) -> Driver:
    """By the name or path of a policy, the name of something built in, or 'replay' for a log's own actions."""
    if name == REPLAY:
        return Driver(lambda _: ZeroAgent(), None, REPLAY, sha256(REPLAY.encode()))
    one = make_agent(name, robot, 1, seed=seed)
    if isinstance(one, PolicyAgent):
        policy = one.policy
        return Driver(lambda n: PolicyAgent(policy, robot, n), policy, one.label, one.hash)
    return Driver(lambda n: make_agent(name, robot, n, seed=seed), None, one.label, one.hash)


def named_policy(log: RobotLog, robot: Robot, path: Path) -> str:
    """The policy that the log names, where it is at hand."""
    known = (*(file.stem for file in sorted((robot.path.parent / "policies").glob("*.onnx"))), *BUILT_IN)
    named = log.metadata.get("policy")
    if named in known:
        return str(named)
    said = (
        f"{path} names the policy {named!r}, which does not ship with {robot.name}"
        if isinstance(named, str)
        else f"{path} names no policy"
    )
    raise GapError(
        f"{said}; give the one that drove the robot with --policy, as the path of an .onnx file or one of"
        f" {', '.join(known)}"
    )


def provenance(command: str, path: Path, log: RobotLog, robot: Robot, driver: Driver) -> dict[str, Any]:
    """Where the figures come from."""
    return {
        "command": command,
        "log": {"file": path.name, "sha256": file_hash(path), "metadata": log.metadata},
        "robot": {"name": robot.name, "hash": robot.hash, "contract_hash": robot.contract_hash},
        "policy": {"name": driver.label, "hash": driver.hash},
        "physics_hz": robot.physics_hz,
        "versions": VERSIONS,
    }


def refuse_ill(checked: LogReport, log: Path, robot: str, allowed: tuple[str, ...] = (TOO_SHORT,)) -> None:
    """Refuse what the doctor calls unusable; `allowed` codes are for others to judge."""
    for finding in checked.findings:
        if finding.severity == "error" and finding.code not in allowed:
            raise GapError(
                f"{log} cannot be used: {finding.title}; `surefoot doctor {shlex.join([str(log), '--robot', robot])}`"
                " shows why, and what to do"
            )


def changed_simulator(adaptation: str, robot: Robot) -> Physics:
    """The simulator of a fit's folder or adaptation.json, or of a virtual robot's file without what only
    its recordings have.
    """
    place = Path(adaptation).expanduser()
    if place.suffix == ".json" or (place / ADAPTATION).is_file():
        return read_adaptation(place, robot).physics(robot)
    twin = load_twin(adaptation)
    if twin.robot.hash != robot.hash:
        raise GapError(
            f"{adaptation} is of {twin.robot.name}, and not of the {robot.name} that --robot gives; give both of one"
            " robot"
        )
    if twin.physics.curves:
        raise GapError(
            f"{adaptation} has torque_curves, which belong to a virtual robot; compare with the log that it recorded"
        )
    return Physics(robot, twin.physics.parameters, twin.physics.network)


def virtual_robot(settings: dict[str, Any], robot: str, head: str, network: Network | None = None) -> str:
    """A changed simulator as the file of a virtual robot, which `evaluate`, `play` and `record` take with --twin."""
    place = robot if robot in {folder.name for folder in shipped_robots()} else str(Path(robot).expanduser().resolve())
    values = {name: _one(value) for name, value in settings.items()}
    if network is not None:
        values["network"] = network.to_dict()
    body = yaml.safe_dump(
        {"robot": place, **values}, sort_keys=False, default_flow_style=None, width=140, allow_unicode=False
    )
    return f"{yaml_comment(head)}\n{body}"


def _one(value: Any) -> Any:
    """One number for a list of equal ones."""
    return value[0] if isinstance(value, list) and value and all(item == value[0] for item in value) else value
