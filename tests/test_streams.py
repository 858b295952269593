"""Streams of random numbers: every use of a seed has one of its own."""

import re
from collections import Counter
from pathlib import Path

import surefoot
from surefoot.streams import Stream

SOURCES = [path for path in sorted(Path(surefoot.__file__).parent.rglob("*.py")) if path.name != "streams.py"]


def test_no_module_writes_a_number_of_its_own() -> None:
    literal = re.compile(r"default_rng\(\[[^,\]]*,\s*\d")
    assert [path.name for path in SOURCES if literal.search(path.read_text())] == []


def test_each_stream_is_used_in_one_module() -> None:
    used = Counter(name for path in SOURCES for name in set(re.findall(r"Stream\.([A-Z_]+)", path.read_text())))
    assert used == Counter(stream.name for stream in Stream)
