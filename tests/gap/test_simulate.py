"""Simulators that walk a schedule: candidates differ by their change alone."""

import numpy as np
import pytest
from support.walks import walked, whole_case

from surefoot.errors import GapError
from surefoot.gap import Simulator
from surefoot.gap.channels import PUBLISHED
from surefoot.gap.simulate import refuse_falling


class Friction:
    """Candidates with different dry friction."""

    torque_speed = False

    def apply(self, worlds, candidates, pieces) -> None:
        worlds.set("dry_friction_nm", np.repeat(candidates, pieces, axis=0) * np.ones(worlds.robot.contract.n_joints))


class TestSimulator:
    def test_candidates_differ_by_their_change_alone(self, robot, log) -> None:
        case = whole_case(robot, log)
        schedule = case.schedule.pick(np.arange(3))
        simulator = Simulator(case.driver, schedule, PUBLISHED, threads=1)
        run = simulator.run(Friction(), np.array([[0.2], [0.2], [0.4]]), seed=7)
        assert run.samples.shape == (3, schedule.counted.sum(), 3 * robot.contract.n_joints)
        np.testing.assert_array_equal(run.samples[0], run.samples[1])
        assert not np.array_equal(run.samples[0], run.samples[2])
        alone = simulator.run(Friction(), np.array([[0.4]]), seed=7)
        np.testing.assert_array_equal(alone.samples[0], run.samples[2])
        assert not np.array_equal(simulator.run(Friction(), np.array([[0.4]]), seed=8).samples, alone.samples)

    def test_large_populations_run_in_turns_to_the_same_end(self, go2, monkeypatch) -> None:
        case = whole_case(go2, walked(go2, rollouts=8))
        simulator = Simulator(case.driver, case.schedule.pick(np.arange(2)), PUBLISHED, threads=1)
        candidates = np.array([[0.1], [0.2], [0.3]])
        whole = simulator.run(Friction(), candidates, seed=3)
        monkeypatch.setattr("surefoot.gap.simulate.MOST_WORLDS", 4)
        seen: list[tuple[int, int]] = []
        parts = simulator.run(Friction(), candidates, seed=3, tick=lambda done, total: seen.append((done, total)))
        np.testing.assert_array_equal(parts.samples, whole.samples)
        assert seen[-1][0] == seen[-1][1] == len(seen)

    def test_a_policy_that_falls_is_refused(self, go2) -> None:
        refuse_falling(0.5, go2, "the policy")
        with pytest.raises(
            GapError, match=r"falls in 80% of the simulated episodes on go2.*as the doctor does"
        ) as caught:
            refuse_falling(0.8, go2, "the policy")
        assert caught.value.verb == "doctor"
