"""`surefoot verdict`."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.adapt import ADAPTATION, read_adaptation
from surefoot.cli.progress import StageBar
from surefoot.cli.words import command_line
from surefoot.console import Console, say
from surefoot.files import file_hash, write_text
from surefoot.pipeline.artefacts import GO, NO_GO, VERDICT, VERDICT_PAGE
from surefoot.pipeline.verdict import VerdictOptions, claim_verdict, judged_policies, run_verdict
from surefoot.report.text import show_result
from surefoot.report.verdict_page import verdict_page
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin
from surefoot.verify.fit_gap import read_fit_gap


def judge_policy(
    *,
    before: str,
    after: str,
    adaptation: Path,
    twin: str | None = None,
    robot: str = "go2",
    out: Path = Path("verdict"),
    options: Annotated[VerdictOptions, tyro.conf.arg(name="")] = VerdictOptions(),  # noqa: B008
) -> int:
    """Tell whether a fine-tuned policy really does better than the old one, and may go onto the robot: GO or NO-GO.

    Both walk the same episodes in the nominal simulator, in the fitted one, on a virtual robot where one is given, and
    on candidates drawn inside the 90 % intervals of the fit: random commands, the same with pushes, and straight ahead
    in each direction. GO needs tracking or drift in the fitted simulator to be better by more than its uncertainty, no
    more falls, nothing clearly worse and no burst of energy or shaking anywhere, also not in a quarter of the
    candidates, and a fit that came nearer to the robot at all, as the fit.json beside the adaptation says
    (docs/verdict.md). Writes verdict.json and verdict.html. Exit code 0 for GO, 3 for NO-GO, 2 for what cannot be
    judged.

    Args:
        before: the old policy: path of an ONNX file, the name of one that ships with the robot, or trot
        after: the fine-tuned policy, in the same way
        adaptation: the folder that 'surefoot fit' wrote, or its adaptation.json
        twin: also walk on a virtual robot, by name or path
        robot: a shipped robot or the path of a robot.yaml
        out: the folder to write into
    """
    claim_verdict(out)
    described = load_robot(robot)
    place = adaptation.expanduser()
    fitted = read_adaptation(place, described)
    hidden = None if twin is None else load_twin(twin)
    old, new = judged_policies(before, after, described, options.seed)
    file = place / ADAPTATION if place.is_dir() else place
    named = {"before": before, "after": after, "adaptation": adaptation, "robot": robot, "twin": twin, "out": out}
    facts = {
        "command": command_line("verdict", (), **named, **options.facts),
        "adaptation": {"file": file.name, "sha256": file_hash(file)},
    }

    console = Console()
    with StageBar(console) as bar:
        result = run_verdict(
            old,
            new,
            fitted,
            options,
            twin=hidden,
            fit_gap=read_fit_gap(place, fitted),
            out=out,
            facts=facts,
            draw=lambda verdict, folder: write_text(folder / VERDICT_PAGE, verdict_page(verdict)),
            progress=bar.show,
        )
    show_result(result, console)
    say(console, f"wrote {out / VERDICT}, {out / VERDICT_PAGE}")
    return GO if result.go else NO_GO
