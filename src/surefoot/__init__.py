"""Surefoot makes a legged robot's simulator agree with the robot, from ordinary joint logs.

Data flows in one direction: robot -> policy -> sim -> logs. Each package imports from its left only
and says in its own docstring what comes in, what goes out and what it must not know.
"""

import os

# Cores belong to the simulator's own threads. Those of BLAS wait by spinning: beside a busy process they made small
# matrix products 25 times slower, and alone they gain nothing at our sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
