"""The diagnosis: a planted cause is named first, with its size. Over many seeds and twins it is measured in
bench/diagnosis.py.
"""

import pytest

from surefoot.fit.diagnose import diagnose_gap
from surefoot.gap import Case, measure, schedule_of
from surefoot.logs import record
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin


def diagnosed(robot, policy, seconds=2.0, **parameters):
    log = record(Twin("t", Physics(robot, parameters)), policy, rollouts=8, seconds=seconds, seed=4)
    case = Case(robot, policy, log, schedule=schedule_of(log, robot))
    return diagnose_gap(case, measure(case, runs=4))


class TestDiagnosis:
    def test_a_spring_is_named_with_its_stiffness(self, go2):
        calf = {"*_calf_joint": 10.0}
        found = diagnosed(go2, "walk", spring_stiffness_nm_per_rad=calf, spring_rest_rad={"*_calf_joint": -1.5})
        best = found.causes[0]
        assert best.key == "spring"
        assert found.sure == "sure"
        assert best.explains > 0.7
        values = {name: value for name, _, value, _ in best.values}
        assert values["spring_stiffness_nm_per_rad[calf_joint]"] == pytest.approx(10.0, rel=0.3)
        assert abs(values["spring_stiffness_nm_per_rad[hip_joint]"]) < 3.0
        assert found.settings["delay_s"][0] < 0.004
        assert "physics is missing" in found.advice

    def test_the_same_robot_has_no_gap_to_explain(self, robot):
        found = diagnosed(robot, "walk" if robot.name == "go2" else "trot")
        assert found.causes == ()
        assert found.says.startswith("no measurable gap")
        assert found.evaluations == 0
