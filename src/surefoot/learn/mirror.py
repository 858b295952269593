"""Left and right: mirrored observations and actions, from the symmetry that the robot declares."""

import numpy as np
import torch
from tensordict import TensorDict

from surefoot.robot import Robot
from surefoot.robot.terms import Term
from surefoot.sim.frames import in_heading_frame

# A mirror image turns the y axis of vectors, and the x and z axes of rotations.
FLIPS = {
    "gyro": (-1.0, 1.0, -1.0),
    "gravity": (1.0, -1.0, 1.0),
    "command": (1.0, -1.0, -1.0),
    "base_velocity": (1.0, -1.0, 1.0),
    "quaternion": (1.0, -1.0, 1.0, -1.0),
    "roll_pitch_yaw": (-1.0, 1.0, -1.0),
}
OF_JOINTS = ("joint_position", "joint_velocity", "last_action", "last_target")
Signed = tuple[np.ndarray, np.ndarray]  # entry i of the image is sign[i] times entry index[i]


def mirror_joints(robot: Robot, joints: tuple[str, ...] = ()) -> Signed:
    """Image of a vector with one entry for each of these joints, of all without `joints`."""
    assert robot.mirror is not None
    if not joints:
        return np.array(robot.mirror.index), np.array(robot.mirror.sign)
    places = [robot.contract.joints.index(name) for name in joints]
    image = [joints.index(robot.contract.joints[robot.mirror.index[place]]) for place in places]
    return np.array(image), np.array([robot.mirror.sign[place] for place in places])


def why_not_mirrored(robot: Robot) -> str:
    """Why samples of this robot cannot be mirrored; empty where they can."""
    contract = robot.contract
    if robot.mirror is None:
        return f"{robot.name} declares no symmetry"
    groups = [contract.driven_joints, *(term.joints for term in contract.terms if term.joints)]
    partners = dict(zip(contract.joints, (contract.joints[k] for k in robot.mirror.index), strict=True))
    for joints in groups:
        if lonely := [name for name in joints if partners[name] not in joints]:
            return f"the policy sees or drives {lonely[0]} without its mirror image {partners[lonely[0]]}"
    for term in contract.terms:
        if term.name not in FLIPS and term.name not in OF_JOINTS and term.name != "constant":
            return f"nothing says how {term.name} looks in a mirror"
        if isinstance(term.scale, tuple) or term.offset != 0.0:
            return f"the entries of {term.name} have scales or offsets of their own"
    return ""


def mirror_observation(robot: Robot) -> Signed:
    """Image of the observation that the contract lays out."""
    contract = robot.contract
    index: list[int] = []
    sign: list[float] = []
    (given,) = contract.network_inputs
    for term in given.terms * given.frames.history:
        places, signs = _mirror_term(term, robot)
        for _ in range(term.history):
            start = len(index)
            index += [start + int(place) for place in places]
            sign += list(signs)
    return np.array(index), np.array(sign)


def _mirror_term(term: Term, robot: Robot) -> Signed:
    contract = robot.contract
    if term.name in OF_JOINTS:
        return mirror_joints(robot, term.joints or contract.driven)
    if term.name == "command":
        turned = dict(zip(contract.command_names, FLIPS["command"], strict=False))
        flips = [turned.get(name, 1.0) for name in term.entries or contract.command_names]
    else:
        flips = list(FLIPS.get(term.name, (1.0,) * contract.width(term)))
    return np.arange(len(flips)), np.array(flips)


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
        self._action = _tensors(mirror_joints(robot, robot.contract.driven))

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
