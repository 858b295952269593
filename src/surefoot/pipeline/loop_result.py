"""What a loop leaves, as values, and how it is read from its folder."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import read_state
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.artefacts import DOCTOR, GAP, VERDICT, VIDEO, WALKS
from surefoot.pipeline.finetune import FineTuned, read_tuned
from surefoot.pipeline.fit import PhysicsFit, read_fit
from surefoot.pipeline.gap import GapResult
from surefoot.pipeline.loop_record import read_record
from surefoot.pipeline.walks import Walks
from surefoot.robot import Robot
from surefoot.shown import Shown
from surefoot.verify.verdict import Verdict


@dataclass(frozen=True, eq=False)
class LoopResult(Shown):
    """What a loop left; None for steps that it did not come to."""

    robot: Robot
    folder: Path
    run: dict[str, Any]  # as in run.json
    report: LogReport | None = None
    gap: GapResult | None = None
    fit: PhysicsFit | None = None
    tuned: FineTuned | None = None
    verdict: Verdict | None = None
    walks: Walks | None = None

    @property
    def exit_code(self) -> int:
        """0 GO, 2 not usable, 3 NO-GO, 4 no gap."""
        return int(self.run["outcome"]["exit_code"])

    @property
    def says(self) -> str:
        """How it ended."""
        return str(self.run["outcome"]["says"])

    @property
    def done(self) -> list[str]:
        """The steps that are done."""
        return [name for name, entry in self.run["steps"].items() if entry["state"] == "done"]

    @property
    def video(self) -> Path | None:
        """Of both policies, where this machine could draw one."""
        path = self.folder / "video" / VIDEO
        return path if self.walks is not None and path.is_file() else None

    def to_dict(self) -> dict[str, Any]:
        """As run.json holds it; the results of the steps are in their own files."""
        return dict(self.run)

    @staticmethod
    def from_dict(content: dict[str, Any], robot: Robot, folder: Path) -> "LoopResult":
        """From what `to_dict` gave, and the files of the steps in their folder."""
        result = LoopResult(robot, folder, content)
        readers: dict[str, tuple[str, Callable[[], Any]]] = {
            "doctor": ("report", lambda: LogReport.from_dict(read_figures(folder / "doctor" / DOCTOR))),
            "gap": ("gap", lambda: GapResult.from_dict(read_figures(folder / "gap" / GAP))),
            "fit": ("fit", lambda: read_fit(folder / "fit", robot)),
            "finetune": ("tuned", lambda: read_tuned(folder / "finetune")),
            "verdict": ("verdict", lambda: Verdict.from_dict(read_figures(folder / "verdict" / VERDICT))),
            "video": ("walks", lambda: Walks.from_dict(read_figures(folder / "video" / WALKS))),
        }
        return replace(result, **{name: read() for step, (name, read) in readers.items() if step in result.done})


def read_loop(folder: Path, robot: Robot) -> LoopResult:
    """What a loop left in a folder, as far as it went."""
    run = read_record(folder)
    if run is None or run["outcome"] is None:
        raise SurefootError(f"{folder} holds no loop that has ended")
    return LoopResult.from_dict(run, robot, folder)


def read_figures(path: Path) -> dict[str, Any]:
    """A JSON file that a step wrote."""
    content = read_state(path)
    if not isinstance(content, dict):
        raise SurefootError(f"{path} cannot be read; run the loop anew in another folder")
    return content
