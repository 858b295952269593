"""All tables, in the order of the page."""

from paper_tables.biped import BIPED
from paper_tables.data import DATA
from paper_tables.failures import FAILURES
from paper_tables.policies import FAMILY_TABLE, HORIZON_TABLE
from paper_tables.recovery import RECOVERY

TABLES = {table.name: table for table in (RECOVERY, FAMILY_TABLE, HORIZON_TABLE, DATA, BIPED, FAILURES)}
