"""What docs/results.md says about rollouts that fall. Every sentence is computed: none knows a result."""

from paper_tables import failures
from paper_tables.spread import Spread, shared
from paper_tables.words import NOT_YET, Figures, by, gaps, listed, nowhere, percent, share, table

CLAIM = (
    "The paper warns that rollouts that fall are harmful, since the search finds a simulator that falls in the same"
    " way."
)


def failures_section(found: Figures) -> tuple[list[str], list[str]]:
    """Rollouts that fall."""
    rows = [
        [row, *(percent(found.at(row, each, "error"), found.seeds) for each in failures.SHARES)]
        for row in failures.ROWS
    ]
    used = [percent(found.at(failures.GATED, each, "used_share"), found.seeds) for each in failures.SHARES]
    rows.append(["share of the rows that our gate leaves", *used])
    lines = table(["parameter error", *(f"{each} fall" for each in failures.SHARES)], rows)
    said = [failures_claim(found), *(failures_growth(found, row) for row in failures.ROWS)]
    worse = [
        f"{each} ({by(*_pair(found, each), scale=100, unit=' points', digits=1)})"
        for each in failures.SHARES
        if _worse(found, each)
    ]
    if any(one.n and other.n for one, other in (_pair(found, each) for each in failures.SHARES)):
        cells = {
            f"{row} at {each}": found.at(row, each, "error")
            for row in (failures.GATED, failures.UNGATED)
            for each in failures.SHARES
        }
        how = "than the same search on all rows"
        said.append(
            f"The gate makes it worse at {listed(worse)} of falls{gaps(cells)}."
            if worse
            else nowhere("The gate", cells, how)
        )
    return lines, said


def failures_claim(found: Figures) -> str:
    """What became of the published warning: whether errors grow with falls, and whether simulators learn to fall."""
    grown = [row for row in failures.ROWS if row != failures.GATED and _grows(found, row)]
    falls = [
        float(one.figures["simulated_falls"])
        for one in found.kept
        if one.row != failures.GATED and "simulated_falls" in one.figures
    ]
    if not falls:
        return f"{CLAIM} {NOT_YET}"
    named = listed([f'"{row}"' for row in grown])
    harm = (
        f"the error grows with them on every robot for {named}" if grown else "no error grows with them on every robot"
    )
    fall = (
        f"up to {100 * max(falls):.0f} % of the rollouts of a fitted simulator fall"
        if max(falls) > 0
        else (
            "no fitted simulator falls: these robots are thrown over by something that no parameter can imitate, and"
            " what is harmed is the parameters"
        )
    )
    return f"{CLAIM} Here {harm}; {fall}."


def _ends(found: Figures, row: str) -> tuple[tuple[str, Spread], tuple[str, Spread]] | None:
    """The least and the largest share of falls that were measured, on the same robots."""
    there = [(each, spread) for each in failures.SHARES if (spread := found.at(row, each, "error")).n]
    if len(there) < 2:
        return None
    (few, first), (many, last) = there[0], there[-1]
    first, last = shared(first, last)
    return (few, first), (many, last)


def _grows(found: Figures, row: str) -> bool:
    """Whether the error is larger with falls on each of the robots."""
    ends = _ends(found, row)
    return ends is not None and all(
        after > before for before, after in zip(ends[0][1].values, ends[1][1].values, strict=True)
    )


def _pair(found: Figures, column: str) -> tuple[Spread, Spread]:
    """All rows, and what the gate leaves."""
    return found.at(failures.UNGATED, column, "error"), found.at(failures.GATED, column, "error")


def _worse(found: Figures, column: str) -> bool:
    whole, gated = shared(*_pair(found, column))
    return bool(gated.n and whole.n and gated.mean > whole.mean)


def failures_growth(found: Figures, row: str) -> str:
    """What the first and the largest share that was measured do."""
    name, ends = f"{row[0].upper()}{row[1:]}", _ends(found, row)
    refused = [
        f"{each} ({spread.refused})" for each in failures.SHARES if (spread := found.at(row, each, "error")).refused
    ]
    words = f"; refused at {listed(refused)}" if refused else ""
    if ends is None:
        return f"{name}{words}." if words else f"{name}: {NOT_YET.lower()}"
    (few, first), (many, last) = ends
    more = by(first, last, scale=100, unit=" points", digits=1)
    return f"{name}: {share(first)} at {few} of falls, {share(last)} at {many} ({more}){words}."
