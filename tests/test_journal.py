"""The journal of a fit: what was kept comes back exactly, what is not ours is simulated again, and a killed command
ends as if it never was.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from surefoot.errors import FitError
from surefoot.fit.answers import keep_answer, recall_answer
from surefoot.fit.problem import Answer
from surefoot.journal import Journal
from surefoot.logs import record, write_log
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

IDENTITY = {"log": "a", "seed": 0, "settle_s": 0.5}
QUESTIONS = (b"one", b"two", b"three")


def answer(seed: int, influence: bool = True) -> Answer:
    rng = np.random.default_rng(seed)
    return Answer(
        rng.normal(size=(4, 30)),
        rng.normal(size=4),
        rng.uniform(size=4),
        rng.normal(size=(6, 30)).astype(np.float32) if influence else None,
    )


def same(one: Answer, two: Answer) -> bool:
    pairs = [(getattr(one, name), getattr(two, name)) for name in ("residuals", "cost", "fallen", "influence_function")]
    return all(
        a is None and b is None if a is None or b is None else a.dtype == b.dtype and np.array_equal(a, b)
        for a, b in pairs
    )


@pytest.fixture
def folder(tmp_path) -> Path:
    """A journal that holds three answers."""
    kept = Journal(tmp_path / "fit" / "journal", IDENTITY)
    for k, question in enumerate(QUESTIONS):
        assert recall_answer(kept, question) is None
        keep_answer(kept, question, answer(k, influence=k != 2), 0.1 + k)
    return tmp_path / "fit" / "journal"


class TestRecall:
    def test_what_was_kept_comes_back_exactly_and_in_order(self, folder):
        journal = Journal(folder, IDENTITY)
        for k, question in enumerate(QUESTIONS):
            found = recall_answer(journal, question)
            assert found is not None
            assert same(found[0], answer(k, influence=k != 2))
            assert found[1] == 0.1 + k
        assert recall_answer(journal, b"four") is None

    def test_another_question_is_simulated_again_and_so_is_all_that_follows_from_it(self, folder):
        journal = Journal(folder, IDENTITY)
        assert recall_answer(journal, b"one") is not None
        assert recall_answer(journal, b"another") is None
        keep_answer(journal, b"another", answer(9), 1.0)
        assert recall_answer(journal, b"still another") is None
        again = Journal(folder, IDENTITY)
        found = [recall_answer(again, question) for question in (b"one", b"another")]
        assert same(found[1][0], answer(9))

    def test_numbers_that_are_not_finite_come_back_too(self, tmp_path):
        given = Answer(np.array([[np.nan, np.inf, -0.0]]), np.array([np.inf]), np.array([1.0]))
        keep_answer(Journal(tmp_path / "journal", IDENTITY), b"q", given, 0.0)
        found = recall_answer(Journal(tmp_path / "journal", IDENTITY), b"q")
        assert found[0].residuals.tobytes() == given.residuals.tobytes()


class TestDamaged:
    """Whatever stands where an answer should: it is not believed, and nothing is raised."""

    @staticmethod
    def simulated_again(folder: Path, damage: bytes) -> bool:
        """Whether the second answer is asked for anew; if not, the change was one that changes nothing."""
        (folder / "0001.npz").write_bytes(damage)
        journal = Journal(folder, IDENTITY)
        assert recall_answer(journal, b"one") is not None
        found = recall_answer(journal, b"two")
        assert found is None or same(found[0], answer(1))
        return found is None

    def test_a_new_answer_takes_the_place_and_those_after_it_are_still_known(self, folder):
        (folder / "0001.npz").write_bytes(b"damaged")
        journal = Journal(folder, IDENTITY)
        assert [recall_answer(journal, question) is None for question in QUESTIONS[:2]] == [False, True]
        keep_answer(journal, b"two", answer(1), 1.1)
        assert recall_answer(journal, b"three") is not None
        again = Journal(folder, IDENTITY)
        assert all(again.recall(question) is not None for question in QUESTIONS)

    def test_cut_off_anywhere(self, folder):
        whole = (folder / "0001.npz").read_bytes()
        for length in (0, 1, 4, 30, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
            assert self.simulated_again(folder, whole[:length]), length

    def test_a_byte_changed_anywhere(self, folder):
        whole, rng = (folder / "0001.npz").read_bytes(), random.Random(5)
        changed = 0
        for _ in range(300):
            damage = bytearray(whole)
            damage[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
            changed += self.simulated_again(folder, bytes(damage))
        assert changed > 200

    def test_every_byte_of_the_zip_directory(self, folder):
        whole = (folder / "0001.npz").read_bytes()
        directory = whole.index(b"PK\x01\x02")
        places = [*range(46), *range(directory, len(whole))]
        changed = 0
        for place in places:
            for value in (0x00, 0x08, 0xFF):
                changed += self.simulated_again(folder, whole[:place] + bytes([value]) + whole[place + 1 :])
        assert changed > len(places)

    def test_something_else_altogether(self, folder, tmp_path):
        np.save(tmp_path / "array.npy", np.zeros(3))
        with zipfile.ZipFile(tmp_path / "empty.npz", "w"):
            pass
        np.savez(tmp_path / "partial.npz", question=np.array("x"))
        for damage in (
            (tmp_path / "array.npy").read_bytes(),
            (tmp_path / "empty.npz").read_bytes(),
            (tmp_path / "partial.npz").read_bytes(),
            b"hello",
            os.urandom(2000),
            b"\x80\x04\x95N.",  # a pickle
        ):
            assert self.simulated_again(folder, damage)

    def test_a_pickle_inside_is_never_opened(self, folder, tmp_path):
        class Trap:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "sprung"),)

        with np.load(folder / "0001.npz") as file:
            parts = dict(file)
        for name in ("question", "wall_s", "residuals", "cost", "influence"):
            trapped = np.empty(1, dtype=object)
            trapped[0] = Trap()
            np.savez(tmp_path / "trap.npz", **(parts | {name: trapped}))
            assert self.simulated_again(folder, (tmp_path / "trap.npz").read_bytes()), name
        assert not (tmp_path / "sprung").exists()

    def test_a_folder_in_its_place(self, folder):
        (folder / "0001.npz").unlink()
        (folder / "0001.npz").mkdir()
        journal = Journal(folder, IDENTITY)
        recall_answer(journal, b"one")
        assert recall_answer(journal, b"two") is None


class TestOtherRuns:
    def test_other_settings_are_refused_by_name(self, folder):
        with pytest.raises(FitError) as caught:
            Journal(folder, {"log": "b", "seed": 0, "settle_s": 1.0, "new": 1})
        message = str(caught.value)
        assert "(log, new, settle_s)" in message
        assert message.endswith("give another folder, or begin anew there")
        assert caught.value.argument == "restart"
        assert str(folder.parent) in message
        assert Journal(folder, IDENTITY).recall(b"one") is not None  # and nothing was lost

    def test_restart_forgets(self, folder):
        other = IDENTITY | {"log": "b"}
        assert Journal(folder, other, restart=True).recall(b"one") is None
        assert [path.name for path in folder.iterdir()] == ["run.json"]
        assert json.loads((folder / "run.json").read_text()) == other

    def test_restart_forgets_even_where_the_name_of_the_run_is_lost(self, folder):
        (folder / "run.json").unlink()
        assert Journal(folder, IDENTITY, restart=True).recall(b"one") is None

    def test_restart_in_an_empty_place(self, tmp_path):
        assert Journal(tmp_path / "new" / "journal", IDENTITY, restart=True).recall(b"one") is None

    def test_restart_takes_nothing_that_is_not_a_journal(self, tmp_path):
        (tmp_path / "journal").mkdir()
        (tmp_path / "journal" / "thesis.tex").write_text("years of work")
        Journal(tmp_path / "journal", IDENTITY, restart=True)
        assert (tmp_path / "journal" / "thesis.tex").exists()

    @pytest.mark.parametrize("left", [None, "", "[]", '{"log": '])
    @pytest.mark.parametrize("restart", [False, True])
    def test_answers_of_a_run_that_nobody_knows_are_not_taken(self, folder, left, restart):
        """As a restart leaves them that is killed while it forgets."""
        (folder / "run.json").unlink()
        if left is not None:
            (folder / "run.json").write_text(left)
        journal = Journal(folder, IDENTITY | {"log": "b"}, restart=restart)
        assert recall_answer(journal, b"one") is None

    def test_a_file_where_the_folder_should_be(self, tmp_path):
        (tmp_path / "journal").write_text("")
        with pytest.raises(Exception, match="is a file, not a folder"):
            Journal(tmp_path / "journal", IDENTITY)


class TestKilled:
    """The real command in processes of its own, killed without a chance to tidy up."""

    KILLS = 10
    FIT = (
        "fit",
        "../log.parquet",
        "--out",
        "fit",
        "--settle-s",
        "0.2",
        "--threads",
        "1",
        "--tie",
        "all",
        "--family",
        "static",
        "--fix",
        "armature_kgm2=0.01",
        "viscous_friction_nms=0.1",
        "torque_noise_nm=0",
        "delay_s=0",
    )

    def start(self, place: Path) -> subprocess.Popen:
        place.mkdir(exist_ok=True)
        command = [sys.executable, "-c", "from surefoot.cli import main; main()", *self.FIT]
        return subprocess.Popen(
            command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"MUJOCO_GL": "off"}
        )

    def finish(self, place: Path) -> float:
        started = time.monotonic()
        process = self.start(place)
        _, error = process.communicate(timeout=300)
        assert (process.returncode, error) == (0, b"")
        return time.monotonic() - started

    @staticmethod
    def answers(place: Path) -> int:
        return len(list((place / "fit" / "journal" / "static").glob("[0-9]*.npz")))

    @staticmethod
    def figures(place: Path) -> dict[str, object]:
        """Everything but the wall-clock, and the mark, which holds a hash of it."""
        content = json.loads((place / "fit" / "fit.json").read_text())
        del content["written_by"]
        for timed in (*content["steps"], *content["families"]):
            assert timed.pop("wall_s") > 0
        return content

    def test_ten_times_at_random_moments_it_ends_as_if_it_never_was(self, tmp_path, go2):
        log = record(
            Twin("rubbing", Physics(go2, {"dry_friction_nm": 0.5})), "walk", rollouts=6, seconds=1.1, seed=3, threads=1
        )
        write_log(log, tmp_path / "log.parquet")
        whole, killed = tmp_path / "whole", tmp_path / "killed"
        duration = self.finish(whole)
        complete = self.answers(whole)
        assert complete > self.KILLS
        chance, interrupted, seen = random.Random(2646), 0, [0]
        moments = sorted(
            chance.uniform(0.5, duration) for _ in range(self.KILLS)
        )  # short lives first: else one gets through early on
        for turn, moment in enumerate(moments):
            process, ends = self.start(killed), time.monotonic() + moment
            # Every other kill waits for an answer that is new, and none for a second one: whatever the machine, some
            # come in the middle.
            while process.poll() is None and self.answers(killed) <= seen[-1] and (turn % 2 or time.monotonic() < ends):
                time.sleep(0.005)
            process.kill()
            process.communicate()
            seen.append(self.answers(killed))
            interrupted += process.returncode == -signal.SIGKILL and seen[-1] < complete
        assert interrupted >= self.KILLS // 2
        assert (
            len({count for count in seen if 0 < count < complete}) >= 2
        )  # in the middle of the search, more than once
        assert seen == sorted(seen)
        self.finish(killed)
        assert self.answers(killed) == complete
        for name in ("adaptation.json", "adapted.xml", "simulator.yaml"):
            assert (killed / "fit" / name).read_bytes() == (whole / "fit" / name).read_bytes()
        assert self.figures(killed) == self.figures(whole)
        assert self.figures(whole)["stopped"] == "settled"
