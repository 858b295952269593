"""Messages are decoded as the library decodes them."""

import dataclasses

import numpy as np
import pytest
from support.log_files import STORE, joint_state, message

from surefoot.logs.importing.cdr import decode
from surefoot.logs.importing.messages import KNOWN


class TestDecoding:
    @pytest.mark.parametrize("kind", KNOWN)
    @pytest.mark.parametrize("little", [True, False])
    def test_as_the_library_decodes_it(self, kind, little) -> None:
        """The fast way against rosbags, field by field, for messages full of random numbers."""
        rng = np.random.default_rng(0)

        def shaken(content, length):
            for name, (node, inner) in STORE.fielddefs[content.__msgtype__][1]:
                value = getattr(content, name)
                if node.name == "NAME":
                    shaken(value, length)
                elif node.name == "BASE":
                    setattr(content, name, "x" * length if inner[0] == "string" else type(value)(rng.integers(0, 100)))
                elif inner[0][0].name == "NAME":
                    if node.name == "SEQUENCE":
                        setattr(content, name, [message(inner[0][1]) for _ in range(2)])
                    for item in getattr(content, name):
                        shaken(item, length)
                elif inner[0][1][0] == "string":
                    setattr(content, name, [f"name {i}" * length for i in range(length)])
                else:
                    count = len(value) if node.name == "ARRAY" else 3
                    setattr(content, name, rng.integers(0, 100, count).astype(inner[0][1][0].replace("byte", "uint8")))
            return content

        originals = [shaken(message(kind), length) for length in (1, 2, 2, 5, 2)]
        raw = [bytes(STORE.serialize_cdr(content, kind, little_endian=little)) for content in originals]
        blocks, broken = decode(raw, kind)
        assert broken == 0
        assert sorted(i for block in blocks for i in block.rows) == [0, 1, 2, 3, 4]
        assert len(blocks) <= 3

        def compare(content, block, row, path):
            for name, (node, _) in STORE.fielddefs[content.__msgtype__][1]:
                value, here = getattr(content, name), f"{path}.{name}" if path else name
                if node.name == "NAME":
                    compare(value, block, row, here)
                elif isinstance(value, str):
                    assert block.layout.texts[here] == (value,)
                elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
                    for i, item in enumerate(value):
                        compare(item, block, row, f"{here}.{i}")
                elif isinstance(value, list) and value and isinstance(value[0], str):
                    assert block.layout.texts[here] == tuple(value)
                else:
                    np.testing.assert_array_equal(block.numbers(here)[row], np.atleast_1d(value))

        for block in blocks:
            for row, i in enumerate(block.rows):
                compare(STORE.deserialize_cdr(raw[i], kind), block, row, "")

    def test_many_layouts_are_all_decoded(self) -> None:
        raw = [
            bytes(STORE.serialize_cdr(joint_state([f"{i:03d}"], [float(i)]), "sensor_msgs/msg/JointState"))
            for i in range(100)
        ]
        blocks, broken = decode(raw, "sensor_msgs/msg/JointState")
        assert broken == 0
        assert sorted(
            (int(block.rows[0]), block.numbers("position")[0, 0], block.layout.texts["name"]) for block in blocks
        ) == [(i, i, (f"{i:03d}",)) for i in range(100)]

    @pytest.mark.parametrize(
        "raw",
        [b"", b"\x00", b"\x07\x01\x00\x00" + bytes(100), bytes(4) + b"\xff" * 100, b"\x00\x01\x00\x00" + b"\xff" * 100],
    )
    def test_what_is_no_message_is_counted(self, raw) -> None:
        assert decode([raw, raw], "sensor_msgs/msg/JointState") == ([], 2)
