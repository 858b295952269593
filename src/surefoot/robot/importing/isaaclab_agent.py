"""`agent.yaml` of Isaac Lab and mjlab: the settings of rsl-rl for the same run as an env.yaml."""

from typing import Any

from surefoot.robot.importing.description import Description
from surefoot.robot.importing.isaaclab import POLICY_GROUPS
from surefoot.robot.importing.parts import Part

KIND = "an agent.yaml of Isaac Lab or mjlab"


def is_isaaclab_agent(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    return {"num_steps_per_env", "algorithm"} <= set(content) and bool({"policy", "actor"} & set(content))


def read_isaaclab_agent(content: dict[str, Any], source: str) -> Description:
    """What an agent.yaml says: the clip of actions, and which observation groups the policy reads."""
    file = Part(content, source)
    clip = file.maybe("clip_actions")
    policy = file.at("actor" if file.has("actor") else "policy")
    remarks = []
    if any(
        part.has(key) and part.at(key).content is True
        for part, key in (
            (file, "empirical_normalization"),
            (policy, "obs_normalization"),
            (policy, "actor_obs_normalization"),
        )
    ):
        remarks.append(
            f"{source}: training normalized observations; Isaac Lab and mjlab export the normalizer inside of the network"
        )
    recurrent = policy.maybe("rnn_type")
    if recurrent is not None and isinstance(recurrent.content, str):
        remarks.append(
            f"{recurrent.where} is {recurrent.content!r}: the policy has a state, whose inputs and outputs are in"
            " the ONNX file"
        )
    listed = file.maybe("obs_groups")
    groups = None
    if listed is not None:
        part = next((listed.at(name) for name in POLICY_GROUPS if listed.has(name)), None)
        groups = part.value(tuple(part.names())) if part else None
    return Description(
        kind=KIND,
        source=source,
        action_clip=clip.value(clip.number(0.0, 1e6, above=True)) if clip else None,
        policy_groups=groups,
        remarks=tuple(remarks),
    )
