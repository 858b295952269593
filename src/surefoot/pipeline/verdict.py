"""The step `verdict`: whether a fine-tuned policy does better than the old one and may go onto the robot."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.adapt import Adaptation
from surefoot.errors import PolicyError, SurefootError, TwinError
from surefoot.files import check_folder, write_json
from surefoot.pipeline.artefacts import VERDICT, VERDICT_PAGE, VERSIONS
from surefoot.policy.driver import REPLAY, Driver, make_driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim.twin import Twin
from surefoot.verify.fit_gap import FitGap
from surefoot.verify.verdict import Effort, Verdict, VerdictProgress, reach_verdict


@dataclass(frozen=True)
class VerdictOptions:
    """How much is simulated for a verdict.

    Attributes:
        candidates: robots drawn inside the intervals of the fit; 0 leaves them out, and with them what the fit may be
            wrong about
        episodes: with random commands, and again with pushes, in each simulator
        straight_episodes: in each direction, in each simulator
        candidate_episodes: of each candidate, with random commands and again with pushes
        seconds: length of an episode
        seed: of commands, starts, pushes, noise and candidates
        threads: of the simulator; 0 takes all cores
    """

    candidates: int = Effort.candidates
    episodes: int = Effort.episodes
    straight_episodes: int = Effort.straight_episodes
    candidate_episodes: int = Effort.candidate_episodes
    seconds: float = Effort.seconds
    seed: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Refuse what measures nothing."""
        least = {"candidates": 0, "episodes": 1, "straight_episodes": 1, "candidate_episodes": 1, "seed": 0}
        for name, lowest in least.items():
            count = getattr(self, name)
            if count < lowest:
                what = "the seed" if name == "seed" else name
                raise SurefootError(f"{what} is {count}; it must be a whole number from {lowest} on")

    @property
    def effort(self) -> Effort:
        """As the verdict takes it."""
        return Effort(self.episodes, self.straight_episodes, self.candidates, self.candidate_episodes, self.seconds)

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the figures."""
        return {name: value for name, value in vars(self).items() if name != "threads"}


def claim_verdict(out: Path) -> None:
    """Ask for the folder and the files that `run_verdict` will write there, before any work."""
    check_folder(out, (VERDICT, VERDICT_PAGE))


def judged_policies(
    before: str | Path | OnnxPolicy | Driver, after: str | Path | OnnxPolicy | Driver, robot: Robot, seed: int = 0
) -> tuple[Driver, Driver]:
    """Both policies; they must hold the robot in one posture."""
    for policy in (before, after):
        if policy == REPLAY:
            raise PolicyError(f"{REPLAY} plays a log again and is no policy; give the path of an .onnx file")
    old, new = make_driver(before, robot, seed), make_driver(after, robot, seed)
    if old.robot.posture.name != new.robot.posture.name:
        raise PolicyError(
            f"{old.word} means the posture {old.robot.posture.name!r} and {new.word} {new.robot.posture.name!r};"
            " compare policies of one posture"
        )
    return old, new


def run_verdict(
    before: Driver,
    after: Driver,
    adaptation: Adaptation,
    options: VerdictOptions | None = None,
    *,
    twin: Twin | None = None,
    fit_gap: FitGap | None = None,
    out: Path | None = None,
    facts: dict[str, Any] | None = None,
    draw: Callable[[Verdict, Path], None] | None = None,
    progress: VerdictProgress | None = None,
) -> Verdict:
    """Walk both policies in the nominal and the fitted simulator, on a virtual robot, and on robots that the fit cannot
    rule out, and judge. `fit_gap` says how near the fit came to the robot; `facts` go into the provenance.
    """
    options = options or VerdictOptions()
    robot = before.robot
    if twin is not None and twin.robot.hash != robot.hash:
        raise TwinError(
            f"{twin.name} is of {twin.robot.name}, and not of the {robot.name} that was fitted; give both of one robot"
        )
    result = reach_verdict(
        robot,
        before.make,
        after.make,
        adaptation,
        twin,
        fit=fit_gap,
        effort=options.effort,
        seed=options.seed,
        threads=options.threads,
        progress=progress,
    )
    provenance = {
        "robot": {"name": robot.name, "hash": robot.hash, "contract_hash": robot.contract_hash},
        "before": {"name": before.label, "hash": before.hash},
        "after": {"name": after.label, "hash": after.hash},
        "twin": None if twin is None else {"name": twin.name, "hash": twin.hash},
        "physics_hz": robot.physics_hz,
        "versions": VERSIONS,
        **options.facts,
    }
    result = replace(result, provenance={**(facts or {}), **provenance})
    if out is not None:
        write_json(out / VERDICT, result.to_dict())
        if draw is not None:
            draw(result, out)
    return result
