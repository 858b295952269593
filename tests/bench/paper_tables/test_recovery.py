"""Recovered parameters: every method is asked the same."""

import dataclasses

import pytest
from paper_tables import fits, recovery
from paper_tables.cells import Cell, Refused, Settings, read_kept, run

from surefoot.fit.family import FitSettings
from surefoot.sim.twin import Twin


class TestRealCell:
    @pytest.mark.parametrize("method", ["wasserstein", recovery.OURS])
    def test_a_small_one(self, tmp_path, monkeypatch, method):
        """Joints of one type share a value and rollouts are short: everything else is as in the table."""
        monkeypatch.setattr(recovery, "walked", lambda twin, rollouts, seed: fits.walked(twin, 6, seed, 1.4))
        for kind in ("budgeted", "published"):
            usual = getattr(fits, kind)
            monkeypatch.setattr(recovery, kind, lambda *given, usual=usual, **more: usual(*given, tie="type", **more))
        table = dataclasses.replace(recovery.RECOVERY, places=((method, "2.5"),))
        assert run([table], Settings(simulated_s=300.0), range(1), folder=tmp_path, say=str) == []
        figures = read_kept("recovery", tmp_path)[0][0].figures
        assert figures["error_before"] > 0.3
        assert 0 < figures["error"] < (0.8 if method == recovery.OURS else 1.2) * figures["error_before"]
        assert figures["stopped"]
        assert 0 < figures["simulated_s"] < 600  # the question that was asked last is answered whole


class TestWhatIsAsked:
    def test_every_method_meets_the_same_robot_log_and_budget(self, monkeypatch):
        asked, robots = {}, {}

        def walked(twin: Twin, rollouts: int, seed: int):
            robots[method] = (twin.physics.parameters, twin.time_shift_s, rollouts, seed)
            return "the log"

        def fitted(log, schedule, robot, settings: FitSettings):
            asked[method] = settings
            raise Refused("enough is known")

        monkeypatch.setattr(recovery, "walked", walked)
        monkeypatch.setattr(recovery, "fitted", fitted)
        monkeypatch.setattr(recovery, "schedule_of", lambda *_: None)
        for method in recovery.METHODS:
            with pytest.raises(Refused):
                recovery.recovered(Cell(method, "5.0", 4), Settings(simulated_s=77.0))
        assert {one[2] for row, one in robots.items() if row != recovery.OURS_WHOLE} == {8}
        assert robots[recovery.OURS_WHOLE][2] == 64
        assert len({repr((one[0], one[1], one[3])) for one in robots.values()}) == 1
        assert set(robots["mmd"][0]) == {"armature_kgm2", "dry_friction_nm", "torque_noise_nm"}
        assert robots["mmd"][1] == (0.02, 0.1)
        assert {(one.free, one.seed, one.most_simulated_s, one.held_out) for one in asked.values()} == {
            (fits.PUBLISHED_FREE, 4, 77.0, 0.0)
        }
        assert {row: (one.search, one.cost) for row, one in asked.items() if row in recovery.COSTS} == {
            row: ("cma", row) for row in recovery.COSTS
        }
        assert {asked[row].search for row in recovery.METHODS if row not in recovery.COSTS} == {"quantile"}
        assert asked[recovery.OURS_NARROW].kinds == ("position", "velocity", "action")
        assert set(asked[recovery.OURS_NARROW].kinds) < set(asked[recovery.OURS].kinds)
