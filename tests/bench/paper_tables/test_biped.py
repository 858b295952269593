"""Walking upright on hind legs, as a table asks for it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from paper_tables import biped, fits
from paper_tables.cells import Cell, Settings

from surefoot.errors import SurefootError


class TestWhatIsAsked:
    def test_walking_upright(self, go2, monkeypatch, tmp_path):
        """The policy's own posture is fitted, and the fine-tuned policy walks on the robot that was recorded."""
        policy, upright = tmp_path / "biped.onnx", object()
        walked_on, fitted_as, tuned_in = [], [], []
        straight = SimpleNamespace(falls=1, lateral_abs_m=0.3, off_m=0.5, heading_abs_rad=0.1)
        evaluation = SimpleNamespace(
            stand=SimpleNamespace(stood=9, rose=10),
            walk=SimpleNamespace(velocity_error_m_s=0.1, falls=2),
            directions={"+x": straight, "-x": straight},
        )
        patched = {
            "policy_of": lambda robot: policy,
            "with_policy_posture": lambda robot, path: upright,
            "usable_rows": lambda *_: None,
            "schedule_of": lambda *_: None,
            "walked": lambda twin, rollouts, seed, seconds, policy: SimpleNamespace(metadata={"fallen_episodes": 3}),
            "closed": lambda _: {"gap": 0.1},
            "climbed": lambda log, schedule, robot, asked, rungs, folder, policy: (
                fitted_as.append((robot, policy, asked.tie)) or SimpleNamespace(adaptation=None)
            ),
            "effort": lambda _: {},
            "kept_training": lambda _: {},
            "tuned": lambda folder, adaptation, iterations, seed, policy: (
                tuned_in.append((folder, adaptation)) or Path(f"tuned from {policy.name}")
            ),
            "measured_on": lambda path, twin, seed: walked_on.append((path, twin, seed)) or evaluation,
        }
        for name, value in patched.items():
            monkeypatch.setattr(biped, name, value)
        figures = [biped.walk_upright(Cell(*place, 2), Settings()) for place in biped.BIPED.places]
        after = Path("tuned from biped.onnx")
        assert [path for path, _, _ in walked_on] == [policy, policy, after, after, policy, after, after]
        robots = [
            {},
            *[fits.shifted(go2, 2).physics.parameters] * 3,
            *[fits.shifted(go2, 2, uneven=True).physics.parameters] * 3,
        ]
        assert [twin.physics.parameters for _, twin, _ in walked_on] == robots
        assert {seed for *_, seed in walked_on} == {2}
        assert fitted_as == [(upright, str(policy), "type"), (upright, str(policy), "none")]
        assert [bool(adaptation) for _, adaptation in tuned_in] == [
            True,
            False,
            True,
            False,
        ]  # the fits of this test have none
        assert tuned_in[0][0] == tuned_in[2][0]  # what knows no robot is trained once
        assert tuned_in[0][1].knobs == ()
        assert len({folder for folder, _ in tuned_in}) == 3
        assert figures[3] | figures[1] == figures[3]  # the same figures, and those of the fit
        assert figures[1]["lateral_m"] == pytest.approx(0.3)
        assert figures[1]["falls_straight"] == 2
        evaluation.stand = None
        with pytest.raises(SurefootError, match="means to walk on all its legs"):
            biped.walk_upright(Cell(*biped.BIPED.places[0], 0), Settings())
