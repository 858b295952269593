"""The spread that a fit leaves open, as ranges for domain randomization: what the log could not tell, the
policy must bear.
"""

from surefoot.adapt.adaptation import Adaptation, Fitted
from surefoot.adapt.export.adapted import Adapted, adapt, entries, left_out, origin
from surefoot.errors import FitError, shown
from surefoot.files import yaml_comment
from surefoot.robot import Robot
from surefoot.sim.parameters import PARAMETERS, TORQUE_SPEED

Range = tuple[float, float]


def randomization_ranges(adaptation: Adaptation) -> dict[str, Range]:
    """Lowest and highest value of each knob, by the knob's name: its 90 % interval, within what the simulator takes."""
    return {knob.name: _range(knob) for knob in _identified(adaptation)}


def ranges_by_entry(adapted: Adapted) -> dict[str, dict[str, Range]]:
    """Parameter -> joint, axis or body ("" for one value per world) -> range; what has no knob is not in it."""
    ranges: dict[str, dict[str, Range]] = {}
    for knob in _identified(adapted.adaptation):
        names = adapted.worlds.names(knob.parameter) or ("",)
        for where in knob.where or names:
            if where not in names:
                raise FitError(
                    f"the knob {shown(knob.name)} is of {shown(where)}, which {adapted.robot.name} does not have; fit"
                    " again"
                )
            ranges.setdefault(knob.parameter, {})[where] = _range(knob)
    return ranges


def _identified(adaptation: Adaptation) -> list[Fitted]:
    """Knobs that a log said something about; of the others the robot's own value stays."""
    return [knob for knob in adaptation.knobs if knob.flag != "no effect" and knob.parameter in adaptation.settings]


def randomization_table(adaptation: Adaptation, robot: Robot) -> str:
    """A YAML table for `surefoot train --randomization`.

    The table knows one range for all joints of a parameter, so it is drawn around all of them: wider than what was
    identified where joints differ. Settings without a knob stand in it as numbers.
    """
    adapted = adapt(adaptation, robot)
    ranges = ranges_by_entry(adapted)
    lines, wide, held = [], [], set()
    for name in dict.fromkeys([*ranges, *adaptation.settings]):
        values = entries(adapted, name)
        if name in TORQUE_SPEED or (name not in ranges and len(set(values.values())) > 1):
            continue
        held.add(name)
        unit = PARAMETERS[name].unit
        comment = "" if unit == "1" else f"  # {unit}"
        if name not in ranges:
            lines.append(f"{name}: {next(iter(values.values()))!r}{comment}")
            continue
        spans = [ranges[name].get(where, (value, value)) for where, value in values.items()]
        low, high = min(span[0] for span in spans), max(span[1] for span in spans)
        knobs = [knob for knob in _identified(adaptation) if knob.parameter == name]
        together = (
            ", together: true" if len(values) > 1 and len(knobs) == 1 and len(ranges[name]) == len(values) else ""
        )
        lines.append(f"{name}: {{set: [{low!r}, {high!r}]{together}}}{comment}")
        if len(set(spans)) > 1:
            wide += [f"{knob.name}: {_range(knob)[0]!r} to {_range(knob)[1]!r}" for knob in knobs]
    head = ["Ranges from the 90 % intervals of a fit, for `surefoot train --randomization`.", *origin(adapted)]
    if wide:
        head += ["One range serves all joints, so it spans all of these:", *(f"  {line}" for line in wide)]
    missing = left_out(adapted, held)
    if missing:
        head += ["NOT in this table, which cannot say it:", *(f"  {line}" for line in missing)]
    return "\n".join([*map(yaml_comment, head), *(lines or ["{}"])]) + "\n"


def _range(knob: Fitted) -> Range:
    """The interval with the value itself in it, cut at what the parameter may be."""
    of = PARAMETERS[knob.parameter]
    low, high = min(*knob.interval, knob.value), max(*knob.interval, knob.value)
    return min(max(low, of.low), of.high), min(max(high, of.low), of.high)
