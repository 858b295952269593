"""Trials: figures that agree with `evaluate`, and one batch for all simulators."""

import dataclasses
import sys

import numpy as np
import pytest
from support.verdicts import Throw, agents

from surefoot.sim import Worlds
from surefoot.sim.physics import Physics
from surefoot.verify import evaluate
from surefoot.verify import trial as trials
from surefoot.verify.evaluate import PUSH_M_S
from surefoot.verify.paths import tracks_of
from surefoot.verify.trial import Place, run_trials


class TestTrials:
    def test_figures_are_those_of_evaluate(self, go2, monkeypatch) -> None:
        """With one command and one start, the two ways to measure must agree."""
        for module in (sys.modules["surefoot.verify.evaluate"], trials):  # the package has a function of that name
            monkeypatch.setattr(module, "START_SPREAD_RAD", 0.0)
            monkeypatch.setattr(module, "EPISODE_S", 4.0)
        robot = dataclasses.replace(
            go2, contract=dataclasses.replace(go2.contract, command_range=((0.5, 0.5), (0.2, 0.2), (0.0, 0.0)))
        )
        expected = evaluate(
            robot, lambda n: Worlds(robot, n, threads=1), agents(robot, "trot"), episodes=1, straight_episodes=1
        )
        (found,) = run_trials(
            robot, [Place("nominal", Physics(robot), 1, 1)], agents(robot, "trot"), seconds=4.0, threads=1
        )
        for name in ("velocity_error_m_s", "turn_error_rad_s", "action_change"):
            assert getattr(found, name)[0] == pytest.approx(getattr(expected.walk, name), rel=1e-9)
        assert found.cost_of_transport == pytest.approx(expected.walk.cost_of_transport, rel=1e-9)
        assert found.directions == tuple(expected.directions)
        for k, straight in enumerate(expected.directions.values()):
            assert found.lateral_m[k, 0] == pytest.approx(straight.lateral_m, rel=1e-9)
            assert found.way_m[k, 0] == pytest.approx(straight.way_m, rel=1e-9)
            np.testing.assert_allclose(found.path_m[k, 0, -1], (straight.way_m, straight.lateral_m))

    def test_a_simulator_walks_the_same_alone_and_beside_others(self, robot) -> None:
        simulators = [
            Place("a", Physics(robot), 1, 1),
            Place("b", Physics(robot, {"dry_friction_nm": 0.3}), 2, 1),
            Place("c", Physics(robot, physics_hz=1000.0), 1, 1),
        ]
        together = run_trials(robot, simulators, agents(robot, "trot"), seconds=1.0, threads=1)
        for simulator, beside in zip(simulators, together, strict=True):
            (alone,) = run_trials(robot, [simulator], agents(robot, "trot"), seconds=1.0, threads=1)
            np.testing.assert_array_equal(alone.lateral_m, beside.lateral_m)
            np.testing.assert_allclose(alone.velocity_error_m_s[:1], beside.velocity_error_m_s[:1], rtol=0, atol=0)
        assert len({float(one.lateral_m[0, 0]) for one in together}) == 3

    def test_tracks_end_where_the_drift_is_read(self, robot) -> None:
        (found,) = run_trials(robot, [Place("a", Physics(robot), 1, 3)], agents(robot, "trot"), seconds=1.0, threads=1)
        tracks = tracks_of(found)
        assert tuple(tracks) == found.directions
        for k, track in enumerate(tracks.values()):
            assert len(track.ahead_m) == len(track.low_m) == 1 + 5
            assert track.left_m[-1] == pytest.approx(found.lateral_m[k].mean(), abs=6e-4)
            assert (track.low_m[-1], track.high_m[-1]) == pytest.approx(
                (found.lateral_m[k].min(), found.lateral_m[k].max()), abs=6e-4
            )
            assert track.ahead_m[-1] == pytest.approx(found.way_m[k].mean(), abs=6e-4)

    def test_a_fall_leaves_no_drift_and_is_counted(self, go2) -> None:
        (found,) = run_trials(go2, [Place("a", Physics(go2), 2, 1)], lambda n: Throw(), seconds=2.0, threads=1)
        assert found.fell.all()
        assert found.fell_pushed.all()
        assert np.isnan(found.lateral_m[found.fell_straight]).all()

    def test_pushes_reach_the_pushed_episodes_alone(self, go2, monkeypatch) -> None:
        (calm,) = run_trials(go2, [Place("a", Physics(go2), 2, 1)], agents(go2, "zero"), seconds=1.0, threads=1)
        again = run_trials(
            go2,
            [Place("a", Physics(go2), 2, 1), Place("b", Physics(go2), 1, 1)],
            agents(go2, "zero"),
            seconds=1.0,
            threads=1,
        )[0]
        np.testing.assert_array_equal(calm.power_w, again.power_w)
        kicked = []

        class Watched(Worlds):
            def kick(self, velocity, ids=None) -> None:
                kicked.append((np.hypot(velocity[:, 0], velocity[:, 1]), ids))
                super().kick(velocity, ids)

        monkeypatch.setattr(trials, "Worlds", Watched)
        run_trials(go2, [Place("a", Physics(go2), 2, 1)], agents(go2, "zero"), seconds=1.0, threads=1)
        assert len(kicked) == 1
        np.testing.assert_allclose(kicked[0][0], PUSH_M_S)
        np.testing.assert_array_equal(kicked[0][1], [2, 3])

    def test_a_straight_walk_is_over_when_its_drift_is_read(self, robot, monkeypatch) -> None:
        monkeypatch.setattr(trials, "DRIFT_S", 0.5)
        told = []
        run_trials(
            robot,
            [Place("a", Physics(robot), 1, 1)],
            agents(robot, "trot"),
            seconds=1.0,
            threads=1,
            progress=lambda *seen: told.append(seen),
        )
        total = round(1.0 * robot.contract.control_hz) + round(0.5 * robot.contract.control_hz)
        assert told == [(k + 1, total) for k in range(total)]
