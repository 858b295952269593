"""A verdict over simulators: GO or NO-GO where it must be."""

import dataclasses
import json

import numpy as np
from support.verdicts import SMALL, Throw, adaptation_of, agents, judged

from surefoot.adapt import Adaptation
from surefoot.report.verdict_page import verdict_page
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import TorqueCurve
from surefoot.sim.twin import Twin
from surefoot.verify.verdict import Effort, reach_verdict

ONE = Effort(episodes=1, straight_episodes=1, candidates=1, candidate_episodes=1, seconds=1.0)


class TestVerdict:
    def test_a_policy_against_itself_is_not_better_and_nothing_else(self, robot) -> None:
        found = judged(robot, "trot", "trot")
        assert [reason.rule for reason in found.reasons] == ["not better"]
        assert all(one.value == 0.0 for compared in found.named for one in compared.change.values())

    def test_a_policy_that_falls(self, go2) -> None:
        found = judged(go2, "trot", lambda n: Throw(), dataclasses.replace(SMALL, seconds=2.0))
        assert not found.go
        falling = {reason.simulator for reason in found.reasons if reason.rule == "more falls"}
        assert {"nominal", "adapted", "over the intervals"} <= falling
        assert "falls too often" in {reason.rule for reason in found.reasons}

    def test_standing_still_drifts_less_and_is_still_worse(self, go2) -> None:
        found = judged(go2, "trot", "zero", dataclasses.replace(SMALL, straight_episodes=4, candidates=0, seconds=2.0))
        assert "total drift" in " ".join(found.gains)
        worse = [reason.says for reason in found.reasons if (reason.rule, reason.simulator) == ("worse", "adapted")]
        assert any(says.startswith("total way error") for says in worse)

    def test_everything_is_measured_and_the_seed_decides(self, go2) -> None:
        twin = Twin("mine", Physics(go2, {"dry_friction_nm": 0.5}, physics_hz=1000.0))
        small = Effort(episodes=2, straight_episodes=1, candidates=3, candidate_episodes=1, seconds=1.0)
        found, again = (judged(go2, "trot", "walk", small, twin=twin, seed=5) for _ in range(2))
        assert [one.name for one in found.named] == ["nominal", "adapted", "twin mine"]
        assert len(found.candidates) == 3
        assert 1 <= len(found.corners) <= 2
        assert {one.what for one in found.worst} == {"before", "after", "the change"}
        assert json.dumps(found.to_dict()) == json.dumps(again.to_dict())
        assert list(found.paths) == ["nominal", "adapted", "twin mine"]
        assert len(json.dumps(found.to_dict()["paths"])) < 50_000
        other = judged(go2, "trot", "trot", dataclasses.replace(small, candidates=0), seed=6)
        assert other.named[0].before.value("velocity_error_m_s") != found.named[0].before.value("velocity_error_m_s")

    def test_what_is_added_beside_the_settings_is_simulated(self, go2, monkeypatch) -> None:
        """A network of a fit, or a torque curve of a virtual robot, acts where it belongs and nowhere else."""
        plain = judged(go2, "trot", "trot", ONE, twin=Twin("mine", Physics(go2, {})))

        push = TorqueCurve(tuple(range(12)), (-9.0, 9.0), (3.0, 3.0))
        pull = Network("action", (JointGroup(go2.contract.joints, ((np.zeros((1, 3)), np.full(1, 9.0)),), 0.1),))
        fitted = Adaptation.physics
        monkeypatch.setattr(
            Adaptation, "physics", lambda self, robot: dataclasses.replace(fitted(self, robot), curves=(push,))
        )
        changed = judged(go2, "trot", "trot", ONE, twin=Twin("mine", Physics(go2, network=pull)))
        values = [
            [one.before.value("velocity_error_m_s") for one in (*found.named, *found.candidates)]
            for found in (plain, changed)
        ]
        assert [a == b for a, b in zip(*values, strict=True)] == [True, False, False, False]

    def test_a_robot_that_only_turns_has_no_straight_walks(self, go2) -> None:
        turning = dataclasses.replace(
            go2, contract=dataclasses.replace(go2.contract, command_range=((0.0, 0.0), (0.0, 0.0), (-1.0, 1.0)))
        )
        found = judged(turning, "trot", "zero", dataclasses.replace(SMALL, seconds=1.0))
        assert found.paths["adapted"] == ({}, {})
        assert found.named[0].falls.episodes == SMALL.episodes
        assert "No straight walk" in verdict_page(found)

    def test_no_room_in_the_intervals_leaves_no_candidates(self, go2) -> None:
        exact = adaptation_of(go2)
        exact = dataclasses.replace(
            exact, knobs=tuple(dataclasses.replace(k, interval=(k.value, k.value)) for k in exact.knobs)
        )
        found = reach_verdict(go2, agents(go2, "trot"), agents(go2, "trot"), exact, effort=SMALL, threads=1)
        assert found.pooled is None
        assert found.candidates == found.corners == found.worst == ()
