"""The step `fit`: what it shares between the families that it climbs."""

from typing import Any

from support.walks import walked

from surefoot.fit import run as fit_run
from surefoot.gap.case import Case
from surefoot.pipeline import fit as step
from surefoot.pipeline.fit import FitOptions, run_fit

FEW = FitOptions(
    family="static", tie="all", fix=("armature_kgm2=0.01", "torque_noise_nm=0"), most_evaluations=1, threads=1
)


def test_the_gap_before_is_measured_once_for_all_families(go2, monkeypatch) -> None:
    measure, measured = fit_run.measure, []

    def counted(*arguments: Any, **options: Any) -> Any:
        measured.append(options["physics"])
        return measure(*arguments, **(options | {"runs": 2}))

    monkeypatch.setattr(fit_run, "measure", counted)
    monkeypatch.setattr(step, "climb", lambda settings, fit, _: [fit(settings, {}, {}) for _ in range(2)][-1])
    run_fit(Case(go2, "walk", walked(go2, rollouts=6, dry_friction_nm=0.6)), FEW)
    own, *after = dict.fromkeys(measured)
    assert measured == [own, own, after[0], after[0], after[1], after[1]]  # fitted and held-out episodes
