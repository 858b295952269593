"""What an adaptation adds beyond the model, as one Python file that needs NumPy and nothing else.

It computes as `Worlds` does, terms in double and the network in single precision, so that both agree to the
last digits.
"""

from collections.abc import Iterable

import numpy as np

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.adapted import Adapted, AddedTerms, adapt, adaptation_hash, added, described, origin
from surefoot.adapt.export.python_text import FIRST_LINES, literal
from surefoot.robot import Robot
from surefoot.robot.legs import usual_pose
from surefoot.sim.network import UNITS, ResidualNet
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.residual import SLOW_RAD_S, Adds
from surefoot.text import for_comment

WIDTH = 120  # of a line of numbers
CHAIN = (
    "delay_s",
    "encoder_bias_rad",
    "backlash_rad",
    "action_scale_rad",
    "observation_delay_s",
)  # what the inputs pass through
METHOD: dict[Adds, str] = {"torque": "torque", "action": "target_shift"}
TERM = {
    "constant": "{name}",
    "position": "{name} * (position_rad - POSE_RAD)",
    "velocity": "{name} * velocity_rad_s",
    "direction": f"{{name}} * np.tanh(velocity_rad_s / {SLOW_RAD_S!r})",
    "error": "{name} * error_rad",
}
SAYS: dict[Adds, str] = {
    "torque": (
        "Torque to add to the joints at each physics step, N·m; error_rad is the servo's delayed target minus position."
    ),
    "action": (
        "Shift of the targets to add at each tick of the policy, rad; error_rad is the policy's target minus measured"
        " position."
    ),
}
SHAPES = """Inputs are arrays (..., {n}) in rad, rad and rad/s, the output is alike; joints are in policy order, by name
in JOINTS."""
EXAMPLE: dict[Adds, str] = {
    "torque": (
        """
residual.torque(error_rad, position_rad, velocity_rad_s) gives N·m, to be added at each physics step ({physics} Hz in
the fit).
error_rad is what the position servo sees: its target, after the delay of the command, minus the joint's position.
It acts past the motor's torque limit, so it goes to qfrc_applied and not into the servo. In plain MuJoCo:

    residual = Residual()
    dofs = [model.joint(name).dofadr[0] for name in JOINTS]
    places = [model.joint(name).qposadr[0] for name in JOINTS]

    # from here on before each mj_step; target: what the servos are told, delayed
    q, v = data.qpos[places], data.qvel[dofs]
    data.qfrc_applied[dofs] = residual.torque(target - q, q, v)
    mujoco.mj_step(model, data)
"""
    ),
    "action": (
        """
residual.target_shift(error_rad, position_rad, velocity_rad_s) gives rad, to be added at each tick of the policy
({control} Hz).
error_rad is the target that the policy means, default pose + scale * clipped action, minus the measured position;
position and velocity are those that the policy observes. The sum goes to the servos, before the delay of the command:

    residual = Residual()

    target = pose_rad + scale_rad * np.clip(action, -{clip}, {clip})  # from here on at each tick of the policy
    target = target + residual.target_shift(target - q, q, v)
"""
    ),
}
NETWORK = '''
    def network(self, error_rad, position_rad, velocity_rad_s):
        """{limit} * tanh(W tanh(... tanh(W x + b) ...) + b) of error, position and velocity.

        In single precision, as in the fit.
        """
        inputs = np.stack([error_rad, position_rad, velocity_rad_s])
        hidden = np.ascontiguousarray(inputs.reshape(3, -1, len(JOINTS)).transpose(2, 0, 1), dtype=np.float32)
        for weight, bias in LAYERS:
            hidden = np.tanh(weight @ hidden + bias)
        return ({limit} * hidden[:, 0].T).reshape(inputs.shape[1:])
'''


def numpy_class(adaptation: Adaptation, robot: Robot) -> str:
    """What the adaptation adds to torques and targets, as the source of a class `Residual`."""
    adapted = adapt(adaptation, robot)
    parts = added(adapted)
    lines = [*_docstring(_head(adapted, parts)), "", "import numpy as np", ""]
    lines += ["JOINTS = (", *_wrapped(map(literal, robot.contract.joints)), ")  # policy order"]
    if any("position" in part.terms for part in parts):
        lines += _array(
            "POSE_RAD", usual_pose(robot), "that positions count from: the mean default pose of each type of joint"
        )
    for part in parts:
        for kind, weight in part.terms.items():
            lines += _array(part.name(kind).upper(), weight.tolist(), PARAMETERS[part.name(kind)].unit)
    for part in parts:
        lines += [] if part.net is None else _layers(part, part.net, robot.contract.joints)
    lines += ["", "", "class Residual:", '    """What the fit adds to the robot; see the top of this file."""']
    for part in parts:
        lines += _method(part, robot.contract.n_joints)
    for part in parts:
        lines += [] if part.net is None else NETWORK.format(limit=_limit(part)).rstrip().splitlines()
    return "\n".join(lines) + "\n"


