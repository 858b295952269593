"""`Case`: a robot, the policy that drove it and the log that it wrote, resolved once.

Reading the policy, checking the log and cutting it into pieces happen on first use and are kept, so that every step
of the loop sees the same robot in the same posture, the same usable rows and the same schedule.
"""

import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from surefoot.errors import GapError, UnusableLog
from surefoot.files import canonical_json, file_hash, sha256
from surefoot.gap.schedule import SETTLE_S, Schedule, finite_rows, schedule_of
from surefoot.logs import RobotLog, read_log
from surefoot.logs.doctor import NEEDED_S, LogReport, check_log
from surefoot.logs.robot_log import OPTIONAL, REQUIRED
from surefoot.policy.agents import BUILT_IN
from surefoot.policy.driver import Driver, make_driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot

# Findings that do not stop a comparison: a short log has a gap too, and on a stand nobody gives commands.
ALLOWED, ALLOWED_ON_A_STAND = ("too-short",), ("too-short", "no-command")


class Case:
    """One robot, one policy, one log."""

    def __init__(
        self,
        robot: Robot | str | Path,
        policy: OnnxPolicy | Driver | str | Path | None = None,
        log: RobotLog | str | Path | None = None,
        *,
        schedule: Schedule | None = None,
        settle_s: float = SETTLE_S,
        needed_s: float = NEEDED_S,
        seed: int = 0,
    ):
        """`robot` and `log` are values, names or paths. `policy` is a policy, its path or shipped name, "trot", "zero"
        or "random", "replay" for recorded targets that are played again on a stand, or None for the one that the log
        names. `schedule` gives the pieces of the log to compare; without it, the doctor says which rows are usable.
        `settle_s` is dropped at the start of every episode, `needed_s` is what the doctor asks for.
        """
        described = robot if isinstance(robot, Robot) else load_robot(robot)
        if log is None:
            raise GapError("a case needs a log; record one, or import one of your robot's")
        self.log = log if isinstance(log, RobotLog) else read_log(log)
        self.settle_s, self.needed_s, self.seed = settle_s, needed_s, seed
        self.driver: Driver = make_driver(
            named_policy(self.log, described) if policy is None else policy, described, seed
        )
        self.robot = self.driver.robot  # in the posture that the policy names
        if schedule is not None:
            self.schedule = schedule

    @property
    def policy(self) -> OnnxPolicy | None:
        """The network that drove the robot, if one did."""
        return self.driver.policy

    @property
    def replay(self) -> bool:
        """Whether recorded targets are played again on a stand, instead of a policy in the loop."""
        return self.driver.replays

    @property
    def name(self) -> str:
        """Of the log, for sentences."""
        return "the log" if self.log.path is None else str(self.log.path)

    @cached_property
    def log_hash(self) -> str:
        """Of the log's file as sha256sum prints it, or of its arrays where there is no file."""
        if self.log.path is not None:
            return file_hash(self.log.path)
        arrays = [getattr(self.log, name) for name in ("episode", "time_s", *REQUIRED, *OPTIONAL)]
        about = canonical_json({"joints": self.log.joints, "metadata": self.log.metadata}).encode()
        return sha256(about, *(b"" if array is None else array.tobytes() for array in arrays))

    @cached_property
    def report(self) -> LogReport:
        """What the doctor says of the log."""
        return check_log(self.log, self.robot, self.policy, needed_s=self.needed_s)

    @cached_property
    def schedule(self) -> Schedule:
        """Pieces of the log that the simulator repeats. Raises `UnusableLog` with the doctor's first error."""
        self.refuse_unusable()
        if self.replay:  # at rest on a stand friction holds the legs, which tells of it; at rest on the ground nothing
            return self._whole_schedule
        return schedule_of(self.log, self.robot, self.report.usable, self.settle_s)

    def on(self, schedule: Schedule) -> "Case":
        """The same case on other pieces of its log, such as those that a fit holds back."""
        other = copy.copy(self)
        other.schedule = schedule
        return other

    def refuse_unusable(self) -> None:
        """Raise `UnusableLog` with the first error that the doctor found, unless it does not stop a comparison."""
        _ = self._whole_schedule  # what is missing altogether is said first, and better than by its symptoms
        for finding in self.report.findings:
            if finding.severity == "error" and finding.code not in (ALLOWED_ON_A_STAND if self.replay else ALLOWED):
                raise UnusableLog(f"{self.name} cannot be used: {finding.title}")

    @cached_property
    def _whole_schedule(self) -> Schedule:
        """Of all rows that hold numbers."""
        return schedule_of(self.log, self.robot, finite_rows(self.log), self.settle_s, replay=self.replay)

    def provenance(self) -> dict[str, Any]:
        """Where figures of this case come from."""
        file = None if self.log.path is None else self.log.path.name
        return {
            "log": {"file": file, "sha256": self.log_hash, "metadata": self.log.metadata},
            "robot": {
                "name": self.robot.name,
                "hash": self.robot.hash,
                "contract_hash": self.robot.contract_hash,
            },
            "policy": {"name": self.driver.label, "hash": self.driver.hash},
            "physics_hz": self.robot.physics_hz,
        }


def named_policy(log: RobotLog, robot: Robot) -> str:
    """The policy that the log names, where it is at hand."""
    shipped = sorted(file.stem for file in (robot.path.parent / "policies").glob("*.onnx"))
    known = (*shipped, *BUILT_IN)
    named = log.metadata.get("policy")
    if named in known:
        return str(named)
    where = "the log" if log.path is None else str(log.path)
    says = (
        f"names the policy {named!r}, which does not ship with {robot.name}"
        if isinstance(named, str)
        else "names no policy"
    )
    raise GapError(
        f"{where} {says}; give the one that drove the robot, as the path of an .onnx file or one of {', '.join(known)}",
        argument="policy",
    )
