"""A Go2 that is changed, and worlds that step without an action."""

import shutil

import numpy as np

from surefoot.robot import load_robot


def changed_go2(go2, folder, *changes, yaml=()):
    """A copy of the Go2 with pieces of its MJCF (and robot.yaml) replaced."""
    shutil.copytree(go2.path.parent, folder)
    for name, pairs in (("go2.xml", changes), ("robot.yaml", yaml)):
        text = (folder / name).read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text)
    return load_robot(folder)


def step(worlds, ticks=1):
    for _ in range(ticks):
        worlds.step(np.zeros((worlds.n, worlds.robot.contract.n_joints)))
