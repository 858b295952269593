"""`surefoot verdict`: figures that agree with `evaluate`, one batch for all simulators, and GO or NO-GO
where it must be.
"""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from robot_files import HEXAPOD
from test_report import HOSTILE, checked

from surefoot.adapt import Adaptation, Fitted, make_knobs, write_adaptation
from surefoot.policy.agents import make_agent
from surefoot.report.verdict_page import figure_words, verdict_facts, verdict_page
from surefoot.robot import Robot, load_robot
from surefoot.sim import Worlds
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import TorqueCurve
from surefoot.sim.twin import Twin
from surefoot.verify import evaluate
from surefoot.verify import trial as trials
from surefoot.verify.evaluate import PUSH_M_S
from surefoot.verify.fit_gap import UNKNOWN
from surefoot.verify.paths import tracks_of
from surefoot.verify.trial import Place, run_trials
from surefoot.verify.verdict import Effort, Verdict, reach_verdict

SMALL = Effort(episodes=3, straight_episodes=2, candidates=3, candidate_episodes=2, seconds=1.5)
ONE = Effort(episodes=1, straight_episodes=1, candidates=1, candidate_episodes=1, seconds=1.0)
FEW = (
    "--episodes",
    3,
    "--straight-episodes",
    2,
    "--candidates",
    2,
    "--candidate-episodes",
    2,
    "--seconds",
    1.5,
    "--threads",
    1,
)


def adaptation_of(robot: Robot) -> Adaptation:
    """Friction by joint type and a delay, as a fit would have found them."""
    knobs, settings = [], {}
    for knob in make_knobs(robot, ("dry_friction_nm", "delay_s"), tie="type"):
        value = 0.2 if knob.parameter == "dry_friction_nm" else 0.004
        where = tuple(robot.contract.joints[k] for k in knob.entries) if knob.label else ()
        knobs.append(
            Fitted(
                knob.name,
                knob.parameter,
                where,
                knob.unit,
                knob.start,
                value,
                (0.5 * value, 1.5 * value),
                (knob.low, knob.high),
            )
        )
        settings[knob.parameter] = [value] * robot.contract.n_joints
    return Adaptation(robot.name, robot.hash, "static", tuple(knobs), settings)


def agents(robot: Robot, name: str):
    return lambda n: make_agent(name, robot, n)


def judged(robot: Robot, before, after, effort: Effort = SMALL, **options) -> Verdict:
    makers = [agents(robot, one) if isinstance(one, str) else one for one in (before, after)]
    return reach_verdict(robot, *makers, adaptation_of(robot), effort=effort, threads=1, **options)


class Throw:
    """Throws the robot over."""

    label, hash = "throw", "0"

    def reset(self, ids):
        pass

    def act(self, sensors, command):
        return np.where(sensors.time_s[:, None] < 0.3, 10.0, -10.0) * np.array([1, 1, 1] * 2 + [-1, 1, 1] * 2)


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
        for name in ("velocity_error_m_s", "turn_error_rad_s"):
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
        assert "No straight walk" in verdict_page(found, turning, {}, "turns")

    def test_no_room_in_the_intervals_leaves_no_candidates(self, go2) -> None:
        exact = adaptation_of(go2)
        exact = dataclasses.replace(
            exact, knobs=tuple(dataclasses.replace(k, interval=(k.value, k.value)) for k in exact.knobs)
        )
        found = reach_verdict(go2, agents(go2, "trot"), agents(go2, "trot"), exact, effort=SMALL, threads=1)
        assert found.pooled is None
        assert found.candidates == found.corners == found.worst == ()


