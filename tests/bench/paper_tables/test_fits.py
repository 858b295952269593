"""The robots that are fitted, and how wrong an answer is."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from paper_tables import fits

from surefoot.adapt import Fitted
from surefoot.fit.family import FitSettings
from surefoot.gap import schedule_of
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin


class TestErrors:
    def test_joints_are_matched_by_name(self, go2):
        joints = go2.contract.joints
        hidden = {"armature_kgm2": np.linspace(0.01, 0.05, 12), "dry_friction_nm": np.full(12, 0.5)}
        twin = Twin("made", Physics(go2, {name: tuple(values) for name, values in hidden.items()}))
        knobs = []
        for name, values in hidden.items():
            off = {"armature_kgm2": 1.1, "dry_friction_nm": 0.7}[name]
            knobs += [
                Fitted(name, name, (joint,), "", 2 * v, off * v, (0, 1), (0, 1))
                for joint, v in zip(joints, values, strict=True)
            ]
        shuffled = tuple(
            np.random.default_rng(1).permutation(np.array(knobs, dtype=object))
        )  # knobs without effect stand last
        result: Any = SimpleNamespace(adaptation=SimpleNamespace(knobs=shuffled))
        found = fits.errors(result, twin)
        expected = {"armature": 0.1, "dry_friction": 0.3, "error": 0.2, "error_before": 1.0}
        assert found == pytest.approx(expected)

    @pytest.mark.parametrize("cost", ["wasserstein", "match-s-1"])
    def test_an_answer_costs_as_much_as_the_truth_where_it_is_the_truth(self, go2, cost):
        twin = fits.hidden(go2, "0.0", 0)
        log = fits.walked(twin, 3, 0, 3.0)
        joints, free = go2.contract.joints, fits.COUNTED
        schedule, settings = schedule_of(log, go2), fits.published(cost, 100.0, held_out=0.0, free=free)
        fit = fits.Fit(fits.Case(go2, fits.POLICY, log, schedule=schedule), settings, None)

        def aimed(off):
            true = {
                knob.name: off * twin.physics.parameters[knob.parameter][knob.entries[0]] for knob in fit.space.knobs
            }
            knobs = [
                Fitted(k.name, k.parameter, (joints[k.entries[0]],), k.unit, 0.0, true[k.name], (0, 1), (0, 1))
                for k in fit.space.knobs
            ]
            result: Any = SimpleNamespace(adaptation=SimpleNamespace(knobs=knobs[::-1]))
            return fits.aimed(result, twin, log, schedule, settings)

        same, twice = aimed(1.0), aimed(2.0)
        assert same["cost"] == same["cost_of_truth"] == same["cost_of_counted"] == twice["cost_of_truth"]
        assert twice["cost"] > 1.5 * twice["cost_of_counted"]

    def test_the_budget_grows_with_the_data(self):
        assert [fits.scaled(100.0, *size) for size in ((8, 4.0), (16, 4.0), (64, 4.0), (64, 2.0), (16, 8.0))] == [
            100,
            200,
            800,
            400,
            400,
        ]

    def test_as_published_there_is_no_gate_against_falls(self):
        usual, asked = FitSettings(), fits.published("match-o", 100.0)
        assert (asked.cost, asked.cma.fall_cost, asked.most_falling, asked.most_simulated_s) == (
            "match-o",
            0.0,
            1.0,
            100.0,
        )
        assert usual.cma.fall_cost > 0
        assert usual.most_falling < 1


class TestRobots:
    def test_a_seed_is_another_robot_and_a_spring_is_all_that_differs(self, go2):
        plain, sprung, other = (
            fits.shifted(go2, 1, spring=False),
            fits.shifted(go2, 1, spring=True),
            fits.shifted(go2, 2, spring=False),
        )
        added = set(sprung.physics.parameters) - set(plain.physics.parameters)
        assert added == {"spring_stiffness_nm_per_rad", "spring_rest_rad"}
        assert (
            {name: sprung.physics.parameters[name] for name in plain.physics.parameters}
            == plain.physics.parameters
            != other.physics.parameters
        )
        stiff = np.array(sprung.physics.parameters["spring_stiffness_nm_per_rad"])
        assert [joint for joint, k in zip(go2.contract.joints, stiff, strict=True) if k] == [
            j for j in go2.contract.joints if "calf" in j
        ]

    def test_an_uneven_robot_differs_joint_by_joint(self, go2):
        even, uneven = fits.shifted(go2, 1), fits.shifted(go2, 1, uneven=True)
        for name in fits.TYPES:
            assert len(set(even.physics.parameters[name])) == 3  # hip, thigh, calf
            assert len(set(uneven.physics.parameters[name])) == go2.contract.n_joints
        assert even.name != uneven.name
