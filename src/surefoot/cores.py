"""How many cores this process may use."""

import os


def usable_cores() -> int:
    """Those that it is allowed on: on a shared machine (`taskset`, a container, a cluster) fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows do not tell