def _head(adapted: Adapted, parts: tuple[AddedTerms, ...]) -> list[str]:
    contract, settings = adapted.robot.contract, adapted.adaptation.settings
    used = {part.name(kind) for part in parts for kind in part.terms}
    chain = [described(adapted, name) for name in CHAIN if name in settings]
    others = [name for name in settings if name not in used and name not in CHAIN]
    lines = ["The class Residual, in NumPy: what a robot has that its model has no part for.", "", *origin(adapted)]
    lines += [f"Adaptation {adaptation_hash(adapted)[:12]}.", "", SHAPES.format(n=contract.n_joints)]
    for part in parts:
        lines += (
            EXAMPLE[part.adds]
            .format(
                physics=repr(adapted.robot.physics_hz),
                control=repr(contract.control_hz),
                clip=repr(contract.action_clip),
            )
            .splitlines()
        )
    if chain:
        lines += ["", "On the way of commands and readings, and yours to add:", *(f"  {line}" for line in chain)]
    if "action_scale_rad" in settings and any(part.adds == "action" for part in parts):
        lines.append(
            "error_rad takes the scale of robot.yaml, the servos the fitted one: default pose + that scale * action +"
            " the shift."
        )
    if others:
        lines += ["", f"In the model of `surefoot adapt export --to mjcf` or in its head: {', '.join(others)}."]
    return lines


def _docstring(lines: list[str]) -> list[str]:
    """A docstring whose text no name can end, after the line that fixes the file's encoding."""
    safe = [for_comment(line).replace("\\", "\\\\").replace('"', '\\"').rstrip() for line in lines]
    return [FIRST_LINES[0], f'"""{safe[0]}', *safe[1:], '"""']


def _method(part: AddedTerms, joints: int) -> list[str]:
    inputs = "error_rad, position_rad, velocity_rad_s"
    sums = [TERM[kind].format(name=part.name(kind).upper()) for kind in part.terms]
    sums += [] if part.net is None else [f"self.network({inputs})"]
    return [
        "",
        f"    def {METHOD[part.adds]}(self, {inputs}):",
        f'        """{SAYS[part.adds]} Arrays (..., {joints})."""',
        "        total = np.zeros(np.shape(position_rad))",
        *(f"        total += {term}" for term in sums),
        "        return total",
    ]


def _layers(part: AddedTerms, net: ResidualNet, joints: tuple[str, ...]) -> list[str]:
    """Weights of the network, each group's once, and which group a joint is of."""
    group, first = _groups(net)
    says = f"the most that the network adds, {UNITS[part.adds]}"
    lines = ["", "# Joints of one group share weights.", "GROUP = [", *_wrapped(map(str, group)), "]  # of each joint"]
    lines += _array(_limit(part), net.limit, says, single=True)
    lines.append("LAYERS = (  # weights (joints, outputs, inputs) and biases (joints, outputs, 1)")
    for weight, bias in zip(net.weights, net.biases, strict=True):
        lines += ["    (", "        np.array(["]
        for k, block in enumerate(weight[first]):
            names = ", ".join(for_comment(name) for name, of in zip(joints, group, strict=True) if of == k)
            lines += [
                f"            [  # {names}",
                *(f"                {row}," for row in _rows(block)),
                "            ],",
            ]
        lines += ["        ], dtype=np.float32)[GROUP],", "        np.array(["]
        lines += [
            *(f"            {row}," for row in _rows(bias[first, :, 0])),
            "        ], dtype=np.float32)[GROUP][..., None],",
            "    ),",
        ]
    return [*lines, ")"]


def _groups(net: ResidualNet) -> tuple[list[int], list[int]]:
    """The group of each joint by its weights, and the first joint of each group."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    group = []
    for joint in range(len(net.limit)):
        key = b"".join(array[joint].tobytes() for array in (*net.weights, *net.biases))
        if key not in seen:
            seen[key] = len(first)
            first.append(joint)
        group.append(seen[key])
    return group, first


def _limit(part: AddedTerms) -> str:
    return "LIMIT_NM" if part.adds == "torque" else "LIMIT_RAD"


def _rows(block: np.ndarray) -> list[str]:
    return ["[" + ", ".join(map(_single, row)) + "]" for row in block]


def _array(name: str, values: Iterable[float], says: str, single: bool = False) -> list[str]:
    numbers = map(_single, np.asarray(values)) if single else map(literal, values)
    return [f"{name} = np.array([", *_wrapped(numbers), f"]{', dtype=np.float32' if single else ''})  # {says}"]


def _single(value: np.float32) -> str:
    """As few digits as give the same number back, by way of Python's double."""
    short = str(value)
    return short if np.float32(float(short)) == value else repr(float(value))


def _wrapped(items: Iterable[str]) -> list[str]:
    lines = [" "]
    for item in items:
        if len(lines[-1]) + len(item) > WIDTH and lines[-1].strip():
            lines.append(" ")
        lines[-1] += f"   {item}," if lines[-1] == " " else f" {item},"
    return lines
