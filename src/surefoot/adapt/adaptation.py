"""An adaptation: the change of a simulator that a fit found, as one JSON file that everything else reads.

The file holds what each knob was and became, with interval and flag; the whole settings in the simulator's own names;
and where it comes from. Reading it needs nothing but JSON, and believes nothing: names, sizes and bounds are checked.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from surefoot.errors import FitError, SurefootError, shown
from surefoot.files import is_number, read_json, write_json
from surefoot.robot import Robot
from surefoot.shown import Shown, dataframe
from surefoot.sim.network import Network, read_network
from surefoot.sim.parameters import PARAMETERS, parameter
from surefoot.sim.physics import Physics
from surefoot.sim.values import resolve

ADAPTATION = "adaptation.json"
VERSION = 1
MOST_KNOBS = 5_000  # a humanoid fitted joint by joint has about a hundred
MOST_WHERE = 1_000  # joints or axes that share a knob; a model has at most so many degrees of freedom
LONGEST_NAME, LONGEST_NOTE = 300, 5_000  # characters
MOST_PROVENANCE, DEEPEST_PROVENANCE = 200_000, 20  # characters, a value counting as 20, and levels
Flag = Literal["", "at its bound", "not identifiable", "no effect"]
FLAGS: tuple[Flag, ...] = ("", "at its bound", "not identifiable", "no effect")


@dataclass(frozen=True)
class Fitted:
    """One knob, as it was found."""

    name: str  # "dry_friction_nm[FL_hip_joint]"
    parameter: str
    where: tuple[str, ...]  # joints or axes that share it; empty for one value per world
    unit: str
    start: float
    value: float
    interval: tuple[float, float]  # 90 %
    bounds: tuple[float, float]
    flag: Flag = ""
    note: str = ""  # why it is flagged, and which recording would help


@dataclass(frozen=True)
class Adaptation(Shown):
    """What was changed in a robot's simulator."""

    robot: str
    robot_hash: str
    family: str
    knobs: tuple[Fitted, ...]
    settings: dict[str, Any]  # all that differs from the robot's own values, as `Worlds.set` takes it, in policy order
    network: Network | None = None  # what it adds beside them
    provenance: dict[str, Any] = field(default_factory=dict)

    def physics(self, robot: Robot) -> "AdaptedPhysics":
        """What the simulator of this robot became; refuses another robot than the one that was fitted."""
        if robot.hash != self.robot_hash:
            raise FitError(
                f"the adaptation was fitted to another {self.robot} ({self.robot_hash[:12]}) than this {robot.name}"
                f" ({robot.hash[:12]}); fit again, or give the robot that it was fitted to"
            )
        return AdaptedPhysics(robot, self.settings, self.network, adaptation=self)

    def to_dataframe(self) -> Any:
        """The parameters as a pandas DataFrame: before, after, and the 90 % interval."""
        rows = [asdict(knob) for knob in self.knobs]
        return dataframe([{**row, "low": row["interval"][0], "high": row["interval"][1]} for row in rows])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        network = None if self.network is None else self.network.to_dict()
        return {**asdict(replace(self, network=None)), "network": network}

    @staticmethod
    def from_dict(content: dict[str, Any], robot: Robot) -> "Adaptation":
        """From what `to_dict` gave, through JSON or not; names, sizes and bounds are checked."""
        texts = {key: content.get(key) for key in ("robot", "robot_hash", "family")}
        for key, value in texts.items():
            if not isinstance(value, str):
                raise FitError(f"{key!r} is {shown(value)}; it must be text")
            _refuse_long(value, repr(key))
        settings, knobs, provenance = content.get("settings"), content.get("knobs"), content.get("provenance", {})
        if not isinstance(settings, dict) or not isinstance(knobs, (list, tuple)) or not isinstance(provenance, dict):
            raise FitError("'settings' and 'provenance' must be mappings, and 'knobs' a list")
        if len(knobs) > MOST_KNOBS:
            raise FitError(f"it has {len(knobs):,} knobs; no fit has more than {MOST_KNOBS:,}")
        _refuse_provenance(provenance)
        written = content.get("network")
        network = None if written is None else read_network(written, robot, FitError)
        adaptation = Adaptation(
            **texts,  # type: ignore[arg-type]
            knobs=tuple(_fitted(entry) for entry in knobs),
            settings=settings,
            network=network,
            provenance=provenance,
        )
        adaptation.physics(robot)
        for name, value in settings.items():
            resolve(name, value, robot, error=FitError)
        return adaptation


