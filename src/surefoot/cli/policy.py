"""`surefoot policy`: what a policy file says about itself, and giving it a contract."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.plain import say_plain
from surefoot.console import Console, say
from surefoot.errors import PolicyError
from surefoot.files import check_place
from surefoot.policy import OnnxPolicy
from surefoot.policy import attach as attach_contract
from surefoot.policy.sources import read_sources
from surefoot.robot import Contract, load_robot
from surefoot.robot.contract import describe_term
from surefoot.robot.overlay import refuse_contradictions, robot_from


def attach(
    policy: Annotated[Path, tyro.conf.Positional],
    out: Path,
    robot: str | None = None,
    sources: Annotated[tuple[Path, ...], tyro.conf.arg(name="from", metavar="FILE...")] = (),
    model: Path | None = None,
    replace: bool = False,
    output: str | None = None,
) -> None:
    """Write a copy of an ONNX policy with the robot's contract inside, so that it cannot be run on another robot.

    Args:
        policy: The .onnx file, from any training framework.
        out: Where to write the copy.
        robot: The robot it was trained on: a shipped name, or the path of a robot.yaml. Not needed where --model and
            --from say all that a contract holds.
        sources: Files that the training framework wrote (deploy.yaml, env.yaml, ...). They must not contradict the robot.
        model: An MJCF or URDF file, in the place of a robot, together with --from.
        replace: Replace the contract of another robot that the file already carries.
        output: The tensor that is the action, where the file has several outputs.
    """
    check_place(out, (".onnx",))
    if (robot is None) == (model is None) or (model is not None and not sources):
        raise PolicyError(
            "a contract comes from a robot.yaml, or from a model and the files of a training framework; give a robot, or a model"
            " with files to import",
            argument="robot",
        )
    descriptions = (*read_sources(sources), *(read_sources([policy]) if sources else ()))
    if robot is not None:
        loaded = load_robot(robot)
        remarks = refuse_contradictions(loaded, descriptions).remarks if descriptions else ()
    else:
        assert model is not None
        loaded, remarks = robot_from(model, descriptions), ()
    contract = attach_contract(policy, loaded, out, replace, output)
    for sentence in remarks:
        say(Console(stderr=True), f"note: {sentence}", "yellow")
    say_plain(f"{out}: a policy for {loaded.name} (contract {loaded.contract.hash[:12]})")
    for before, after in contract.state if contract.state != loaded.contract.state else ():
        say_plain(f"recurrent state: {after} is fed back into {before}, and is zero after a reset")


def show(policy: Annotated[Path, tyro.conf.Positional]) -> None:
    """Print what a policy file says about itself.

    Args:
        policy: An .onnx file with a contract inside.
    """
    say_plain(describe(OnnxPolicy.load(policy)))


def describe(policy: OnnxPolicy) -> str:
    """The contract and the provenance of a policy as text."""
    contract = policy.contract
    lines = [
        f"file         {policy.name}",
        f"sha256       {policy.hash}",
        f"robot        {contract.robot} (contract {contract.hash[:12]})",
        f"control      {contract.control_hz:g} Hz"
        + ("" if policy.batched else "; exported with a batch of 1: runs row by row, slowly"),
        *_inputs(contract),
        *(f"state        {after} -> {before}" for before, after in contract.state),
        *(f"estimate     {estimator.term} by {estimator.kind}" for estimator in contract.estimators),
        f"action       {contract.n_driven} joints, clipped at ±{contract.action_clip:g}"
        + (f"; {len(contract.held_joints)} more are held at their pose" if contract.held_joints else ""),
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


def _inputs(contract: Contract) -> list[str]:
    """A line for each input of the network."""
    lines = []
    for given in contract.network_inputs:
        terms = ", ".join(describe_term(term) for term in given.terms)
        frames = given.frames
        repeated = f"; {frames.history} frames, {frames.order.replace('_', ' ')}" if frames.history > 1 else ""
        lines.append(f"{given.name or 'observation':<12} {contract.input_size(given)} entries: {terms}{repeated}")
    return lines
