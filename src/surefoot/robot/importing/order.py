"""Which joints a policy drives, and in which order: names where files have them, else the best evidence there is."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.errors import RobotError, nearest, shown
from surefoot.robot.importing.description import Action, Description, JointKey, Joints, Value
from surefoot.robot.importing.patterns import find_joint, matching, need_joint

LEGS = ("FR", "FL", "RR", "RL")  # Unitree's own order of the legs, in all of its quadrupeds


@dataclass(frozen=True)
class ModelJoints:
    """The joints of a model, in the orders that other frameworks go by."""

    names: tuple[str, ...]  # with a motor (or all, where the model has no motors), as the model lists them
    actuators: tuple[str, ...]  # as the model lists its actuators
    breadth_first: tuple[str, ...]  # by the number of joints between them and the base, as Isaac Lab does
    everything: tuple[str, ...]  # all hinges and slides


@dataclass(frozen=True)
class Order:
    """The joints as names of the model."""

    motors: tuple[str | None, ...]  # what a number in a file means
    base: tuple[str, ...]  # all joints that the policy knows, in its order
    driven: tuple[str, ...]  # those that its output drives, in the order of the output
    source: Value  # of `base`

    def name(self, key: JointKey, model: ModelJoints, source: str) -> str:
        """The joint of the model that a key of a file means."""
        if isinstance(key, str):
            return need_joint(key, model.everything, source)
        name = self.motors[key] if key < len(self.motors) else None
        if name is None:
            raise RobotError(
                f"{source} means motor number {key}, and there are {len(self.motors)} ({', '.join(m or '-' for m in self.motors)});"
                " give the model of the robot that this file is for"
            )
        return name

    def names(self, joints: Joints | None, model: ModelJoints, source: str) -> tuple[str, ...]:
        """The joints of the model that an action or a term of a file means."""
        if joints is None:
            return self.base
        if joints.keys:
            return tuple(self.name(key, model, source) for key in joints.keys)
        if joints.keep_order:
            found = [name for pattern in joints.patterns for name in matching(pattern, self.base, source)]
            return tuple(dict.fromkeys(found))
        chosen = {name for pattern in joints.patterns for name in matching(pattern, self.base, source)}
        return tuple(name for name in self.base if name in chosen)


def first(descriptions: Sequence[Description], field: str) -> Value | None:
    """What the first file says that says it; a guess only where no file knows better."""
    values = [value for description in descriptions if (value := getattr(description, field)) is not None]
    return next((value for value in values if not value.guess), values[0] if values else None)


def find_order(descriptions: Sequence[Description], model: ModelJoints) -> Order:
    """The order of the joints, from all files together."""
    joints = first(descriptions, "joints")
    count = first(descriptions, "action_count")
    motors, evidence = _motors(descriptions, joints, model)
    speaking = [d for d in descriptions if d.actions or d.groups or d.inputs]
    certain = [d for d in speaking if any(v is not None and not v.guess for v in (d.actions, d.groups, d.inputs))]
    hint = next((d.order for d in (*certain, *speaking)), "model")
    if joints is not None:
        order = Order(motors, (), (), joints)
        base = tuple(order.name(key, model, joints.source) for key in joints.value)
        numbered = any(isinstance(key, int) for key in joints.value)
        guess = joints.guess or (numbered and evidence.guess)
        source = Value(base, joints.source, evidence.remark if numbered else joints.remark, guess)
    elif hint == "breadth_first":
        base = model.breadth_first
        source = Value(
            base,
            "",
            "breadth first from the base, as Isaac Lab orders joints; no file lists them; probe can test it",
            guess=True,
        )
    else:
        base = model.names
        source = Value(base, "", "the model's order; no file lists the joints; probe can test it", guess=True)
    _refuse_twice(base, source.source)
    order = Order(motors, base, (), source)
    actions: Value | None = first(descriptions, "actions")
    driven = _driven(actions, order, model) if actions else base
    blocks = actions.value if actions else ()
    if count is not None and len(driven) > count.value and not any(action.joints for action in blocks) and source.guess:
        driven = driven[: count.value]
        source = Value(
            base, source.source, f"{source.remark}; the first {count.value}, as many as the policy drives", guess=True
        )
    if count is not None and len(driven) != count.value:
        raise RobotError(
            f"{count.source}: the policy has {count.value} actions, and {actions.source if actions else source.source or 'the model'}"
            f" makes it drive {len(driven)} joints; one of the files, or the model, belongs to another policy"
        )
    _refuse_twice(driven, actions.source if actions else source.source)
    if not driven:
        raise RobotError(
            f"{actions.source if actions else source.source} names no joint of the model{nearest('', model.names)}"
        )
    return Order(motors, base, driven, source)


def _driven(actions: Value, order: Order, model: ModelJoints) -> tuple[str, ...]:
    blocks: tuple[Action, ...] = actions.value
    return tuple(name for action in blocks for name in order.names(action.joints, model, actions.source))


def _refuse_twice(names: Sequence[str], source: str) -> None:
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise RobotError(
            f"{source} names the joint {shown(twice)} twice; each joint has one place in the policy's order"
        )


def _motors(
    descriptions: Sequence[Description], joints: Value | None, model: ModelJoints
) -> tuple[tuple[str | None, ...], Value]:
    """The names behind the numbers of motors: from a file that lists them, else the order that makes most sense.

    Frameworks order a policy's joints breadth first or as the model does. Where numbers that look shuffled come out so,
    once they are put onto motors in some order, that order is taken for certain.
    """
    listed = first(descriptions, "motors")
    if listed is not None:
        names = tuple(need_joint(name, model.everything, listed.source) if name else None for name in listed.value)
        return names, Value(None, listed.source, f"motors as {listed.source} names them")
    if joints is not None and joints.guess:  # places in the state of the simulator, not motors
        return model.names, Value(
            None, "", f"{joints.remark}, in its order; no file lists the joints; probe can test it", guess=True
        )
    numbers = [key for key in joints.value if isinstance(key, int)] if joints else []
    candidates = [
        (_unitree(model.everything), "Unitree's order of motors"),
        (model.actuators, "the order of the model's actuators"),
        (model.names, "the model's order of joints"),
    ]
    usable = [(names, why) for names, why in candidates if names and max(numbers, default=0) < len(names)]
    orders = ((model.breadth_first, "breadth first, as in Isaac Lab"), (model.names, "the model's own, as in mjlab"))
    for order, whose in orders if numbers != sorted(numbers) else ():
        for names, why in usable:
            found = [names[number] for number in numbers]
            if found == [name for name in order if name in found]:
                return names, Value(None, "", f"motors in {why}; the policy's order then is {whose}")
    names, why = next(
        ((n, w) for n, w in usable if n is not candidates[0][0] or len(n) == len(model.names)), (model.names, "")
    )
    return names, Value(None, "", f"no file names the motors; taken as {why}; probe can test it", guess=True)


def _unitree(everything: Sequence[str]) -> tuple[str, ...]:
    """The joints of a quadruped in the order of Unitree's motors, its wheels last; nothing for another robot."""
    legs = [find_joint(f"{leg}_{part}", everything) for leg in LEGS for part in ("hip", "thigh", "calf")]
    wheels = [find_joint(f"{leg}_foot", everything) for leg in LEGS]
    found = tuple(name for name in [*legs, *wheels] if name is not None)
    return found if None not in legs else ()