class TestCommand:
    @pytest.fixture
    def fit(self, here, go2) -> Path:
        write_adaptation(here / "fit" / "adaptation.json", adaptation_of(go2))
        return here / "fit"

    def test_a_much_better_policy_is_go(self, surefoot, here, fit) -> None:
        many = ("--episodes", 6, *FEW[2:])
        code, said, error = surefoot("verdict", "--before", "trot", "--after", "walk", "--adaptation", fit, *many)
        assert (code, error) == (0, "")
        assert "GO: better beyond its uncertainty" in said
        assert "NO-GO" not in said
        content = json.loads((here / "verdict" / "verdict.json").read_text(), parse_constant=pytest.fail)
        assert content["verdict"] == "GO"
        assert content["reasons"] == []
        assert content["provenance"]["seed"] == 0
        assert len(content["provenance"]["adaptation"]["sha256"]) == len(content["provenance"]["before"]["hash"]) == 64
        assert [one["name"] for one in content["simulators"]] == ["nominal", "adapted"]
        assert content["fit"] == {"says": UNKNOWN}
        assert UNKNOWN in said
        page = (here / "verdict" / "verdict.html").read_text()
        checked(page)
        assert "NO-GO" not in page

    def test_itself_is_no_go_with_exit_code_3_on_any_robot(self, surefoot, here) -> None:
        write_adaptation(here / "fit" / "adaptation.json", adaptation_of(load_robot(HEXAPOD)))
        code, said, error = surefoot(
            "verdict",
            "--before",
            "trot",
            "--after",
            "trot",
            "--adaptation",
            "fit",
            "--robot",
            HEXAPOD,
            "--out",
            "v",
            *FEW,
        )
        assert (code, error) == (3, "")
        assert "NO-GO\n  adapted: no figure is better beyond its uncertainty" in said
        assert json.loads((here / "v" / "verdict.json").read_text())["verdict"] == "NO-GO"
        page = (here / "v" / "verdict.html").read_text()
        checked(page)
        assert "Keep the old policy on the robot." in page

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"--after": "nobody.onnx"}, "nobody.onnx does not exist"),
            ({"--before": "wlak"}, "no policy 'wlak'"),
            ({"--before": "replay"}, "is no policy"),
            ({"--adaptation": "nowhere"}, "nowhere does not exist"),
            ({"--robot": HEXAPOD, "--before": "trot", "--after": "trot"}, "fitted to another go2"),
            ({"--twin": "nobody"}, "no virtual robot 'nobody'"),
            ({"--twin": "other.yaml"}, "is of hexapod, and not of the go2"),
            ({"--seconds": "0.3"}, "episodes of 0.3 s cannot be measured"),
            ({"--candidates": "-1"}, "candidates is -1"),
            ({"--episodes": "0"}, "episodes is 0"),
        ],
    )
    def test_mistakes_are_one_sentence(self, surefoot, here, fit, change, said) -> None:
        (here / "other.yaml").write_text(f"robot: {HEXAPOD}\n")
        given = {"--before": "walk", "--after": "walk", "--adaptation": fit} | change
        code, _, error = surefoot("verdict", *(word for pair in given.items() for word in pair))
        assert code == 2
        assert said in error
        assert error.startswith("surefoot: ")
        assert error.count("\n") == 1
        assert not (here / "verdict").exists()

    def test_a_policy_of_another_robot_is_refused(self, surefoot, here, go2) -> None:
        write_adaptation(here / "fit" / "adaptation.json", adaptation_of(load_robot(HEXAPOD)))
        walk = go2.path.parent / "policies" / "walk.onnx"
        code, _, error = surefoot(
            "verdict", "--before", "trot", "--after", walk, "--adaptation", "fit", "--robot", HEXAPOD
        )
        assert code == 2
        assert "was made for another robot than this 'hexapod'" in error


class TestPage:
    def test_reasons_of_one_simulator_stand_together_without_their_intervals(self) -> None:
        reasons = [
            ("adapted", "no figure is better (97.5 % intervals): velocity error 0.1 → 0.2"),
            ("nominal", "velocity error 0.1 → 0.2 m/s (+0.1 ± 0.02), clearly worse"),
            ("nominal", "falls in 9 of 40 episodes instead of 0"),
            ("nominal", "total drift 1.0 → 2.0 m (+1.0 ± 0.2), clearly worse"),
        ]
        assert verdict_facts(reasons, ["yaw-rate error 0.2 → 0.1 rad/s", "total drift 2 → 1 m"], "not known") == [
            ("Against it", "Adapted: no figure is better."),
            (
                "Against it",
                (
                    "Nominal: falls in 9 of 40 episodes instead of 0; clearly worse in velocity error 0.1 → 0.2 m/s,"
                    " total drift 1.0 → 2.0 m."
                ),
            ),
            ("Better", "In the adapted simulator: yaw-rate error 0.2 → 0.1 rad/s; total drift 2 → 1 m."),
            ("The fit", "Not known."),
        ]

    @pytest.mark.parametrize(
        ("value", "figure", "words"),
        [
            (0.00829, "drift_m", "+0.008"),
            (-1.0, "drift_m", "−1.000"),
            (-1e-9, "drift_m", "0.000"),
            (231.44, "power_w", "+231.4"),
            (np.nan, "drift_m", "fell"),
        ],
    )
    def test_a_figure_has_the_same_decimals_everywhere(self, value, figure, words) -> None:
        assert figure_words(value, figure, signed=True) == words

    def test_hostile_names_stay_text_and_falls_draw_nothing(self, go2) -> None:
        found = judged(go2, "trot", lambda n: Throw(), dataclasses.replace(SMALL, candidates=2, seconds=2.0))
        reasons = tuple(dataclasses.replace(reason, says=HOSTILE) for reason in found.reasons)
        page = verdict_page(
            dataclasses.replace(found, reasons=reasons), go2, {"command": HOSTILE, HOSTILE: HOSTILE}, HOSTILE
        )
        checked(page)
        assert "<script>alert" not in page
        assert page.count("NO-GO") >= 1
