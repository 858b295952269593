"""Learning: a robot and a task in, a walking policy (ONNX with its contract) out. Torch lives here only.

It must not know logs. What trains needs the `train` extra; settings and tasks do not.
"""

import os

# Threads that wait must sleep: a pool that spins takes the cores from the simulator's own pool (10× slower beside
# another busy process). This has to be said before torch starts its pool.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")
