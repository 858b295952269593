"""`surefoot policy`: what a policy file says about itself, and giving it a contract."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.plain import say_plain
from surefoot.files import check_place
from surefoot.policy import OnnxPolicy
from surefoot.policy import attach as attach_contract
from surefoot.robot import load_robot


def attach(policy: Annotated[Path, tyro.conf.Positional], robot: str, out: Path, replace: bool = False) -> None:
    """Write a copy of an ONNX policy with the robot's contract inside, so that it cannot be run on another robot.

    Args:
        policy: The .onnx file, from any training framework.
        robot: The robot it was trained on: a shipped name, or the path of a robot.yaml.
        out: Where to write the copy.
        replace: Replace the contract of another robot that the file already carries.
    """
    check_place(out, (".onnx",))
    loaded = load_robot(robot)
    attach_contract(policy, loaded, out, replace)
    say_plain(f"{out}: a policy for {loaded.name} (contract {loaded.contract.hash[:12]})")


def show(policy: Annotated[Path, tyro.conf.Positional]) -> None:
    """Print what a policy file says about itself.

    Args:
        policy: An .onnx file with a contract inside.
    """
    say_plain(describe(OnnxPolicy.load(policy)))


def describe(policy: OnnxPolicy) -> str:
    """The contract and the provenance of a policy as text."""
    contract = policy.contract
    terms = [
        f"{t.name} × {t.scale:g}" + (f" ({t.history} frames)" if t.history > 1 else "") for t in contract.observation
    ]
    lines = [
        f"file         {policy.name}",
        f"sha256       {policy.hash}",
        f"robot        {contract.robot} (contract {contract.hash[:12]})",
        f"control      {contract.control_hz:g} Hz"
        + ("" if policy.batched else "; exported with a batch of 1: runs row by row, slowly"),
        f"observation  {contract.observation_size} entries: {', '.join(terms)}",
        f"action       {contract.n_joints} joints, clipped at ±{contract.action_clip:g}",
        "",
        f"{'joint':<24} {'pose rad':>9} {'scale rad':>9} {'kp':>7} {'kd':>7}",
    ]
    rows = zip(
        contract.joints,
        contract.pose_rad,
        contract.action_scale_rad,
        contract.kp_nm_per_rad,
        contract.kd_nms_per_rad,
        strict=True,
    )
    lines += [f"{joint:<24} {pose:>9.4g} {scale:>9.4g} {kp:>7.4g} {kd:>7.4g}" for joint, pose, scale, kp, kd in rows]
    if policy.metadata:
        lines += ["", *(f"{key}: {value}" for key, value in sorted(policy.metadata.items()))]
    return "\n".join(lines)
