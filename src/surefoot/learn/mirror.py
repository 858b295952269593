"""Left and right: mirrored observations and actions, from the symmetry that the robot declares."""

import numpy as np
import torch
from tensordict import TensorDict

from surefoot.robot import Robot
from surefoot.robot.contract import TERM_SIZES
from surefoot.sim.frames import in_heading_frame

# A mirror image turns the y axis of vectors, and the x and z axes of rotations.
FLIPS = {"gyro": (-1.0, 1.0, -1.0), "gravity": (1.0, -1.0, 1.0), "command": (1.0, -1.0, -1.0)}
Signed = tuple[np.ndarray, np.ndarray]  # entry i of the image is sign[i] times entry index[i]


def mirror_joints(robot: Robot) -> Signed:
    """Image of a vector with one entry per joint."""
    assert robot.mirror is not None
    return np.array(robot.mirror.index), np.array(robot.mirror.sign)


def mirror_observation(robot: Robot) -> Signed:
    """Image of the observation that the contract lays out."""
    joints, joint_signs = mirror_joints(robot)
    index: list[int] = []
    sign: list[float] = []
    for term in robot.contract.observation:
        for _ in range(term.history):
            start = len(index)
            if TERM_SIZES[term.name] is None:
                index += [start + int(j) for j in joints]
                sign += list(joint_signs)
            else:
                index += [start + i for i in range(3)]
                sign += list(FLIPS[term.name])
    return np.array(index), np.array(sign)


def mirror_feet(foot_m: np.ndarray, base_m: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """For each foot, the one at its mirrored place: world positions (n_feet, 3) of a robot that stands."""
    place = in_heading_frame(foot_m - base_m, np.tile(quaternion, (len(foot_m), 1)))[:, :2]
    image = place * [1.0, -1.0]
    return np.linalg.norm(image[:, None] - place[None], axis=2).argmin(axis=1)


class SymmetryAugmentation:
    """Symmetry data augmentation: appends the mirror image to a batch of observations and actions, as rsl-rl's symmetry
    extension asks for (Mittal et al. 2024, Symmetry considerations for learning task symmetric robot policies).

    The critic's part beyond the actor's observation is laid out by `parts`: (index, sign) of each block.
    """

    def __init__(self, robot: Robot, parts: list[Signed]):
        actor = mirror_observation(robot)
        blocks = [actor, *parts]
        starts = np.cumsum([0, *(len(block[0]) for block in blocks)])
        critic = (
            np.concatenate([b[0] + s for b, s in zip(blocks, starts, strict=False)]),
            np.concatenate([b[1] for b in blocks]),
        )
        self._maps = {name: _tensors(signed) for name, signed in (("actor", actor), ("critic", critic))}
        self._action = _tensors(mirror_joints(robot))

    def __call__(
        self, env: object, obs: TensorDict | None, actions: torch.Tensor | None
    ) -> tuple[TensorDict | None, torch.Tensor | None]:
        """Observations and actions, each followed by its image."""
        if obs is not None:
            both = {
                name: torch.cat([obs[name], obs[name][:, index] * sign]) for name, (index, sign) in self._maps.items()
            }
            obs = TensorDict(both, batch_size=[2 * obs.batch_size[0]])
        if actions is not None:
            index, sign = self._action
            actions = torch.cat([actions, actions[:, index] * sign])
        return obs, actions


def _tensors(signed: Signed) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(signed[0].astype(np.int64)), torch.from_numpy(signed[1].astype(np.float32))
