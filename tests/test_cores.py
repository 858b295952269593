"""The cores that this process may use."""

import os

from surefoot.sim import Worlds


def test_all_cores_are_those_that_the_process_may_use(monkeypatch, go2):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3}, raising=False)
    assert Worlds(go2, 2)._batch.nthread == 1
    assert Worlds(go2, 2, threads=2)._batch.nthread == 2
