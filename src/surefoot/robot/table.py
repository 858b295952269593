"""A robot as tables for a terminal: the contract, joint by joint, and all else that later steps rely on."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from surefoot.robot.contract import POSITION, Contract
from surefoot.robot.load import Mirror, Robot
from surefoot.robot.loops import follower_lines
from surefoot.robot.missing import told

ROUNDED = "~"  # marks a number that is shown with fewer digits than it has


def describe(robot: Robot) -> RenderableType:
    """What the contract says, joint by joint in policy order, then the facts about the robot."""
    return Group(
        Text(f"{robot.name}: {robot.contract.n_joints} joints in policy order\n", style="bold"),
        _joint_table(robot),
        Text(),
        _fact_table(robot),
        Text(f"{ROUNDED} marks a number shown with 6 digits; all its digits are kept", style="dim"),
    )


def number(value: float) -> str:
    """A number as short as it can be told exactly within 6 digits; where it cannot, marked as rounded."""
    short = f"{value:.6g}"
    return short if float(short) == value else ROUNDED + short


def _joint_table(robot: Robot) -> Table:
    contract = robot.contract
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("joint\n\n", overflow="fold")
    for heading in (
        "pose\nrad\n",
        "kp\nN·m\n/rad",
        "kd\nN·m·s\n/rad",
        "torque\nN·m\n",
        "speed\nrad/s\n",
        "low\nrad\n",
        "high\nrad\n",
        "scale\nrad\n",
    ):
        table.add_column(heading, justify="right", overflow="fold")
    for i, joint in enumerate(contract.joints):
        low, high = contract.position_limit_rad[i]
        table.add_row(
            Text(joint),
            number(contract.pose_rad[i]),
            number(contract.kp_nm_per_rad[i]),
            number(contract.kd_nms_per_rad[i]),
            number(contract.torque_limit_nm[i]),
            number(contract.velocity_limit_rad_s[i]),
            number(low),
            number(high),
            number(contract.action_scale_rad[i]),
        )
    return table


def _fact_table(robot: Robot) -> Table:
    contract = robot.contract
    ranges = [*zip(("vx", "vy", "wz"), contract.command_range, ("m/s", "m/s", "rad/s"), strict=True)]
    ranges += [(command.name, command.range, f"({number(command.default)})") for command in contract.more_commands]
    facts = {
        "robot.yaml": str(robot.path),
        "model": str(robot.model_path),
        "rates": (
            f"control {number(contract.control_hz)} Hz, physics {number(robot.physics_hz)} Hz, {robot.substeps()}"
            " substeps"
        ),
        "base": f"{robot.base}, standing at {number(robot.base_height_m)} m",
        "IMU": f"site {robot.imu}" if robot.imu else "none given; readings are in the frame of the base",
        "feet": ", ".join(robot.feet),
        "mass": f"{number(robot.mass_kg)} kg",
        "observation": _observation(robot),
        "action": (
            f"{contract.n_driven} joint targets, clipped to ±{number(contract.action_clip)}; target = pose + scale ×"
            " action"
        ),
        "held": ", ".join(contract.held_joints),
        "other actions": _other_kinds(contract),
        "estimates": "; ".join(
            f"{e.term} by {e.kind}, noise {number(e.noise_m_s)} m/s, lag {number(e.lag_s)} s"
            for e in contract.estimators
        ),
        "commands": "; ".join(f"{name} {number(low)} to {number(high)} {unit}" for name, (low, high), unit in ranges),
        "symmetry": _symmetry(robot.mirror, contract.joints),
        "passive": ", ".join(robot.passive_joints),
        "loops": _loops(robot),
        "scene": _scene(robot.static_geoms),
        "files": told(robot.left_out),
        "contract": contract.hash,
        "hash": robot.hash,
    }
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        if fact:
            table.add_row(name, Text(fact))
    return table


def _observation(robot: Robot) -> str:
    contract = robot.contract
    lines: list[str] = []
    for given in contract.network_inputs:
        start = 0
        lines += [f"input {given.name}: {contract.input_size(given)} numbers"] if given.name else []
        for term in given.terms:
            size = term.history * contract.width(term)
            scales = term.scale if isinstance(term.scale, tuple) else (term.scale,)
            scale = "" if term.scale == 1.0 else f" × {', '.join(map(number, scales))}"
            order = "newest" if term.newest_first else "oldest"
            frames = "" if term.history == 1 else f", {term.history} frames, {order} first"
            lines.append(f"{start:3d}..{start + size - 1:<3d} {term.name}{scale} ({size}{frames})")
            start += size
        if given.frames.history > 1:
            lines.append(f"{given.frames.history} such frames, {given.frames.order.replace('_', ' ')}")
    return "\n".join([f"{contract.observation_size} numbers", *lines])


def _other_kinds(contract: Contract) -> str:
    """Joints whose action is no position."""
    kinds = zip(contract.joints, contract.action_kind, strict=False)
    return ", ".join(f"{joint} ({kind})" for joint, kind in kinds if kind != POSITION)


def _loops(robot: Robot) -> str:
    """Motor space and joint space, where the model has loops or couplings."""
    if not robot.followers:
        return ""
    head = "moved by the policy's joints through loops of the model (rad per rad, in the default pose):"
    return "\n".join([head, *follower_lines(robot.followers)])


def _scene(static: int) -> str:
    if not static:
        return ""
    shapes = "1 static shape" if static == 1 else f"{static} static shapes"
    return (
        f"the model brings {shapes} of its own, which the robot meets beside our floor; remove what stands for a floor"
    )


def _symmetry(mirror: Mirror | None, joints: tuple[str, ...]) -> str:
    if mirror is None:
        return "none given"
    return ", ".join(
        f"{joints[i]}={'-' if mirror.sign[i] < 0 else ''}{joints[other]}"
        for i, other in enumerate(mirror.index)
        if i <= other
    )