@dataclass(frozen=True, eq=False)
class AdaptedPhysics(Physics):
    """A physics that a fit found, with the intervals of its numbers: what training and the verdict draw from."""

    adaptation: Adaptation | None = field(default=None, repr=False)
    fit: Any = field(default=None, repr=False)  # the whole fit, where it is at hand


def write_adaptation(path: Path, adaptation: Adaptation) -> None:
    """Write adaptation.json, whole or not at all."""
    write_json(path, {"surefoot_adaptation": VERSION, **adaptation.to_dict()})


def read_adaptation(path: Path, robot: Robot) -> Adaptation:
    """Read an adaptation of this robot, from its file or from the folder of a fit."""
    path = path / ADAPTATION if path.is_dir() else path
    content = read_json(path, FitError, "the folder that a fit wrote, or its adaptation.json")
    if not isinstance(content, dict) or content.get("surefoot_adaptation") != VERSION:
        raise FitError(f"{path} is not an adaptation of version {VERSION}; a fit writes one", verb="fit")
    try:
        return Adaptation.from_dict(content, robot)
    except SurefootError as reason:
        raise FitError(f"{path}: {reason}", argument=reason.argument, verb=reason.verb) from None


def _refuse_long(value: Any, what: str, most: int = LONGEST_NAME) -> None:
    """Refuse what is no text, or longer than what is shown in a table or written into a comment."""
    if not isinstance(value, str):
        raise FitError(f"{what} is {shown(value)}; it must be text")
    if len(value) > most:
        raise FitError(f"{what} has {len(value):,} characters; no fit writes more than {most:,}")


def _refuse_provenance(provenance: dict[str, Any]) -> None:
    """Refuse more than a fit says of where it comes from; all of it is written into exported files."""
    size, level = 0, [provenance]
    for _ in range(DEEPEST_PROVENANCE):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item, *item.values()]
            elif isinstance(item, (list, tuple)):
                below += item
            size += len(item) if isinstance(item, str) else 20
            if size > MOST_PROVENANCE or len(below) > MOST_PROVENANCE:
                raise FitError(
                    f"'provenance' holds more than a fit says of where it comes from ({MOST_PROVENANCE:,} characters);"
                    " remove it"
                )
        level = below
    if level:
        raise FitError(f"'provenance' is nested more than {DEEPEST_PROVENANCE} levels deep; remove it")


def _fitted(entry: Any) -> Fitted:
    if not isinstance(entry, dict) or set(entry) != set(Fitted.__dataclass_fields__):
        raise FitError(f"a knob is {shown(entry)}; it must have {', '.join(Fitted.__dataclass_fields__)}")
    parameter(str(entry["parameter"]), FitError)
    numbers = [entry["start"], entry["value"]]
    pairs = [entry["interval"], entry["bounds"]]
    if not all(is_number(value) for value in numbers) or not all(
        isinstance(p, (list, tuple)) and len(p) == 2 and all(map(is_number, p)) for p in pairs
    ):
        raise FitError(f"start, value, interval and bounds of {shown(entry['name'])} must be finite numbers")
    if (
        entry["flag"] not in FLAGS
        or not isinstance(entry["where"], (list, tuple))
        or entry["unit"] != PARAMETERS[entry["parameter"]].unit
    ):
        raise FitError(f"flag, where or unit of {shown(entry['name'])} is not one that a fit writes")
    if len(entry["where"]) > MOST_WHERE:
        raise FitError(
            f"{shown(entry['name'])} is shared by {len(entry['where']):,} joints or axes; a robot has at most"
            f" {MOST_WHERE:,}"
        )
    for name in entry["where"]:
        _refuse_long(name, f"an entry of 'where' of {shown(entry['name'])}")
    _refuse_long(entry["name"], "the name of a knob")
    _refuse_long(entry["note"], f"the note of {shown(entry['name'])}", LONGEST_NOTE)
    return Fitted(
        str(entry["name"]),
        entry["parameter"],
        tuple(map(str, entry["where"])),
        entry["unit"],
        float(entry["start"]),
        float(entry["value"]),
        (float(pairs[0][0]), float(pairs[0][1])),
        (float(pairs[1][0]), float(pairs[1][1])),
        entry["flag"],
        str(entry["note"]),
    )
