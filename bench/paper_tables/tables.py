"""All tables, in the order of the page."""

from typing import Any

from paper_tables.cells import Cell, Settings, Table
from paper_tables.data import DATA
from paper_tables.failures import FAILURES
from paper_tables.policies import FAMILY_TABLE, HORIZON_TABLE
from paper_tables.recovery import RECOVERY
from surefoot.errors import SurefootError


def _not_yet(cell: Cell, settings: Settings) -> dict[str, Any]:
    raise SurefootError("walking on two legs is not measured yet: there is no policy for it")


# Rows "before" and "after" the loop, columns "+0.5 m/s" and "-0.5 m/s", figure lateral_m: the page shows them once they are there.
BIPED = Table("biped", (), _not_yet, figure="lateral_m", quick=None)
TABLES = {table.name: table for table in (RECOVERY, FAMILY_TABLE, HORIZON_TABLE, DATA, BIPED, FAILURES)}
