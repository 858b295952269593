"""The installed command, and options of recordings that are soon done."""

import sys
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("surefoot")
SHORT = ("--rollouts", "2", "--seconds", "0.2")
