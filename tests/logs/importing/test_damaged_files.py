"""Damaged files never give a traceback: whatever happens to their bytes, they are read or refused with one sentence.

bench/fuzz.py does the same with thousands of files of every kind, limits of time and memory, and a result file.
"""

import numpy as np
import pytest
from support.log_files import KINDS, damage, damaged, read_whole, valid_file

from surefoot.errors import SurefootError

CASES = 60
# A damaged ULog file can keep pyulog busy until the watchdog ends the process, as it should; bench/fuzz.py reads such
# files in processes of their own.
IN_PROCESS = [kind for kind in KINDS if kind != "run.ulg"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", IN_PROCESS)
def test_damaged_files_are_read_or_refused(kind, tmp_path, go2) -> None:
    path = valid_file(kind, tmp_path)
    content = path.read_bytes()
    read_whole(kind, path, go2)  # the whole file can be read
    rng = np.random.default_rng(20)
    refused = []
    for _ in range(CASES):
        path.write_bytes(damaged(kind, content, rng))
        try:
            read_whole(kind, path, go2)
        except SurefootError as mistake:
            refused.append(str(mistake))
    assert refused
    assert [sentence for sentence in refused if "\n" in sentence or path.name not in sentence] == []


def test_damage_changes_the_bytes_and_depends_on_the_seed_only() -> None:
    content = bytes(range(256)) * 4
    first = [damage(content, np.random.default_rng(i)) for i in range(50)]
    assert first == [damage(content, np.random.default_rng(i)) for i in range(50)]
    assert sum(changed != content for changed in first) > 45
    assert damage(b"", np.random.default_rng(0)) is not None
