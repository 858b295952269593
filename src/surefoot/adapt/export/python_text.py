"""Writing Python source from values, so that nothing from a file can become code.

Values pass through `ascii`, and text in comments through `for_comment`, which escapes backslashes too. The first two
lines are fixed: Python looks there for an encoding, and another encoding could turn any later comment into code.
"""

import re
from collections.abc import Mapping
from typing import Any

from surefoot.adapt.export.adapted import Adapted
from surefoot.adapt.export.randomization import ranges_by_entry
from surefoot.text import for_comment

STEPS = '''

def steps(delay_s: float) -> int:
    """A delay in physics steps; both sides count whole ones."""
    return round(delay_s / PHYSICS_DT_S)
'''

FIRST_LINES = [
    "# -*- coding: utf-8 -*-",
    "# Written by Surefoot from an adaptation. Text from files is escaped in these comments.",
]


def comments(lines: list[str]) -> list[str]:
    """Comment lines."""
    return [f"# {for_comment(line)}".rstrip() for line in lines]


def literal(value: Any) -> str:
    """A value as source: numbers with all their digits."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(str(key))}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, str):
        return ascii(value)
    return repr(value) if isinstance(value, (bool, int)) else repr(float(value))


def pattern(name: str) -> str:
    """A regular expression that matches this joint or body and no other."""
    return re.escape(name)


def physics_dt(adapted: Adapted) -> str:
    """The constant that delays are counted in."""
    return (
        f"PHYSICS_DT_S = {float(adapted.model.opt.timestep)!r}  # s, of the fit; set it to the time step of your"
        " simulation"
    )


def ranges_table(adapted: Adapted) -> list[str]:
    """RANGES: every identified range, by parameter and then by joint, axis or body where it has several values."""
    lines = [
        (
            "# 90 % intervals of the fit, by Surefoot's parameter (units in the names), and by joint or axis. EVENTS"
            " read them."
        ),
        "RANGES = {",
    ]
    for name, by in ranges_by_entry(adapted).items():
        if "" in by:
            lines.append(f"    {literal(name)}: {literal(by[''])},")
        else:
            lines += [
                f"    {literal(name)}: {{",
                *(f"        {literal(where)}: {literal(span)}," for where, span in by.items()),
                "    },",
            ]
    return [*lines, "}"]


def head(lines: list[str], missing: list[str], warm: bool) -> list[str]:
    """The comment at the top of a file; `warm` where heat is among the settings."""
    lines = lines + (["Gains and limits are those at the motors' start temperature."] if warm else [])
    return FIRST_LINES + comments(
        [
            *lines,
            *(
                ["NOT in this file, and yours to add:", *(f"  {line}" for line in missing)]
                if missing
                else ["All settings are in it."]
            ),
        ]
    )
