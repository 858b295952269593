"""A network fitted end to end on small logs."""

import pytest
from support.fits import QUICK, make_fit, value_of, walked

from surefoot.fit.family import STATIC, Family, FitSettings, make_space
from surefoot.fit.quantile import QuantileSettings
from surefoot.logs import record
from surefoot.robot.legs import joint_types
from surefoot.sim.physics import Physics
from surefoot.sim.residual import TorqueCurve
from surefoot.sim.twin import Twin

TWO = QuantileSettings(polish_runs=2, polish_rounds=1, most_iterations=2)


class TestFit:
    def test_curves_become_a_network_that_closes_the_gap(self, go2) -> None:
        """A torque that acts past an angle only, on all calves."""
        calves = joint_types(go2)["calf_joint"]
        twin = Twin("past", Physics(go2, curves=(TorqueCurve(calves, (-2.7, -1.6, 0.0), (25.0, 0.0, 0.0)),)))
        log = record(twin, "walk", rollouts=8, seconds=1.6, seed=4, threads=1)
        result = make_fit(
            go2, log, ("delay_s",), family=Family("torque", curved=True), quantile=TWO, held_out=0.25
        ).run()
        network = result.adaptation.network
        assert network is not None
        assert network.adds == "torque"
        assert result.after.gap.total < 0.7 * result.before.gap.total
        assert {point.input for point in result.knots} == {"position", "error", "velocity"}
        assert len(result.correlation) == len(result.adaptation.knobs) == len(result.steps[-1].values)
        again = result.adaptation.physics(go2)
        assert again.network is network

    def test_action_delta_terms_are_found(self, go2) -> None:
        """A target that is off by a constant."""
        log = walked(go2, action_offset_rad=0.08)
        family = Family("action")
        result = make_fit(go2, log, ("delay_s",), family=family, quantile=QUICK).run()
        for joint in ("hip_joint", "thigh_joint", "calf_joint"):
            assert value_of(result, f"action_offset_rad[{joint}]") == pytest.approx(0.08, abs=0.04)
        assert result.adaptation.family == "action-delta"

    def test_a_network_has_no_terms_of_its_own(self, robot) -> None:
        free = ("delay_s",)
        assert len(make_space(robot, FitSettings(free=free, family=Family("torque", curved=True))).knobs) == 1
        assert len(make_space(robot, FitSettings(free=free, family=STATIC)).knobs) == 1
