"""docs/results.md and its figures, from the kept cells alone."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recover import RANGES

from paper_tables import biped, failures, pages, policies, recovery
from paper_tables.cells import FOLDER, one_budget, read_kept
from paper_tables.fits import CALF_SPRING
from paper_tables.page_biped import biped_section
from paper_tables.page_failures import failures_section
from paper_tables.page_recovery import recovery_section
from paper_tables.plots import PLOTS, file_of
from paper_tables.spread import Spread
from paper_tables.tables import TABLES
from paper_tables.words import CUT, NOTHING, Figures, plain, table
from surefoot.errors import SurefootError
from surefoot.files import write_text

BUDGETS = ("simulated_s", "iterations")
QUICK = "quick.json"  # what `--quick --keep` said
DOCS = Path(__file__).parents[2] / "docs"
HEAD = f"""\
# Results: what the paper claims, measured here

Written by `python bench/paper.py --render` from [bench/results/paper](../bench/results/paper): do not edit it. The
paper is arXiv 2604.11090; its figures stand in the columns "published". Everything here is simulated: a virtual
robot with hidden physics stands in for the machine.

```sh
# one fit of each table with a seed that is not committed; exit code 1 if one is outside the committed spread
python bench/paper.py --quick
python bench/paper.py --table recovery      # a whole table; stopped, the same command continues
python bench/paper.py --minutes 50          # all tables, breadth first, for about 50 minutes
```

