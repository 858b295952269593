"""Policies that are trained in fitted simulators."""

from paper_tables import policies
from paper_tables.cells import Cell, Settings


class TestWhatIsAsked:
    def test_without_a_fit_the_policy_is_trained_in_the_nominal_simulator(self, monkeypatch):
        trained = []
        patched = {
            "walked": lambda *_: "the log",
            "kept_training": lambda _: {},
            "on_twin": lambda policy, twin: {"drift_m": 1.0},
            "tuned": lambda folder, adaptation, iterations, seed: trained.append((adaptation, iterations, seed)),
        }
        for name, value in patched.items():
            monkeypatch.setattr(policies, name, value)
        assert policies.horizon(Cell(policies.NO_FIT, policies.SPRING, 3), Settings(iterations=7)) == {"drift_m": 1.0}
        ((adaptation, iterations, seed),) = trained
        assert (adaptation.settings, adaptation.network, adaptation.knobs) == ({}, None, ())
        assert (iterations, seed) == (7, 3)
