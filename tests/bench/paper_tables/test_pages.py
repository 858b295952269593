"""What the page says about everything else."""

import dataclasses

import pytest
from paper_tables import biped, data, failures, page_biped, page_failures, pages, policies
from paper_tables.cells import Kept, read_kept, write_kept
from paper_tables.words import Figures
from support.cells import kept


class TestOtherSentences:
    def walks(self, row: str, drift: float, paid: float, column: str = policies.SPRING, falls: int = 0) -> list[Kept]:
        return kept(
            row,
            column,
            drift,
            drift + 0.02,
            figure="drift_m",
            **{
                "return": paid,
                "gap": 0.05,
                "robot_floor": 0.02,
                "gap_before": 0.3,
                "falls": falls,
                "falls_straight": 0,
            },
        )

    @pytest.mark.parametrize("row", list(pages.CLAIMED))
    @pytest.mark.parametrize(
        ("drift", "paid", "says"),
        [
            (3.0, 5.0, "is worse than the original in drift (beyond chance) and return (beyond chance) ("),
            (
                1.0,
                15.0,
                (
                    "is not worse than the original in drift, return, falls, velocity error, drift across the way or"
                    " turning error (drift 2.01 m -> 1.01 m,"
                ),
            ),
            (3.0, 15.0, "is worse than the original in drift (beyond chance) ("),
        ],
    )
    def test_the_claim_about_the_horizon(self, row, drift, paid, says):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks(row, drift, paid)])
        (said,) = pages.horizon_claim(found)
        assert f"with {pages.CLAIMED[row]}, the gap goes 0.300 -> 0.050 and the policy {says}" in said
        (other,) = set(pages.CLAIMED.values()) - {pages.CLAIMED[row]}
        assert f"with {other}: not measured yet" in said

    def test_what_differs_from_the_original_beyond_chance_is_bold(self):
        cells = [
            *self.walks(policies.ORIGINAL, 2.0, 10.0),
            *self.walks("static", 0.5, 10.0),
            *self.walks("residual", 0.5, 12.0),
        ]
        cells[-1] = dataclasses.replace(cells[-1], figures={**cells[-1].figures, "drift_m": 1.8})
        original, static, residual = pages.policy_rows(
            Figures(cells), (policies.ORIGINAL, "static", "residual"), policies.SPRING
        )
        assert "**0.51 ± 0.01**" in static
        assert "10.0 ± 0.0" in static
        assert "1.15 ± 0.92" in residual
        assert "**12.0 ± 0.0**" in residual
        assert not any("**" in text for text in original)

    @pytest.mark.parametrize(
        ("drift", "paid", "verdict"),
        [
            (3.0, 5.0, "that holds here"),
            (1.0, 15.0, "that does not hold here"),
            (3.0, 15.0, "that holds in one figure and not in the other here"),
            (2.0, 10.0, "that is neither confirmed nor refuted here"),
        ],
    )
    def test_the_claim_about_the_horizon_in_one_sentence(self, drift, paid, verdict):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("match-s-1, weights", drift, paid)])
        assert verdict in pages.claim_holds(found)
        assert "not measured yet" in pages.claim_holds(Figures(self.walks(policies.ORIGINAL, 2.0, 10.0)))

    @pytest.mark.parametrize(
        ("falls", "says"),
        [(0, "fail outright does not hold here: they close 83 % of the gap"), (95, "outright holds here: 95 of 180")],
    )
    def test_whether_static_parameters_fail_outright(self, falls, says):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("static", 2.0, 10.0, falls=falls)])
        assert says in pages.static_fails(found)
        assert pages.static_fails(Figures([])) == ""

    def test_whose_training_was_kept(self):
        told = [
            dataclasses.replace(one, figures=one.figures | {"training_kept": one.seed == 0})
            for one in self.walks("static", 2.0, 1.0)
        ]
        found = [*self.walks(policies.ORIGINAL, 2.0, 10.0), *told, *self.walks("residual", 2.0, 1.0)[:1]]
        (said,) = pages.without_choice(Figures(found))
        assert said.startswith(
            "1 of 2 trainings were kept (1 of the rest is from before part of the way could be); not known"
        )
        assert said.endswith(": residual (spring joint, seed 0).")
        assert pages.without_choice(Figures(told)) == [
            "1 of 2 trainings were kept (1 of the rest is from before part of the way could be)."
        ]
        assert pages.without_choice(Figures(self.walks(policies.ORIGINAL, 2.0, 10.0))) == []

    def test_gaps_are_in_units_of_the_floor_of_the_family_that_fits_best(self):
        found = kept("static", policies.SHIFT, 0.2, figure="gap", robot_floor=0.01) + kept(
            "residual", policies.SHIFT, 0.1, figure="gap", robot_floor=0.05
        )
        said = pages.family_gaps(Figures(found), policies.SHIFT)
        assert "(1 robot), static leaves 4.0 × and residual leaves 2.0 ×" in said

    def test_how_long_weights_were_searched(self):
        searched = kept(
            "match-s-1, weights",
            policies.SPRING,
            2.0,
            2.1,
            figure="drift_m",
            generations=60,
            falls=0,
            falls_straight=0,
            **{"return": 1.0},
        )
        said = pages.horizon_claim(Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *searched]))
        assert "60 generations instead of 10,000" in said[1]

    def test_a_policy_that_falls_is_worse_and_not_unmeasured(self, tmp_path):
        fallen = [
            Kept("static", policies.SPRING, seed, {"drift_m": float("nan"), "falls_straight": 80, "return": 1.0})
            for seed in (0, 1)
        ]
        write_kept("families", [*self.walks(policies.ORIGINAL, 2.0, 10.0), *fallen], tmp_path)
        lines, said = pages.families_section(Figures(read_kept("families", tmp_path)[0]))
        row = next(line for line in lines[::-1] if line.startswith("| static"))
        assert "| fell | 80.0 ± 0.0 |" in row
        assert "drift 2.01 m -> fell" in " ".join(said)
        assert (
            "worse than the original: static in drift (fell) and return (beyond chance); not measured: action-delta and"
            " residual" in " ".join(said)
        )

    def test_a_policy_whose_survivors_drift_less_but_that_falls_is_worse(self):
        found = Figures([*self.walks(policies.ORIGINAL, 2.0, 10.0), *self.walks("static", 0.5, 12.0, falls=79)])
        said = " ".join(pages.families_section(found)[1])
        assert "falls 0.0 -> 79.0 of 180" in said
        assert "worse than the original: static in falls" in said

    def test_a_family_that_makes_the_policy_worse_is_named(self):
        found = Figures(
            [
                *self.walks(policies.ORIGINAL, 2.0, 10.0),
                *self.walks("static", 2.5, 12.0),
                *self.walks("residual", 0.5, 14.0),
            ]
        )
        said = " ".join(pages.families_section(found)[1])
        assert "worse than the original: static in drift" in said
        assert "static leaves 2.5 ×" in said
        assert "residual in" not in said

    def test_data(self):
        sizes = {"8": (0.2, 1.5), "32": (0.1, 0.62), "128": (0.05, 0.6)}
        found = [*kept(data.NO_DATA, "4", 2.0, 2.1, figure="drift_m"), *kept("64", "2", 0.09, 0.09)]
        for count, (error, drift) in sizes.items():
            found += [
                Kept(
                    count, "4", seed, {"error": error, "drift_m": drift + 0.05 * (2 - seed if count == "32" else seed)}
                )
                for seed in range(3)
            ]
        said = " ".join(pages.data_section(Figures(found))[1])
        assert "4.0 times less (beyond chance); independent rollouts would give 4.0 times less" in said
        assert "32 rollouts are the fewest" in said
        assert "2.05 m before, and 0.62 m at best" in said  # of the two robots that all have
        assert "64 of 2 s 9.0 %, 32 of 4 s 10.0 %" in said

    @pytest.mark.parametrize("robot", [biped.SHIFTED, biped.UNEVEN])
    @pytest.mark.parametrize(("after", "worse"), [(0.2, False), (1.4, True)])
    def test_biped(self, robot, after, worse):
        """Each robot by itself: what is missing of the other is said, and changes nothing here."""
        found = [
            *kept(biped.ORIGINAL, robot, 1.0, 1.1, figure="lateral_m"),
            *kept(biped.ORIGINAL, biped.NOMINAL, 93, 93, figure="stood"),
        ]
        for one in (biped.SHIFTED, biped.UNEVEN):
            assert (
                f"The drift on the hind legs, {one}: not measured yet." in page_biped.biped_section(Figures(found))[1]
            )
        said = " ".join(
            page_biped.biped_section(Figures([*found, *kept(biped.AFTER, robot, after, after, figure="lateral_m")]))[1]
        )
        assert f"{robot}: 1.05 m before the loop, {after:.2f} m after it" in said
        assert said.count("not measured yet") == 1
        assert ("NOT become less" in said) == worse
        assert "stands for 10 s in 93 of 100" in said

    def test_what_else_the_loop_does_to_a_biped(self):
        found = kept(biped.ORIGINAL, biped.SHIFTED, 1.0, 1.1, figure="drift_m", velocity_error_m_s=0.2, falls=9)
        found += kept(biped.AFTER, biped.SHIFTED, 0.5, 0.6, figure="drift_m", velocity_error_m_s=0.1, falls=0)
        (said,) = page_biped.biped_place(Figures(found), biped.SHIFTED)
        assert "the commanded place 1.05 -> 0.55 m" in said
        assert "velocity error 0.200 -> 0.100 m/s" in said
        assert "falls under other commands 9.0 -> 0.0 of 100" in said
        assert page_biped.biped_place(Figures(found), biped.UNEVEN) == []

    def test_what_the_fit_does_for_a_biped(self):
        found = kept(biped.NO_FIT, biped.UNEVEN, 0.9, 1.1, figure="lateral_m", training_kept=False)
        assert page_biped.biped_without(Figures(found), biped.UNEVEN) == []
        found += kept(biped.AFTER, biped.UNEVEN, 0.3, 0.4, figure="lateral_m", training_kept=0.5)
        (said,) = page_biped.biped_without(Figures(found), biped.UNEVEN)
        assert "lateral drift 1.00 without the fit, 0.35 m with it (-0.65 ± 0.64 on 2 robots)." in said
        assert page_biped.biped_without(Figures(found), biped.SHIFTED) == []
        found += [Kept(biped.NO_FIT, biped.UNEVEN, 2, {"lateral_m": float("nan"), "falls_straight": 40})]
        assert (
            "without the fit (on 1 more nothing stayed up to measure), 0.35 m"
            in page_biped.biped_without(Figures(found), biped.UNEVEN)[0]
        )
        assert page_biped.biped_kept(Figures(found))[0].startswith(
            "Of the fits, 0 of 2 trainings were kept, and part of the way to 2 more;"
        )

    def test_failures(self):
        found = kept(failures.PUBLISHED, "0 %", 0.3, 0.31) + kept(failures.PUBLISHED, "40 %", 0.9, 0.91)
        found += (
            kept(failures.UNGATED, "40 %", 0.5, 0.52)
            + kept(failures.GATED, "40 %", 0.08, 0.07)
            + kept(failures.GATED, "0 %", 0.05, 0.06)
        )
        said = " ".join(page_failures.failures_section(Figures(found))[1])
        assert (
            "Published cost, all rows: 30.5 % at 0 % of falls, 90.5 % at 40 % (+60.0 ± 0.0 points on 2 robots)" in said
        )
        assert "nowhere" not in said
        assert "not worse than the same search on all rows where both have an answer" in said
        assert "not measured: ours, with its gate at 10 %" in said
        assert "not measured yet" in page_failures.failures_claim(Figures(found)).lower()
        told = [dataclasses.replace(one, figures=one.figures | {"simulated_falls": 0.0}) for one in found]
        said = page_failures.failures_claim(Figures(told))
        assert (
            'the error grows with them on every robot for "published cost, all rows"; no fitted simulator falls' in said
        )
        told[0].figures["simulated_falls"] = 0.25
        assert "up to 25 % of the rollouts" in page_failures.failures_claim(Figures(told))
        worse = [*found, *kept(failures.UNGATED, "0 %", 0.01, 0.02)]
        assert "makes it worse at 0 %" in " ".join(page_failures.failures_section(Figures(worse))[1])
