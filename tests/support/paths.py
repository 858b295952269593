"""Where things lie, so that a test may move to another folder."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
ROBOTS = TESTS / "robots"
GOLDEN = TESTS / "golden"