± is the standard deviation over seeds, and a seed is another virtual robot with another log. "Beyond chance" is
Student's t over the differences of each seed, at 95 %: with two seeds little is, and what is may be small. In
tables 2 and 3 what is better or worse than the original policy beyond chance, over the robots that both have, is
**bold**. Tables show the mean over all robots of a cell; a sentence that compares two takes the robots that both
have, and so may differ from them. ± behind a difference is its 95 % interval. Published figures are as we read
them, some second-hand. All methods of a table see the same robots and logs and may simulate equally long, unless
said otherwise; a search that settles earlier ends earlier, and {CUT} marks cells in which the search of a seed was
cut by its budget before it settled. Ours is a Gauss-Newton search on the quantiles of each channel. CMA-ES has the
published rule of its population, 4 + 3 log(n), no cost on falls and no gate against them; its first standard
deviation (a factor of 1.5 of an armature, 0.25 N·m of dry friction, around the simulator's own values) and its
answer, the mean of its last population, are ours. A core-minute is a minute of wall-clock on one core, some of them
beside other work on the same machine. Cells without a measurement show "–", and "fell" where no robot stayed up in
some direction. `--quick` trains no policy, and the spread that it holds a figure against is the 95 % interval for
another seed, which is wide where two seeds are committed.

Costs: "wasserstein" compares the distributions of each joint's position, velocity and action, "mmd" the same by the
maximum mean discrepancy. "match-o" compares joints tick by tick, without knowing the state of the base. "match-s-n"
puts the simulator into the recorded state, base included, every n control ticks, and "match-s" once in each
rollout; the policy is in the loop in between, where the paper may play the recorded actions. "Floor" is how far two
runs of the fitted simulator are from each other. The same fit on another processor can differ in its last bits, and
a search lets them grow: by less than seeds differ.

Policies walk on the virtual robot itself: 20 times straight ahead, back, left and right ("falls of 80 straight";
drift is the distance from the commanded place after 4 s, and drift across the way the part of it to the side), and
100 times under random commands for 10 s ("of 100 others", velocity and turning errors). The return is that of the
task in 20 s. A policy is trimmed (its commands corrected for what it is off by in the fitted simulator,
[finetune.md](finetune.md)) before and after training.
"""


def minutes(robot: str) -> str:
    """Of data, that the loop of the biped has."""
    return f"{biped.ROLLOUTS[robot] * biped.SECONDS / 60:.1f}"


CHOICE = (
    "A training that makes the policy fall or stray more in the fitted simulator is dropped there; part of the way to"
    " it is kept where that does better than the trimmed policy, which is kept otherwise."
)
ABOUT = {
    "recovery": (
        "Parameter recovery",
        (
            "Mean relative error of armature and dry friction of the 12 joints of a Go2, drawn from"
            f" {RANGES['armature_kgm2'][0]:g}-{RANGES['armature_kgm2'][1]:g} kg·m² and"
            f" {RANGES['dry_friction_nm'][0]:g}-{RANGES['dry_friction_nm'][1]:g} N·m. Every method searches 25 numbers:"
            " these 24, as in the paper, and how strong the torque noise is. Ranges, first values, bounds, policy and"
            " noise are ours: the published figures stand beside, and were not measured on these robots."
            f" {recovery.ROLLOUTS} rollouts of 4 s; one row has the paper's {recovery.PUBLISHED_ROLLOUTS}, and no more"
            " simulated seconds than the others. match-o compares position and velocity; ours compares more of the"
            " same log (errors to the target, changes of velocity, gyro, gravity, and two products made for what is"
            " hidden here: the error along the motion, which friction makes, and the error times the change of"
            " velocity, which inertia makes), but for the row with the published channels. match-s gets the state of"
            " the base as it was, exact, which is more than motion capture gives, and a recording that starts late"
            " shifts all its columns together, which match-s does not notice. The robots of seeds 0 to 2 have the"
            " armature and friction of those of [bench/recover.py](../bench/recover.py), with which our search was"
            " developed; that of `--quick` comes after them."
        ),
    ),
    "families": (
        "Families",
        (
            f"{policies.ROLLOUTS['families']} rollouts of 4 s of a Go2 whose joints differ type by type, without and"
            f" with a spring on each calf ({CALF_SPRING[0]:g} N·m/rad at rest at {CALF_SPRING[1]:g} rad). Each family"
            " is fitted by our search with joints of one type tied, as the robots are drawn, terms that are linear in"
            " position and error first and a small network where those leave a measurable gap, and the policy is"
            f" fine-tuned in it. Drift is the distance from the commanded place after 4 s at full speed. {CHOICE}"
        ),
    ),
    "horizon": (
        "Horizon",
        f"The robot with the spring again, {policies.ROLLOUTS['horizon']} rollouts. A network of torques alone, the"
        " rest of the simulator nominal, by CMA-ES under different costs: it has to stand for the friction, inertia"
        " and delay that differ too. CMA-ES searches the weights of the network, one for each type of joint, between"
        " -1 and 1 as in the paper, or the curves over error, position and velocity that the network is then taught,"
        " which are far fewer numbers. Beside it our own way, which has friction, inertia and delay free too, and what"
        " training does without any fit. All policies are fine-tuned equally long. " + CHOICE,
    ),
    "data": (
        "Data",
        "Our fit and the policy that comes of it, at 2.5 N·m of torque noise (robots drawn as for parameter recovery),"
        " over the amount of data and the length of rollouts. The budget of a search grows with the data, from that of"
        " 8 rollouts of 4 s. " + CHOICE,
    ),
    "biped": (
        "Bipedal walking",
        "A Go2 that rises on its hind legs and walks on them at ±0.5 m/s. The other robot is that of the parameter"
        " shift above, with a delay, whose joints differ type by type, left as right; of the uneven robot each joint"
        f" differs by itself, which turns it off its way. {biped.ROLLOUTS[biped.SHIFTED]} rollouts of {biped.SECONDS:g}"
        f" s ({minutes(biped.SHIFTED)} minutes of data) and joints of one type tied for the one,"
        f" {biped.ROLLOUTS[biped.UNEVEN]} ({minutes(biped.UNEVEN)} minutes) and each joint by itself for the other;"
        " static parameters, and the policy fine-tuned in the fitted simulator. Beside it the same training in the"
        " nominal simulator, without a fit: what is better than that is the fit's doing. Drift is measured after 4 s"
        " at full speed, as the mean of forward and backward. The policy is the one that ships: in its own simulator"
        " it walks forward as it is told, and backward and in turns half of that ([biped.md](biped.md), with how it"
        " was trained). " + CHOICE,
    ),
    "failures": (
        "Failure data",
        (
            f"{failures.ROLLOUTS} rollouts of 4 s at 2.5 N·m of torque noise, of which a growing share falls: somebody"
            " throws the robot over, which no simulator knows of. The published cost (CMA-ES) sees all rows, and so do"
            " its channels with our search, which settles; our gate is the doctor, which cuts falls and refuses a log"
            " that is mostly falls. A recording ends half a second after a fall, so that falling robots are few of its"
            " rows."
        ),
    ),
}
SECTIONS: dict[str, Callable[[Figures], tuple[list[str], list[str]]]] = {
    "recovery": recovery_section,
    "families": pages.families_section,
    "horizon": pages.horizon_section,
    "data": pages.data_section,
    "biped": biped_section,
    "failures": failures_section,
}


def render(folder: Path = FOLDER, docs: Path = DOCS) -> Path:
    """Write the page and its figures; tables without a cell are left out."""
    lines = [HEAD]
    facts: list[list[str]] = []
    for name, (title, about) in ABOUT.items():
        kept, provenance = read_kept(name, folder)
        if not kept:
            continue
        one_budget(name, kept, folder)
        found = Figures(kept)
        shown, said = SECTIONS[name](found)
        lines += [f"## {len(facts) + 1}. {title}", "", about, "", *shown, "", *(f"- {one}" for one in said), ""]
        write_text(docs / "results" / f"{name}.svg", file_of(PLOTS[name](found)))
        lines += [f"![{title}](results/{name}.svg)", ""]
        facts.append(_facts(name, found, provenance["machine"]))
    if not facts:
        raise SurefootError(
            f"{folder} holds no cell, and there is no page of nothing; measure some first: python bench/paper.py"
        )
    headings = [
        "table",
        "cells",
        "seeds of each",
        "core-min a cell",
        "least - most",
        "cores",
        "budget of a search, s",
        "PPO updates",
        "commits",
        "machine",
    ]
    lines += ["## What it took", "", *table(headings, facts), ""]
    lines += again(folder / QUICK)
    path = docs / "results.md"
    write_text(path, "\n".join(lines))
    return path


def again(path: Path) -> list[str]:
    """What a run with other seeds said about the committed spreads, where one was kept."""
    if not path.exists():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    where = content["provenance"]
    about = (
        f"`{where['command']}` on {where['machine']['cores']} cores of"
        f" {where['machine'].get('cpu') or where['machine']['processor']}, {where['date'][:10]}, commit"
        f" {str(where['commit'])[:8]}; a fit with the next seed of one cell of each table:"
    )
    return ["## Measured again", "", about, "", *(f"- {line}" for line in content["said"]), ""]


def _facts(name: str, found: Figures, last: dict[str, Any]) -> list[str]:
    """How a table was measured; `last` is the machine that wrote its file."""
    places, kept = TABLES[name].places, found.kept
    took = Spread(tuple(one.core_minutes for one in kept))
    seeds = Counter((one.row, one.column) for one in kept)
    asked = {key: sorted({f"{one.asked[key]:g}" for one in kept if key in one.asked}) for key in BUDGETS}
    grown = [one.figures["budget_s"] for one in kept if "budget_s" in one.figures]  # with the data
    asked["simulated_s"] += [f"up to {max(grown):g} with more data"] if grown else []
    machines = Counter(
        one.machine or f"not kept by the cell, the last of them on {last.get('cpu') or last['processor']}"
        for one in kept
    )
    return [
        name,
        f"{len(seeds)} of {len(places)}",
        f"{min(seeds.values())} - {max(seeds.values())}",
        plain(took, digits=1),
        f"{min(took.values):.1f} - {max(took.values):.1f}",
        " or ".join(map(str, sorted({one.cores for one in kept}))),
        *(", ".join(values) or NOTHING for values in asked.values()),
        ", ".join(sorted({(one.commit or "unknown")[:8] for one in kept})),
        "; ".join(f"{machine} ({count} cells)" for machine, count in machines.items()),
    ]
