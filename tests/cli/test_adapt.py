"""`surefoot adapt` as it is typed."""

from pathlib import Path

import mujoco
import onnx
import pytest
from support.adaptations import FIELDS, adaptation, agree, knob, simulated
from support.added import torque_cases

from surefoot.adapt.adaptation import read_adaptation, write_adaptation
from surefoot.adapt.export import numpy_class
from surefoot.cli.main import VERBS, Verb


class TestCommandLine:
    @pytest.fixture
    def verbs(self, monkeypatch) -> None:
        for name in ("export", "show"):
            monkeypatch.setitem(VERBS, f"adapt {name}", Verb("surefoot.cli.adapt", name, "an adaptation"))

    @pytest.fixture
    def fit(self, go2, tmp_path) -> Path:
        flagged = knob("floor_friction", (), 0.912, 0.4, 0.95, flag="at its bound", note="walk on a slope")
        settings = {"armature_kgm2": 0.0234, "floor_friction": 0.912, "torque_noise_nm": 0.5}
        found = adaptation(go2, settings, (knob("armature_kgm2", go2.contract.joints, 0.0234, 0.0211, 0.0255), flagged))
        write_adaptation(tmp_path / "fit" / "adaptation.json", found)
        return tmp_path / "fit"

    @pytest.mark.parametrize(
        ("to", "name", "part"),
        [
            ("mjcf", "a.xml", "0.0234"),
            ("mjlab", "a.py", "0.0234"),
            ("isaaclab", "a.py", "0.0234"),
            ("randomization", "a.yaml", "0.0255"),
        ],
    )
    def test_export(self, surefoot, verbs, fit, to, name, part, here) -> None:
        code, out, error = surefoot("adapt", "export", fit, "--robot", "go2", "--to", to, "--out", f"deep/{name}")
        assert (code, error) == (0, "")
        assert f"wrote deep/{name}" in out
        assert part in (here / "deep" / name).read_text()

    def test_export_takes_the_file_too_and_reads_what_was_written(self, surefoot, verbs, fit, go2, here) -> None:
        assert surefoot("adapt", "export", fit / "adaptation.json", "--to", "mjcf", "--out", "a.xml")[0] == 0
        read = read_adaptation(fit, go2)
        agree(mujoco.MjModel.from_xml_path("a.xml"), simulated(go2, read.settings), FIELDS)

    @pytest.mark.parametrize(
        ("to", "out", "part"),
        [
            ("mjcf", "a.py", "does not end in .xml"),
            ("mjlab", "a.xml", "does not end in .py"),
            ("randomization", "a", ".yaml or .yml"),
        ],
    )
    def test_a_wrong_ending_is_refused(self, surefoot, verbs, fit, to, out, part, here) -> None:
        code, _, error = surefoot("adapt", "export", fit, "--to", to, "--out", out)
        assert (code, error.count("\n")) == (2, 1)
        assert part in error
        assert list(here.iterdir()) == []

    def test_a_folder_without_a_fit_is_refused(self, surefoot, verbs, here) -> None:
        code, _, error = surefoot("adapt", "show", ".")
        assert (code, error.count("\n")) == (2, 1)
        assert "the folder that a fit wrote" in error

    def test_show(self, surefoot, verbs, fit, monkeypatch) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        code, out, error = surefoot("adapt", "show", fit)
        assert (code, error) == (0, "")
        row = next(line for line in out.splitlines() if "floor_friction" in line)
        for part in ("0.456", "0.912", "0.4 to 0.95", "at its bound"):
            assert part in row
        assert "floor_friction is at its bound: walk on a slope" in out
        assert "also set, without a knob: torque_noise_nm" in out


class TestExportOfWhatIsAdded:
    @pytest.fixture
    def fit(self, go2, tmp_path) -> Path:
        write_adaptation(tmp_path / "fit" / "adaptation.json", torque_cases(go2)["both"])
        return tmp_path / "fit"

    def test_export(self, surefoot, fit, go2, here) -> None:
        for to, name in (("numpy", "residual.py"), ("onnx", "residual.onnx")):
            code, out, error = surefoot("adapt", "export", fit, "--to", to, "--out", name)
            assert (code, error) == (0, "")
            assert f"wrote {name}" in out
        assert (here / "residual.py").read_text() == numpy_class(torque_cases(go2)["both"], go2)
        onnx.checker.check_model(onnx.load(here / "residual.onnx"))

    @pytest.mark.parametrize(
        ("to", "name", "part"), [("numpy", "a.onnx", "does not end in .py"), ("onnx", "a.py", "does not end in .onnx")]
    )
    def test_a_wrong_ending_is_refused(self, surefoot, fit, to, name, part, here) -> None:
        code, _, error = surefoot("adapt", "export", fit, "--to", to, "--out", name)
        assert (code, error.count("\n")) == (2, 1)
        assert part in error
        assert list(here.iterdir()) == []

    def test_show_names_the_network(self, surefoot, fit) -> None:
        code, out, _ = surefoot("adapt", "show", fit)
        assert code == 0
        assert "a network adds to torques" in " ".join(out.split())
