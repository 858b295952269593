"""Which cores this process may use."""

import os


def allowed_cores() -> list[int]:
    """Those that it is allowed on: on a shared machine (`taskset`, a container, a cluster) fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))  # macOS and Windows do not tell


def usable_cores() -> int:
    """How many these are."""
    return len(allowed_cores())
