"""Command lines for the steps of a loop: each does the same step alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.cli.words import command_line
from surefoot.pipeline.artefacts import DOCTOR_PAGE, POLICY
from surefoot.pipeline.loop_inputs import LoopOptions


@dataclass(frozen=True)
class LoopLines:
    """The words by which a loop was asked for."""

    out: Path
    robot: str
    policy: str
    twin: str | None

    def whole(self, logs: tuple[Path, ...], options: LoopOptions) -> str:
        """The loop itself."""
        recorded = {}
        if options.record is not None:
            recorded = {"rollouts": options.record.rollouts, "seconds": f"{options.record.seconds:g}"}
        words = {"robot": self.robot, "policy": self.policy, "twin": self.twin}
        more = {"minutes": f"{options.finetune.minutes:g}", "seed": options.seed, "out": self.out}
        return command_line("loop", logs, **words, **more, **recorded)

    def step(self, name: str, log: Path, settings: Any) -> str:
        """One step; empty for one that is no verb."""
        folder, tuned, fit = self.out / name, self.out / "finetune" / POLICY, self.out / "fit"
        described = {"robot": self.robot, "policy": self.policy}
        if name == "record":
            return command_line("record", (), settings, twin=self.twin, policy=self.policy, out=log)
        if name == "doctor":
            return command_line("doctor", [log], **described, html=folder / DOCTOR_PAGE)
        if name in ("gap", "fit"):
            return command_line(name, [log], settings, **described, out=folder)
        if name == "finetune":
            return command_line(name, [self.policy], settings, adaptation=fit, robot=self.robot, out=folder)
        if name == "verdict":
            judged = {"before": self.policy, "after": tuned, "adaptation": fit, "robot": self.robot, "twin": self.twin}
            return command_line(name, (), settings, **judged, out=folder)
        return ""
