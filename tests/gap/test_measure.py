"""The gap: a robot like its simulator has none, and a change of one joint is found there."""

import json

import numpy as np
import pytest
from support.walks import walked, whole_case

from surefoot.gap import measure, score
from surefoot.gap.channels import PUBLISHED

OFFSET_RAD = 0.1


class TestMeasure:
    def test_a_robot_like_the_simulator_has_no_measurable_gap(self, robot, log) -> None:
        seen: list[tuple[int, int]] = []
        measured = measure(
            whole_case(robot, log),
            seed=4,
            threads=1,
            progress=lambda done, total: seen.append((done, total)),
        )
        gap = measured.gap
        assert not gap.measurable
        assert gap.total == pytest.approx(gap.total_floor, rel=0.5)
        assert gap.robot_floor == pytest.approx(gap.total_floor, rel=0.6)
        assert gap.interval[0] <= gap.total <= gap.interval[1]
        assert (gap.distance <= gap.limit).mean() > 0.9
        assert seen[-1][0] == seen[-1][1] == len(seen)
        assert json.loads(json.dumps(gap.to_dict()))["measurable"] is False
        one = score(measured, "wasserstein")
        assert (one.value, one.floor, one.limit) == pytest.approx((gap.total, gap.total_floor, gap.total_limit))

    def test_a_change_of_one_joint_is_found_there(self, robot) -> None:
        joint = robot.contract.joints[10]
        offset = tuple(OFFSET_RAD if name == joint else 0.0 for name in robot.contract.joints)
        log = walked(robot, rollouts=8, action_offset_rad=offset)
        gap = measure(whole_case(robot, log), threads=1, runs=4).gap
        assert gap.measurable
        assert gap.interval[0] > gap.total_limit
        assert gap.channels[gap.worst[0]].where == joint
        places, kinds, distance, limit = gap.matrix()
        assert places == list(robot.contract.joints)
        assert kinds == list(PUBLISHED)
        at = places.index(joint), kinds.index(gap.channels[gap.worst[0]].kind)
        assert distance[at] > limit[at]
        assert distance[at] - limit[at] == np.max(distance - limit)
