"""What is to be learned: rewards with weights, commands, falls and randomization, as one frozen config.

A task is a function `task(robot) -> Task`. The shipped ones are `walk` and `biped`; a user's own is a Python file with
such a function in it: `surefoot train my_task.py --robot ...`.
"""

import importlib.util
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from surefoot.errors import SurefootError, TaskError, nearest, shown
from surefoot.files import note_input, path_of
from surefoot.learn import rewards
from surefoot.learn.randomize import Randomization, load_randomization
from surefoot.learn.rewards import RewardFunction
from surefoot.learn.rise import Rise, find_rise
from surefoot.learn.starts import Shares
from surefoot.learn.task_fields import refuse_nonsense
from surefoot.learn.upright import holding_action, stand_on_hind_legs
from surefoot.robot import LEVEL, Posture, Robot
from surefoot.text import one_line

LARGEST_REWARD = 1e9  # per second, weighted; shipped rewards stay below 1e3
CommandRange = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]  # vx m/s, vy m/s, wz rad/s


@dataclass(frozen=True)
class Reward:
    """A reward function and its weight per second; negative weights are costs."""

    function: RewardFunction
    weight: float

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def of(self, motion: rewards.Motion, n: int) -> np.ndarray:
        """The reward of each of n robots, (n,); a user's own function may do anything, and is named when it does."""
        try:
            returned = self.function(motion)
            values = np.asarray(returned)
            values = values.astype(float) if values.dtype.kind in "fiub" else np.empty(0)
        except (SurefootError, KeyboardInterrupt):
            raise
        except BaseException as reason:  # also what is no Exception, as SystemExit
            code = getattr(self.function, "__code__", None)
            raise TaskError(
                f"the reward {self.name} raised {raised_by_user(reason, code and code.co_filename)}"
            ) from reason
        if values.shape != (n,):
            raise TaskError(
                f"the reward {self.name} returned {shown(returned)}; it must return one number for each of the {n}"
                " robots"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            good = np.abs(self.weight * values) <= LARGEST_REWARD
        if not good.all():
            worst = float(values[~good][0])
            raise TaskError(
                f"the reward {self.name} is {worst:g} for {int((~good).sum())} of {n} robots, with a weight of"
                f" {self.weight:g}; it must be finite, and weighted at most {LARGEST_REWARD:g}: bound it"
            )
        return values


@dataclass(frozen=True)
class Task:
    """A frozen description of what to learn."""

    name: str
    rewards: tuple[Reward, ...]
    command_range: CommandRange
    randomization: Randomization = field(default_factory=lambda: load_randomization("mild"))
    episode_s: float = 20.0
    command_hold_s: tuple[float, float] = (2.0, 6.0)
    standing_share: float = 0.1  # of the commands say stand
    straight_share: float = 0.0  # of the commands go along one axis, or turn on the spot
    fallen_gravity_z: float = -0.6  # a base tilted beyond this has fallen
    fallen_height: float = 0.4  # a trunk below this share of its standing height has fallen
    fall_cost: float = 2.0  # paid once
    start_spread_rad: float = 0.15  # joints start off the default pose by up to this much
    # what is upright, ahead and fallen; gravity and height above are of a task that stays level
    posture: Posture = LEVEL
    starts: Shares = field(default_factory=Shares)  # where episodes begin, in a posture that has to be risen to
    rise: Rise | None = None  # a motion that gets there, in whose states they begin
    learning: dict[str, float] = field(
        default_factory=dict
    )  # fields of `surefoot.learn.ppo.PPOSettings` that are others for this task
    teacher: str | None = None  # copied before learning begins: a name of `surefoot.learn.behaviour_cloning.TEACHERS`
    # physics steps per control period in training: fewer are faster, and it is checked at the full rate
    substeps: int = 4


def draw_commands(command_range: CommandRange, n: int, straight_share: float, rng: np.random.Generator) -> np.ndarray:
    """Commands (n, 3) from all of the range, a share of them along one axis alone."""
    low, high = np.array(command_range).T
    drawn = rng.uniform(low, high, (n, 3))
    if straight_share > 0:
        straight, axes = np.flatnonzero(rng.random(n) < straight_share), np.flatnonzero(high > low)
        drawn[straight] *= np.eye(3)[rng.choice(axes, len(straight))] if len(axes) else 0.0
    return drawn


def weighted(**weights: float) -> tuple[Reward, ...]:
    """Rewards by the names of `surefoot.learn.rewards`."""
    known = {
        name: value
        for name, value in vars(rewards).items()
        if callable(value) and getattr(value, "__module__", "") == rewards.__name__
    }
    for name in weights:
        if name not in known or name == "Motion":
            raise TaskError(f"unknown reward {name!r}{nearest(name, [k for k in known if k != 'Motion'])}")
    return tuple(Reward(known[name], weight) for name, weight in weights.items())


def walk(robot: Robot) -> Task:
    """Follow velocity commands forward, sideways and turning, and stand when told to."""
    return Task(
        name="walk",
        command_range=robot.contract.command_range,
        teacher="trot",
        rewards=weighted(
            track_velocity=1.5,
            track_turn=0.8,
            bounce=-1.0,
            wobble=-0.03,
            tilt=-1.0,
            low_base=-20.0,
            torque=-1.0,
            joint_acceleration=-1.0e-7,
            action_rate=-0.01,
            joint_limits=-2.0,
            stride=25.0,
            slip=-0.2,
            body_contact=-1.0,
            off_pose=-0.15,
            fidget=-0.15,
        ),
    )


def biped(robot: Robot) -> Task:
    """Rise on the hind legs, and walk on them forward, backward and turning.

    All that counts while the robot is down is positive, and less than what it gets for being up: a robot that loses by
    living learns to fall.
    """
    mild, posture = load_randomization("mild"), stand_on_hind_legs(robot).posture
    return Task(
        name="biped",
        posture=posture,
        rise=find_rise(robot, posture, holding_action(robot, posture), Task.substeps * robot.contract.control_hz),
        command_range=_within(BIPED_RANGE, robot),
        randomization=replace(mild, push_m_s=min(mild.push_m_s, BIPED_PUSH_M_S)),
        standing_share=0.2,
        teacher="march",
        learning=BIPED_LEARNING,
        rewards=weighted(
            stand_up=4.0,
            hands_off=0.5,
            track_velocity=2.0,
            track_turn=0.8,
            lasting=-1.5,
            one_foot=0.5,
            stride=25.0,
            flight=-1.0,
            bounce=-0.5,
            wobble=-0.03,
            rush=-0.1,
            torque=-0.5,
            joint_acceleration=-1.0e-7,
            action_rate=-0.03,
            joint_limits=-2.0,
            slip=-0.1,
            body_contact=-0.5,
            off_pose=-0.05,
        ),
    )


BIPED_RANGE: CommandRange = (
    (-0.5, 0.5),
    (0.0, 0.0),
    (-0.5, 0.5),
)  # m/s, m/s, rad/s: a leg that points down has no joint that moves its foot sideways
# With a std of 0.8 a robot that holds the pose is down after two thirds of a second, as much by its own noise as by its
# balance. How far the policy may move in an update, not the samples in it, is what limits learning to balance: more and
# cheaper updates are faster.
BIPED_LEARNING = {"start_std": 0.4, "worlds": 512, "epochs": 2, "desired_kl": 0.02}
BIPED_PUSH_M_S = 0.2  # at 0.5 a robot on two points has to step at once, before it can step at all


def _within(wanted: CommandRange, robot: Robot) -> CommandRange:
    """What is wanted of the robot's own commands; refuses a robot that has none of them."""
    ranges = []
    for name, (low, high), (least, most) in zip(
        ("vx_m_s", "vy_m_s", "wz_rad_s"), wanted, robot.contract.command_range, strict=True
    ):
        if max(low, least) > min(high, most):
            raise TaskError(
                f"command_range of {robot.name} has {name} from {least:g} to {most:g}, and none of it is in the {low:g}"
                f" to {high:g} of a robot on its hind legs; widen it in {robot.path}"
            )
        ranges.append((max(low, least), min(high, most)))
    vx, vy, wz = ranges
    return vx, vy, wz


SHIPPED: dict[str, Callable[[Robot], Task]] = {"walk": walk, "biped": biped}


def load_task(name_or_path: str, robot: Robot, randomization: str | None = None) -> Task:
    """A shipped task, or the function `task` of a Python file; with another randomization where one is named."""
    made = SHIPPED[name_or_path](robot) if name_or_path in SHIPPED else _task_from_file(path_of(name_or_path), robot)
    if randomization is not None:
        made = replace(made, randomization=load_randomization(randomization))
    return made


def raised_by_user(reason: BaseException, file: str | None) -> str:
    """What a user's own code raised, with the line of its file that did, for a sentence."""
    if isinstance(reason, SyntaxError):
        line = reason.lineno if reason.filename == file else None
        message = one_line(reason.msg or "")
    else:
        frames = traceback.extract_tb(reason.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
        message = _message(reason)
    message = f"({message})" if isinstance(reason, SystemExit) else f": {message}" if message else ""
    return f"{type(reason).__name__}{message}" + (f", in its line {line}" if line else "")


def _message(reason: BaseException) -> str:
    try:
        return one_line(reason) if str(reason) else ""
    except Exception:  # an exception of the user's own that cannot even be printed
        return ""


def _task_from_file(path: Path, robot: Robot) -> Task:
    """The task of a user's own file, which is a program: importing it runs it, with the rights of whoever runs this."""
    if path.suffix != ".py" or not path.is_file():
        raise TaskError(
            f"no task {str(path)!r}: give a shipped one ({', '.join(SHIPPED)}) or a Python file with a function"
            " task(robot)"
        )
    note_input(path)
    spec = importlib.util.spec_from_file_location(f"surefoot_task_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (SurefootError, KeyboardInterrupt):
        raise
    except BaseException as reason:  # the user's own code may raise anything; name the file and what it said
        raise TaskError(f"{path} cannot be imported: {raised_by_user(reason, spec.origin)}") from reason
    factory = getattr(module, "task", None)
    if not callable(factory):
        raise TaskError(f"{path} has no function task(robot)")
    try:
        made = factory(robot)
    except (SurefootError, KeyboardInterrupt):
        raise
    except BaseException as reason:
        raise TaskError(f"task(robot) of {path} raised {raised_by_user(reason, spec.origin)}") from reason
    if not isinstance(made, Task):
        raise TaskError(
            f"task(robot) of {path} returned {type(made).__name__}; it must return a surefoot.learn.task.Task"
        )
    refuse_nonsense(made, robot, str(path))
    return made
