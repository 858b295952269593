"""What the page says about recovered parameters."""

import dataclasses
from typing import Any

import pytest
from paper_tables import page_recovery, recovery
from paper_tables.cells import Kept
from paper_tables.spread import Spread
from paper_tables.words import Figures, by
from support.cells import kept


class TestRecoverySentences:
    def figures(self, near: float, state: float, far: float, ours: float = 0.05) -> Figures:
        values = dict.fromkeys(recovery.METHODS, 2.0) | {
            "wasserstein": near,
            "match-s-20": state,
            "match-o": far,
            "ours": ours,
        }
        values |= {"ours, 64 rollouts": ours}
        return Figures(
            [
                one
                for k, (row, mean) in enumerate(values.items())
                for case in page_recovery.CASES
                for one in kept(row, case, mean, mean + 0.01 + 0.001 * k, mean + 0.02 - 0.001 * k)
            ]
        )

    @pytest.mark.parametrize(
        ("means", "first", "second"),
        [
            (
                (0.1, 0.3, 0.8),
                "confirmed for match-s-1, match-s-20 and match-s",
                "refuted for match-s-1 and match-s and confirmed for match-s-20",
            ),
            (
                (0.4, 0.3, 0.8),
                "confirmed for match-s-1 and match-s and refuted for match-s-20",
                "refuted for match-s-1 and match-s and confirmed for match-s-20",
            ),
            (
                (0.1, 0.9, 0.8),
                "confirmed for match-s-1, match-s-20 and match-s",
                "refuted for match-s-1, match-s-20 and match-s",
            ),
            (
                (0.3, 0.302, 0.8),
                "confirmed for match-s-1 and match-s and neither confirmed nor refuted for match-s-20",
                "confirmed for match-s-20",
            ),
            (
                (0.302, 0.3, 0.8),
                "confirmed for match-s-1 and match-s and neither confirmed nor refuted for match-s-20",
                "confirmed for match-s-20",
            ),
        ],
    )
    def test_the_order_of_the_costs(self, means, first, second):
        """Step by step, and each horizon of match-s by itself; the others are far above match-o here."""
        said = page_recovery.recovery_order(self.figures(*means), "5.0")
        one, two, last = said.split("; ")
        assert one.endswith(f"that Wasserstein is better than match-s is {first}")
        assert two.startswith("that match-s is better than match-o is ")
        assert two.endswith(second)
        assert last.startswith(
            "that Wasserstein is better than match-o is confirmed. Off by more than Wasserstein: match-s-1 +"
        )
        assert f"wasserstein {100 * means[0] + 1:.1f} %" in said
        assert f"match-s-20 {100 * means[1] + 1:.1f} %" in said

    def test_pair_by_pair(self):
        def rows(found: Figures) -> dict[str, dict[str, str]]:
            lines = [
                [cell.strip() for cell in line.split("|")[1:-1]]
                for line in page_recovery.recovery_pairs(found)
                if line.startswith("| ") and " at " in line
            ]
            return {line[0]: dict(zip(recovery.COSTS, line[1:], strict=True)) for line in lines}

        said = rows(self.figures(0.4, 0.3, 0.8))
        assert said["wasserstein at 5.0 N·m"] == {
            "wasserstein": "",
            "match-s-20": "**0 of 3**",
            "match-s-1": "**3 of 3**",
            "match-s": "**3 of 3**",
            "match-o": "**3 of 3**",
            "mmd": "",
        }
        assert said["match-s-20 at 5.0 N·m"]["match-o"] == "**3 of 3**"
        assert said["match-s at 5.0 N·m"]["match-o"] == "**0 of 3**"
        assert set(said["ours at 0.0 N·m"].values()) == {"**3 of 3**"}
        assert rows(self.figures(0.3005, 0.301, 0.8))["wasserstein at 5.0 N·m"]["match-s-20"] == "2 of 3"
        assert page_recovery.against(Spread((0.1,), (0,)), Spread((0.2,), (1,))) == ""
        assert page_recovery.recovery_pairs(Figures([])) == []

    def test_who_ends_further_from_the_truth_than_without_a_fit(self):
        given = [
            dataclasses.replace(one, figures=one.figures | {"error_before": 0.65})
            for one in self.figures(0.1, 0.3, 0.8).kept
        ]
        assert (
            "Further from the truth than not fitting at all: match-s-1, match-s and match-o."
            in page_recovery.recovery_order(Figures(given), "5.0")
        )
        assert "Further" not in page_recovery.recovery_order(self.figures(0.1, 0.3, 0.8), "5.0")

    def test_a_difference_stands_beside_its_interval(self):
        assert (
            by(Spread((0.1, 0.2, 0.3)), Spread((0.2, 0.4, 0.3)), scale=100, unit=" points", digits=1)
            == "+10.0 ± 24.8 points on 3 robots"
        )
        assert by(Spread((0.1, 0.2)), Spread((0.2,), (1,))) == "+0.00 on one robot"
        assert by(Spread((0.1,), (0,)), Spread((0.2,), (1,))) == "not on the same robots"

    def test_an_order_says_who_has_fewer_seeds(self):
        few = Figures([one for one in self.figures(0.1, 0.3, 0.8).kept if (one.row, one.seed) != ("match-o", 2)])
        assert "match-o 80.7 % (2 of 3 seeds)" in page_recovery.recovery_order(few, "5.0")

    def test_answers_that_are_no_minimum_of_their_cost(self):
        costs: dict[str, Any] = {"cost_of_counted": 0.2, "cost_of_truth": 0.25}
        cells = [*kept("mmd", "2.5", 0.1, 0.2, cost=0.3, **costs), *kept("match-o", "2.5", 0.9, cost=0.1, **costs)]
        cells += [*kept("match-s", "2.5", 0.9, cost=0.1, **costs), *kept("match-s", "5.0", 0.9, cost=0.5, **costs)]
        cells += kept(
            "match-s-1", "0.0", 0.9, cost=0.1, cost_of_counted=1e-15, cost_of_truth=0.0
        )  # without noise a log is repeated exactly
        unknown = [*kept("mmd", "5.0", 0.1, cost_of_truth=0.2), *kept("mmd", "0.0", 0.1, cost=None, **costs)]
        found = Figures([*cells, *unknown])
        (said,) = page_recovery.recovery_aim(found)
        assert "(match-s-1 1 of 1, match-s 1 of 2, match-o 0 of 1, mmd 2 of 2, of the cells that keep it)" in said
        lines = [line.strip("| ").split(" | ") for line in page_recovery.recovery_section(found)[0]]
        last = {line[0].removeprefix("CMA-ES, "): line[-1] for line in lines if line[0].startswith("CMA-ES")}
        known = {
            "mmd": "1.50 (n = 2)",
            "match-o": "0.50 (n = 1)",
            "match-s": "0.50 to 2.50 (n = 2)",
            "match-s-1": "more than 1000 (n = 1)",
        }
        assert last == dict.fromkeys(recovery.COSTS, "–") | known
        assert page_recovery.recovery_aim(self.figures(0.1, 0.3, 0.8)) == []

    def test_one_seed_is_not_judged(self):
        one = Figures([each for each in self.figures(0.9, 0.3, 0.8).kept if each.seed == 0])
        said = page_recovery.recovery_order(one, "5.0")
        assert "is not judged (one seed) for" in said
        assert "refuted" not in said
        pairs = page_recovery.recovery_pairs(one)[4:]
        assert len(pairs) > 5
        assert "**" not in "".join(pairs)

    def test_an_order_of_searches_that_were_cut_says_so(self):
        cut = [
            dataclasses.replace(
                one,
                figures=(
                    {**one.figures, "stopped": "after 9 s, before it settled"} if one.row == "match-o" else one.figures
                ),
            )
            for one in self.figures(0.1, 0.3, 0.8).kept
        ]
        assert "cut before they settled were match-o." in page_recovery.recovery_order(Figures(cut), "5.0")
        assert "cut" not in page_recovery.recovery_order(self.figures(0.1, 0.3, 0.8), "5.0")

    def test_the_published_method_beside_its_published_figures(self):
        said = page_recovery.recovery_published(self.figures(0.1, 0.3, 0.8))
        assert "11.0 % at 2.5 N·m (published 8.3 %) and 11.0 % at 5.0 N·m (published 18.7 %)" in said

    def test_search_and_channels_are_told_apart(self):
        said = page_recovery.recovery_channels(self.figures(0.1, 0.3, 0.8))
        assert "201.0 % at 2.5 N·m (6.0 % with all channels, 11.0 % with CMA-ES on the same channels)" in said

    def test_what_it_took(self):
        given = [
            *kept("wasserstein", "2.5", 0.1, 0.2, evaluations=1540, simulated_s=40000.0),
            *kept("mmd", "2.5", 0.1, 0.2, evaluations=1260, simulated_s=40000.0),
            *kept("ours", "2.5", 0.1, 0.2, simulated_s=6000.0, stopped="settled"),
        ]
        (said,) = page_recovery.recovery_effort(Figures(given))
        assert "1400 candidates a cell, 88 to 108 generations of 13 and their mean, in 40000 s" in said
        assert "200 generations with 64 rollouts each, 17 times as many" in said
        assert "Ours took 6000 s, and settled in 2 of 2 cells" in said

    def test_ours_against_the_published(self):
        assert page_recovery.recovery_best(self.figures(0.1, 0.3, 0.8)).count(", below the published") == 2
        rare = [
            one
            for one in self.figures(0.1, 0.3, 0.8).kept
            if (one.row, one.seed) in {("ours", 0), ("ours", 1), ("ours, 64 rollouts", 0)}
        ]
        assert (
            "(ours, 64 rollouts), below the published 8.3 %, in 1 of 1 seeds; 5.8 % at 2.5 N·m (ours), below the"
            " published 8.3 %, in 2 of 2" in page_recovery.recovery_best(Figures(rare))
        )
        said = page_recovery.recovery_best(self.figures(0.1, 0.3, 0.8, ours=0.1))
        assert "11.0 % at 2.5 N·m (ours), NOT below the published 8.3 %, in 0 of 3 seeds" in said
        assert "at 5.0 N·m (ours), below the published 18.7 %, in 3 of 3 seeds" in said

    def test_where_ours_is_worse(self):
        ours, narrow = page_recovery.recovery_worse(self.figures(0.1, 0.3, 0.8))
        assert ours.endswith(
            "is not worse in the mean than any of them where both have an answer, nor than the published figures."
        )
        assert "worse at 0.0 N·m than wasserstein (201.0 % against 11.0 %, on 3 of 3, beyond chance)" in narrow
        said, _ = page_recovery.recovery_worse(self.figures(0.1, 0.3, 0.8, ours=0.2))
        assert "at 2.5 N·m than wasserstein (21.0 % against 11.0 %, on 3 of 3, beyond chance)" in said
        assert "the published 18.7 % (21.0 %, with 8 rollouts instead of 64)" in said
        assert "match-o" not in said

    def test_what_is_not_compared_is_said(self):
        whole = self.figures(0.1, 0.3, 0.8)
        some = Figures([one for one in whole.kept if one.row != "mmd"])
        assert page_recovery.recovery_worse(some)[-1].startswith("Not measured: mmd at 0.0 N·m")
        refused = Figures([*whole.kept, Kept("ours", "5.0", 2, {"refused": "falls"})])
        assert page_recovery.recovery_worse(refused)[-1] == "Refused: ours at 5.0 N·m (1)."
        assert "not measured yet" in page_recovery.recovery_worse(Figures([]))[0]
