"""`surefoot verdict` as it is typed: GO, NO-GO, and one sentence for each mistake."""

import json
from pathlib import Path

import pytest
from support.pages import checked
from support.robot_files import HEXAPOD
from support.verdicts import FEW, adaptation_of

from surefoot.adapt import write_adaptation
from surefoot.robot import load_robot
from surefoot.verify.fit_gap import UNKNOWN


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
