"""What a fit adds beyond the model, as ONNX: it says what the NumPy class says."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from support.added import TORQUE, found, loaded, network, states, torque_cases, weights

from surefoot.adapt.export import numpy_class, write_onnx

INPUTS = ("error_rad", "position_rad", "velocity_rad_s")


class TestOnnxFile:
    def run(self, path: Path, inputs: np.ndarray) -> dict[str, np.ndarray]:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        assert [entry.name for entry in session.get_inputs()] == list(INPUTS)
        values = session.run(None, dict(zip(INPUTS, inputs.astype(np.float32), strict=True)))
        return dict(zip((entry.name for entry in session.get_outputs()), values, strict=True))

    @pytest.mark.parametrize("case", TORQUE)
    def test_torque_is_that_of_the_numpy_file(self, robot, case, tmp_path) -> None:
        adaptation = torque_cases(robot)[case]
        write_onnx(tmp_path / "residual.onnx", adaptation, robot)
        inputs = states(robot, 9)
        found = self.run(tmp_path / "residual.onnx", inputs)
        residual = loaded(tmp_path, numpy_class(adaptation, robot)).Residual()
        assert list(found) == ["torque_nm"]
        assert found["torque_nm"].shape == (9, robot.contract.n_joints)
        np.testing.assert_allclose(found["torque_nm"], residual.torque(*inputs), rtol=1e-5, atol=1e-5)

    def test_both_outputs_where_both_are_added(self, robot, tmp_path) -> None:
        adaptation = found(
            robot, weights(robot, "residual_position_nm_per_rad", "delta_velocity_s"), network(robot, "action")
        )
        write_onnx(tmp_path / "residual.onnx", adaptation, robot)
        inputs = states(robot, 4)
        made = self.run(tmp_path / "residual.onnx", inputs)
        residual = loaded(tmp_path, numpy_class(adaptation, robot)).Residual()
        np.testing.assert_allclose(made["torque_nm"], residual.torque(*inputs), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(made["target_shift_rad"], residual.target_shift(*inputs), rtol=1e-5, atol=1e-6)

    def test_metadata_and_versions(self, robot, tmp_path) -> None:
        adaptation = torque_cases(robot)["both"]
        for name in ("a.onnx", "b.onnx"):
            write_onnx(tmp_path / name, adaptation, robot)
        assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
        model = onnx.load(tmp_path / "a.onnx")
        assert (model.ir_version, model.opset_import[0].version) == (8, 17)
        said = {entry.key: entry.value for entry in model.metadata_props}
        assert tuple(json.loads(said["joints"])) == robot.contract.joints
        assert said["robot_hash"] == robot.hash
        assert json.loads(said["provenance"]) == adaptation.provenance
        assert said["torque_nm"].startswith("N·m")
        assert said["adaptation_hash"][:12] in numpy_class(adaptation, robot)
        write_onnx(tmp_path / "c.onnx", torque_cases(robot)["terms"], robot)
        other = {entry.key: entry.value for entry in onnx.load(tmp_path / "c.onnx").metadata_props}
        assert other["adaptation_hash"] != said["adaptation_hash"]
