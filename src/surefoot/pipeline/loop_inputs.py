"""What a loop is about, and how much of everything it does."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surefoot.errors import LogError, PolicyError, SurefootError, TwinError
from surefoot.files import file_hash, note_input
from surefoot.gap.case import named_policy
from surefoot.logs import read_log
from surefoot.logs.doctor import NEEDED_S
from surefoot.pipeline.finetune import FineTuneOptions
from surefoot.pipeline.fit import FitOptions
from surefoot.pipeline.gap import GapSettings
from surefoot.pipeline.record import RecordOptions
from surefoot.pipeline.verdict import VerdictOptions
from surefoot.policy.driver import Driver, make_driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.twin import Twin

FOLDERS = ("record", "join", "doctor", "gap", "fit", "finetune", "verdict", "video")  # of all steps, in their order
DEFAULT_ROBOT, DEFAULT_POLICY = "go2", "walk"
SHORT_TRAINING = FineTuneOptions(minutes=4.0)
# A verdict that takes a good minute on two cores: fewer episodes than by default in the named simulators, so that a
# gain has to be a little larger to count, and fewer candidates, but as many episodes of each: with less, no candidate
# could speak against the policy.
SHORT_VERDICT = VerdictOptions(episodes=20, straight_episodes=8, candidates=12, candidate_episodes=8)


@dataclass(frozen=True)
class LoopOptions:
    """The options of all steps; `seed` and `threads` hold for each of them."""

    record: RecordOptions | None = None  # None: the usual, with the time to rise; only for a virtual robot that records
    needed_s: float = NEEDED_S  # usable time that the doctor asks for
    gap: GapSettings = field(default_factory=GapSettings)
    fit: FitOptions = field(default_factory=FitOptions)
    finetune: FineTuneOptions = SHORT_TRAINING
    verdict: VerdictOptions = SHORT_VERDICT
    seed: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Give seed and threads to every step."""
        if self.seed < 0:
            raise SurefootError(f"the seed is {self.seed}; it must be a whole number from 0 on")
        for name in ("record", "gap", "fit", "finetune", "verdict"):
            step = getattr(self, name)
            if step is not None:
                object.__setattr__(self, name, replace(step, seed=self.seed, threads=self.threads))


@dataclass(frozen=True, eq=False)
class LoopInputs:
    """What a loop is about, resolved and read once."""

    logs: tuple[Path, ...]
    driver: Driver  # with the robot in the posture of its policy
    twin: Twin | None
    hashes: tuple[str, ...]  # of the logs
    named: Robot  # the robot as its file describes it

    @property
    def files(self) -> tuple[Path, ...]:
        """What was read."""
        policy = () if self.driver.policy is None else (Path(self.driver.policy.name),)
        return (*self.logs, *policy, self.named.path)

    def to_dict(self) -> dict[str, Any]:
        """For the record."""
        robot, twin = self.named, self.twin
        return {
            "logs": [{"file": path.name, "sha256": hash_} for path, hash_ in zip(self.logs, self.hashes, strict=True)],
            "robot": {"name": robot.name, "hash": robot.hash, "contract_hash": robot.contract_hash},
            "policy": {"name": self.driver.label, "sha256": self.driver.hash},
            "twin": None if twin is None else {"name": twin.name, "hash": twin.hash},
        }


def resolve_inputs(
    logs: Sequence[Path], robot: Robot | None, policy: str | Path | OnnxPolicy | None, twin: Twin | None
) -> LoopInputs:
    """Read what a loop is about; refuses what does not go together. Without a robot, that of the twin is meant."""
    if not logs and twin is None:
        raise SurefootError("give a log of the robot, or a virtual robot that records one")
    if twin is not None and robot is not None and twin.robot.hash != robot.hash:
        raise TwinError(
            f"{twin.name} is of {twin.robot.name}, and not of the {robot.name} that is given; give both of one robot"
        )
    described = robot or (load_robot(DEFAULT_ROBOT) if twin is None else twin.robot)
    hashes = tuple(_hash(path) for path in logs)
    if policy is None:
        policy = named_policy(read_log(logs[0]), described) if logs else DEFAULT_POLICY
    driver = make_driver(policy, described)
    if driver.policy is None:
        raise PolicyError(
            f"{driver.word} is built in and has no network to fine-tune; give the path of an .onnx file",
            argument="policy",
        )
    if twin is not None:
        _refuse_other_twin(logs, twin)
    if len(set(hashes)) < len(logs):
        raise LogError("a log is given twice, by one name or two; what it says would count double, also against itself")
    return LoopInputs(tuple(logs), driver, twin, hashes, described)


def step_names(inputs: LoopInputs) -> list[str]:
    """The steps in their order."""
    first = [] if len(inputs.logs) == 1 else ["join"] if inputs.logs else ["record"]
    return [*first, *FOLDERS[2:]]


def usual_recording(inputs: LoopInputs) -> RecordOptions:
    """What a virtual robot records for a loop: the usual, with the time to rise for a policy of another posture."""
    usual = RecordOptions()
    return replace(usual, seconds=usual.seconds + inputs.driver.robot.posture.rise_s)


def _hash(path: Path) -> str:
    if not path.is_file():
        raise LogError(
            f"{path} is a folder; give a Parquet file" if path.is_dir() else f"the log {path} does not exist"
        )
    note_input(path)
    return file_hash(path)


def _refuse_other_twin(logs: Sequence[Path], twin: Twin) -> None:
    """A log that another virtual robot wrote: the fit would be of one robot, and the verdict on another."""
    for path in logs:
        waiting = [read_log(path).metadata.get("source")]
        while waiting:
            source = waiting.pop()
            if not isinstance(source, dict):
                continue
            if isinstance(source.get("logs"), list):  # of a log that was joined from several
                waiting += [part.get("source") for part in source["logs"] if isinstance(part, dict)]
            name, known = source.get("twin"), source.get("twin_hash")
            if source.get("kind") == "virtual robot" and isinstance(known, str) and known != twin.hash:
                other = f"{name}" if name != twin.name else f"another {name}, with other values,"
                raise TwinError(
                    f"{path} was recorded by {other} and not by {twin.name}; give the virtual robot that recorded it,"
                    " or none",
                    argument="twin",
                )
