import sys

from support.paths import ROOT

# At the end: bench/coverage.py is not to be taken for the library.
sys.path.append(str(ROOT / "bench"))
