"""Kinds of input for bench/fuzz.py: how a sound file is made, how it is mutated, and which verbs read it."""

from fuzz_kinds import adaptations, files, imports, logs, policies, robots
from fuzz_kinds.kind import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (*robots.KINDS, *policies.KINDS, *imports.KINDS, *adaptations.KINDS, *logs.KINDS, *files.KINDS)
}
