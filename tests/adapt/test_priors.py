"""Where a search begins and ends, from a file of the user's own."""

import pytest

from surefoot.adapt import make_knobs, read_priors
from surefoot.errors import FitError


class TestPriors:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("dry_friction_nm: {low: 1, high: 0, step: 0.1}", "low < high"),
            ("dry_friction_nm: {low: 0, high: 1}", "it takes start"),
            ("armature_kgm2: {low: 0, high: 1, step: 2, log: true}", "above 0, on a log scale"),
            ("dry_friktion: {low: 0, high: 1, step: 0.1}", "dry_friction_nm"),
        ],
    )
    def test_bad_priors(self, tmp_path, text, says):
        (tmp_path / "priors.yaml").write_text(text)
        with pytest.raises(FitError, match=says):
            read_priors(tmp_path / "priors.yaml")

    def test_a_users_prior_wins(self, go2, tmp_path):
        (tmp_path / "priors.yaml").write_text("dry_friction_nm: {start: 0.5, low: 0.1, high: 2, step: 0.2}")
        knob = make_knobs(go2, ("dry_friction_nm",), "all", read_priors(tmp_path / "priors.yaml"))[0]
        assert (knob.start, knob.low, knob.high) == (0.5, 0.1, 2.0)
