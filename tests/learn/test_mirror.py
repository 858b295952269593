"""Left and right: mirrored worlds stay mirrored."""

import numpy as np
import torch

from surefoot.learn.env import WalkEnv
from surefoot.learn.mirror import SymmetryAugmentation, mirror_joints, mirror_observation
from surefoot.learn.task import walk
from surefoot.policy.observation import Observer
from surefoot.sim import Worlds


class TestSymmetry:
    def test_mirrored_worlds_stay_mirrored(self, robot):
        """The declared symmetry is one of the physics: mirrored actions give mirrored observations."""
        joints, signs = mirror_joints(robot)
        index, sign = mirror_observation(robot)
        worlds = Worlds(robot, 2)
        observer = Observer(robot.contract, 2)
        rng = np.random.default_rng(0)
        command = np.array([[0.5, 0.2, 0.3], [0.5, -0.2, -0.3]])
        for _ in range(8):
            action = rng.normal(0, 0.3, robot.contract.n_joints)
            both = np.stack([action, action[joints] * signs])
            worlds.step(both)
            seen = observer.observe(worlds.sensors, command, both).copy()
            np.testing.assert_allclose(seen[1], seen[0][index] * sign, atol=2e-3)

    def test_twice_mirrored_is_the_same(self, robot):
        env = WalkEnv(robot, walk(robot), 4)
        mirror = SymmetryAugmentation(robot, env.mirror_parts())
        obs = env.get_observations()
        action = torch.randn(4, robot.contract.n_joints)
        once, moved = mirror(None, obs, action)
        image = once[4:]
        twice, back = mirror(None, image, moved[4:])
        for name in ("actor", "critic"):
            torch.testing.assert_close(twice[name][4:], obs[name])
            assert not torch.equal(image[name], obs[name])
        torch.testing.assert_close(back[4:], action)
