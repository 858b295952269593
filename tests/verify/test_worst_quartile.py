"""The worst quarter of the candidates: found where it is there, not where chance makes one, and with the
episodes that a loop walks.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from surefoot.pipeline.loop_inputs import SHORT_VERDICT
from surefoot.verify.compare import LEVEL, compare, compare_over
from surefoot.verify.evaluate import DRIFT_S
from surefoot.verify.rules import ADAPTED, NOMINAL, POOLED, QUARTER, TOGETHER, Reason, judge, worse
from surefoot.verify.trial import Trial
from surefoot.verify.verdict import Effort
from surefoot.verify.worst_quartile import compare_worst

FULL = {"velocity_error_m_s": 1.0, "turn_error_rad_s": 1.0, "drift_m": 16.0, "way_error_m": 16.0}
LOOP = SHORT_VERDICT.effort
ROBOTS = 8
SOME, MANY = 25, 200  # tries, for what holds on average
DIRECTIONS = 4


def trial(
    drift_m: Sequence[float] | np.ndarray,
    error_m_s: Sequence[float] | np.ndarray,
    fell: np.ndarray | None = None,
    pushed: np.ndarray | None = None,
) -> Trial:
    """What one policy did in one simulator, like others but for what is given."""
    episodes, straight = len(error_m_s), len(drift_m)
    same = np.ones(episodes)
    way = np.full((DIRECTIONS, straight), 4.0)
    return Trial(
        directions=("+x", "-x", "+y", "-y"),
        fell=np.zeros(episodes, bool) if fell is None else fell,
        fell_pushed=np.zeros(episodes, bool) if pushed is None else pushed,
        fell_straight=np.zeros((DIRECTIONS, straight), bool),
        velocity_error_m_s=np.array(error_m_s),
        turn_error_rad_s=same,
        power_w=same,
        action_change=same,
        joint_acceleration_rad_s2=same,
        cost_of_transport=1.0,
        commanded_m=np.full(DIRECTIONS, 4.0),
        way_m=way,
        lateral_m=np.tile(np.array(drift_m) / DIRECTIONS, (DIRECTIONS, 1)),
        path_m=np.zeros((DIRECTIONS, straight, 2, 2)),
    )


def drawn(
    seed: int, changes_m: Sequence[float], scatter_m: float = 0.2, effort: Effort = LOOP
) -> list[tuple[Trial, Trial]]:
    """Candidates that drift 1.5 m before and are off by `changes_m` after; commands scatter for all of them
    alike, noise for each.
    """
    random = np.random.default_rng(seed)
    straight, walking = effort.candidate_straight, effort.candidate_episodes
    shared = random.normal(0, scatter_m / 2, straight)
    error = random.uniform(0.08, 0.12, walking)
    pairs = []
    for change_m in changes_m:
        before = 1.5 + random.normal(0, scatter_m, straight)
        after = 1.5 + change_m + shared + random.normal(0, scatter_m, straight)
        pairs.append((trial(before, error), trial(after, 0.8 * error)))
    return pairs


def reasons(pairs: Sequence[tuple[Trial, Trial]], quarter: bool = True) -> tuple[Reason, ...]:
    """As a verdict judges them, beside named simulators in which all is well."""
    level = 1 - (1 - LEVEL) / len(pairs)
    walks = np.linspace(0.08, 0.12, 20)
    old, new = trial(np.full(8, 1.5), walks), trial(np.full(8, 1.2), 0.7 * walks)
    every = [compare(f"candidate {k}", *pair, level) for k, pair in enumerate(pairs)]
    named = [compare(NOMINAL, old, old), compare(ADAPTED, old, new)]
    return judge(named, compare_over(POOLED, pairs), every, FULL, compare_worst(QUARTER, pairs) if quarter else None)[0]


class TestQuarter:
    def test_a_quarter_that_gets_worse_behind_others_that_get_better_is_caught(self) -> None:
        """And is not caught without it: neither the mean over all nor one robot alone can tell."""
        changes = [0.5] * (ROBOTS // 4) + [-0.4] * (ROBOTS - ROBOTS // 4)
        caught = [[bool(reasons(drawn(seed, changes), quarter)) for seed in range(SOME)] for quarter in (True, False)]
        assert np.mean(caught[0]) > 0.9
        assert np.mean(caught[1]) < 0.6
        (reason,) = [one for one in reasons(drawn(0, changes)) if one.simulator == QUARTER]
        assert reason.rule == "worse"
        assert reason.says.startswith("total drift 1.")
        assert reason.says.endswith("clearly worse")

    def test_the_worst_by_chance_is_no_reason(self) -> None:
        """Chosen and measured by the same episodes it would look worse; measured by others it does not."""
        found = [drawn(seed, [0.0] * ROBOTS, scatter_m=0.6) for seed in range(MANY)]
        changes = np.array([compare_worst(QUARTER, pairs).change["drift_m"].value for pairs in found])
        assert abs(changes.mean()) < 3 * changes.std() / np.sqrt(MANY)
        chosen = [
            np.sort([(new.drift_m - old.drift_m).mean() for old, new in pairs])[-ROBOTS // 4 :].mean()
            for pairs in found
        ]
        assert np.mean(chosen) > 5 * abs(changes.mean())
        assert np.mean([worse(compare_worst(QUARTER, pairs), "drift_m", FULL) for pairs in found]) < 0.1

    def test_what_all_of_them_say_is_said_once(self) -> None:
        found = reasons(drawn(0, [0.6] * ROBOTS, scatter_m=0.05))
        assert POOLED in {one.simulator for one in found}
        assert QUARTER not in {one.simulator for one in found}

    def test_before_and_change_add_up_and_falls_leave_nothing_to_measure(self) -> None:
        pairs = drawn(3, [0.5, 0.5, *[0.0] * 6])
        fallen = trial(np.full(LOOP.candidate_straight, np.nan), np.full(LOOP.candidate_episodes, np.nan))
        found = compare_worst(QUARTER, [*pairs, (pairs[0][0], fallen)])
        for figure, change in found.change.items():
            assert found.after.value(figure) - found.before.value(figure) == pytest.approx(change.value)
        nothing = compare_worst(QUARTER, [(pairs[0][0], fallen)])
        assert nothing.change["drift_m"].count == 0

    def test_one_episode_cannot_choose(self) -> None:
        one = [(trial([1.0], [0.1]), trial([3.0], [0.1])) for _ in range(4)]
        assert compare_worst(QUARTER, one).change["drift_m"].count == 0


class TestFalls:
    def test_a_quarter_that_falls_where_the_others_fall_less(self) -> None:
        """Together there are fewer falls than before."""
        often, rarely, never = np.arange(8) < 6, np.arange(8) < 2, np.zeros(8, bool)
        drift, error = np.full(4, 1.5), np.linspace(0.08, 0.12, 8)
        pairs = [
            (
                trial(drift, error, pushed=never if k < 2 else rarely),
                trial(drift, error, pushed=often if k < 2 else never),
            )
            for k in range(ROBOTS)
        ]
        found = compare_worst(QUARTER, pairs)
        assert (found.falls_pushed.episodes, found.falls_pushed.before, found.falls_pushed.after) == (16, 0, 12)
        assert compare_over(POOLED, pairs).falls_pushed.chance > 0.5
        assert ("more falls", QUARTER) in {(one.rule, one.simulator) for one in reasons(pairs)}
        assert not {POOLED, TOGETHER} & {one.simulator for one in reasons(pairs)}

    def test_straight_walks_of_one_start_stay_in_one_half(self) -> None:
        """A start from which both robots of a quarter fall in all directions must not choose the quarter
        that it is counted in.
        """
        drift, error = np.full(4, 1.5), np.linspace(0.08, 0.12, 8)
        calm = trial(drift, error)
        pairs = [(calm, calm) for _ in range(ROBOTS)]
        thrown = trial(drift, error)
        thrown.fell_straight[:, 0] = True
        pairs[5] = (calm, thrown)
        assert compare_worst(QUARTER, pairs).falls.after == 0


class TestLoop:
    def test_a_loop_walks_enough_of_each_candidate_and_not_for_too_long(self) -> None:
        assert LOOP.candidate_straight >= 4
        assert LOOP.candidate_episodes >= 8
        assert LOOP.candidates >= 8
        named, corners = 3, 2
        world_s = 2 * sum(
            robots * (2 * walking * LOOP.seconds + DIRECTIONS * straight * DRIFT_S)
            for robots, walking, straight in (
                (named, LOOP.episodes, LOOP.straight_episodes),
                (LOOP.candidates + corners, LOOP.candidate_episodes, LOOP.candidate_straight),
            )
        )
        assert world_s < 10_000  # about 100 of them take a second on two cores
