"""What a fit adds beyond the model, as a NumPy class: it says what `Worlds` adds, and runs without Surefoot."""

import ast
import json
import subprocess
import sys
import textwrap

import mujoco
import numpy as np
import onnx
import pytest
import yaml
from support.added import TORQUE, found, loaded, network, states, torque_cases, weights
from support.plain import Plain
from support.robot_files import TINY_YAML, tiny

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export import numpy_class, write_onnx
from surefoot.errors import FitError
from surefoot.robot import Robot, load_robot
from surefoot.robot.legs import usual_pose
from surefoot.sim import Worlds
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.residual import ACTION_TERMS, TORQUE_TERMS, Adds, terms


def said_by_worlds(robot: Robot, adaptation: Adaptation, adds: Adds, inputs: np.ndarray) -> np.ndarray:
    names = TORQUE_TERMS if adds == "torque" else ("action_offset_rad", *ACTION_TERMS[1:])
    values = {name: np.broadcast_to(value, inputs.shape[1:]) for name, value in adaptation.settings.items()}
    plain = terms(values, names, usual_pose(robot))
    total = np.zeros(inputs.shape[1:]) if plain is None else plain(*inputs)
    return (
        total
        if adaptation.network is None or adaptation.network.adds != adds
        else total + adaptation.network.net(robot)(*inputs)
    )


class TestNumpyFile:
    @pytest.mark.parametrize("case", TORQUE)
    def test_torque_is_what_worlds_add(self, robot, case, tmp_path) -> None:
        adaptation = torque_cases(robot)[case]
        residual = loaded(tmp_path, numpy_class(adaptation, robot)).Residual()
        inputs = states(robot, 40)
        wanted = said_by_worlds(robot, adaptation, "torque", inputs)
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(residual.torque(*inputs), wanted, rtol=0, atol=1e-6)
        assert not hasattr(residual, "target_shift")

    def test_target_shift_is_what_worlds_add(self, robot, tmp_path) -> None:
        settings = weights(robot, *ACTION_TERMS[1:3], ACTION_TERMS[4]) | {"action_offset_rad": 0.012345678901234}
        adaptation = found(robot, settings, network(robot, "action"))
        residual = loaded(tmp_path, numpy_class(adaptation, robot)).Residual()
        inputs = states(robot, 40)
        np.testing.assert_allclose(
            residual.target_shift(*inputs), said_by_worlds(robot, adaptation, "action", inputs), rtol=0, atol=1e-7
        )
        assert not hasattr(residual, "torque")

    def test_one_state_is_a_row_of_many(self, robot, tmp_path) -> None:
        residual = loaded(tmp_path, numpy_class(torque_cases(robot)["both"], robot)).Residual()
        inputs = states(robot, 2, 3)
        torque = residual.torque(*inputs)
        assert torque.shape == (2, 3, robot.contract.n_joints)
        np.testing.assert_allclose(residual.torque(*inputs[:, 1, 2]), torque[1, 2], rtol=0, atol=1e-6)

    def test_weights_are_the_network_s_to_the_last_bit(self, robot, tmp_path) -> None:
        adaptation = torque_cases(robot)["network"]
        net = adaptation.network.net(robot)
        module = loaded(tmp_path, numpy_class(adaptation, robot))
        assert tuple(module.JOINTS) == robot.contract.joints
        np.testing.assert_array_equal(module.LIMIT_NM, net.limit)
        for (weight, bias), *wanted in zip(module.LAYERS, net.weights, net.biases, strict=True):
            assert weight.dtype == bias.dtype == np.float32
            np.testing.assert_array_equal(weight, wanted[0])
            np.testing.assert_array_equal(bias, wanted[1])

    def test_it_needs_numpy_and_nothing_else(self, go2, tmp_path) -> None:
        loaded(tmp_path, numpy_class(torque_cases(go2)["both"], go2))
        program = (
            "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import"
            " residual\nprint(residual.Residual().torque(*np.ones((3, 12))).sum(), {'surefoot', 'mujoco', 'onnx'} &"
            " set(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-I", "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
        )
        total, modules = done.stdout.split(maxsplit=1)
        assert modules.strip() == "set()"
        wanted = said_by_worlds(go2, torque_cases(go2)["both"], "torque", np.ones((3, 1, 12))).sum()
        assert float(total) == pytest.approx(wanted, abs=1e-5)

    def test_its_docstring_says_units_rate_order_and_origin(self, robot) -> None:
        adaptation = found(
            robot, {**weights(robot, "residual_error_nm_per_rad"), "delay_s": 0.00675, "armature_kgm2": 0.02}
        )
        text = ast.get_docstring(ast.parse(numpy_class(adaptation, robot)))
        for part in (
            "N·m",
            "rad/s",
            "policy order",
            f"{robot.physics_hz!r} Hz",
            robot.hash[:12],
            "surefoot fit log.parquet --out fit/",
        ):
            assert part in text
        assert "delay_s, s: 0.00675 for all" in text
        assert "--to mjcf` or in its head: armature_kgm2" in text


class TestPlainMujoco:
    """The file in a plain loop, against the simulator of the fit."""

    ACTIONS = 12

    def actions(self, robot: Robot) -> np.ndarray:
        return np.random.default_rng(2).normal(0, 0.5, (self.ACTIONS, robot.contract.n_joints))

    def worlds(self, robot: Robot, adaptation: Adaptation) -> Worlds:
        worlds = Worlds(robot, 1, threads=1)
        adaptation.physics(robot).apply(worlds)
        worlds.reset()
        for action in self.actions(robot):
            worlds.step(action[None])
        return worlds

    def test_torque(self, robot, tmp_path) -> None:
        adaptation = found(robot, {**weights(robot, *TORQUE_TERMS), "delay_s": 0.00675}, network(robot))
        states = []
        for residual in (None, loaded(tmp_path, numpy_class(adaptation, robot)).Residual().torque):
            plain = Plain(robot)
            plain.delay_steps, plain.residual = 0.00675 / plain.model.opt.timestep, residual
            plain.start()
            for action in self.actions(robot):
                plain.step(action)
            states.append(plain.data.qpos.copy())
        ours = self.worlds(robot, adaptation).data_of(0).qpos
        assert np.abs(ours - states[0]).max() > 1e-2
        np.testing.assert_allclose(states[1], ours, rtol=0, atol=1e-6)

    def test_the_example_in_the_file_runs_as_written(self, robot, tmp_path) -> None:
        adaptation = found(robot, weights(robot, *TORQUE_TERMS), network(robot))
        source = numpy_class(adaptation, robot)
        once, each = example(source)
        plain = Plain(robot).start()
        names = {"model": plain.model, "data": plain.data, "mujoco": mujoco, **vars(loaded(tmp_path, source))}
        exec(once, names)
        for action in self.actions(robot):
            names["target"] = plain.data.ctrl[:] = plain.offset + plain.scale * action
            for _ in range(plain.substeps):
                exec(each, names)
        np.testing.assert_allclose(plain.data.qpos, self.worlds(robot, adaptation).data_of(0).qpos, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("scale", [1.0, 0.7], ids=["", "another action scale"])
    def test_target_shift(self, robot, scale, tmp_path) -> None:
        """Where the fit changed what an action means, the shift is still rad at the servo."""
        contract = robot.contract
        settings = weights(robot, *ACTION_TERMS[1:3], ACTION_TERMS[4]) | {"action_offset_rad": 0.02}
        settings |= {} if scale == 1.0 else {"action_scale_rad": (scale * np.array(contract.action_scale_rad)).tolist()}
        adaptation = found(robot, settings, network(robot, "action"))
        source = numpy_class(adaptation, robot)
        once, each = example(source)
        assert ("default pose + that scale * action + the shift" in source) == (scale != 1.0)
        plain = Plain(robot).start()
        names = {"pose_rad": plain.offset, "scale_rad": plain.scale, "np": np, **vars(loaded(tmp_path, source))}
        exec(once, names)
        for action in self.actions(robot):
            names |= {"action": action, "q": plain.data.qpos[plain.q], "v": plain.data.qvel[plain.v]}
            exec(each, names)
            plain.data.ctrl[:] = names["target"] - (1 - scale) * plain.scale * action
            for _ in range(plain.substeps):
                mujoco.mj_step(plain.model, plain.data)
        ours = self.worlds(robot, adaptation).data_of(0).qpos
        np.testing.assert_allclose(plain.data.qpos, ours, rtol=0, atol=1e-6)
        assert np.abs(ours - self.worlds(robot, found(robot, {})).data_of(0).qpos).max() > 1e-2


def example(source: str) -> tuple[str, str]:
    """The two blocks of code in the docstring: once, and at each step."""
    lines = ast.get_docstring(ast.parse(source)).splitlines()
    code = textwrap.dedent("\n".join(line if line.startswith("    ") else "" for line in lines)).strip()
    once, each = code.split("\n\n")
    return once, each


class TestRefused:
    @pytest.mark.parametrize("settings", [{}, {"dry_friction_nm": 0.3, "delay_s": 0.01}, {"residual_constant_nm": 0.0}])
    def test_nothing_added(self, go2, settings, tmp_path) -> None:
        with pytest.raises(FitError, match="adds no torque and moves no targets; export it as 'mjcf'"):
            numpy_class(found(go2, settings), go2)
        with pytest.raises(FitError, match="adds no torque and moves no targets; export it as 'mjcf'"):
            write_onnx(tmp_path / "residual.onnx", found(go2, settings), go2)
        assert not list(tmp_path.iterdir())

    @pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
    def test_weights_beyond_single_precision(self, go2) -> None:
        huge = Network("torque", (JointGroup(("FL_hip_joint",), ((np.full((1, 3), 1e300), np.zeros(1)),), 1.0),))
        with pytest.raises(FitError, match="beyond single precision"):
            numpy_class(found(go2, {}, huge), go2)

    def test_names_cannot_become_code(self, tmp_path) -> None:
        bad, joint = "x\nraise SystemExit('out')\n'''\"\"\" \\", "left'); raise SystemExit('out') #\"\"\""
        content = {**yaml.safe_load(TINY_YAML), "name": bad, "joints": [joint, "right_hip"]}
        path = tiny(tmp_path, yaml.safe_dump(content))
        text = (tmp_path / "tiny.xml").read_text()
        (tmp_path / "tiny.xml").write_text(
            text.replace("left_hip", joint.replace("'", "&apos;").replace('"', "&quot;"))
        )
        robot = load_robot(path)
        adaptation = Adaptation(
            robot.name, robot.hash, bad, (), {"residual_constant_nm": 0.5}, network(robot), provenance={bad: bad}
        )
        module = loaded(tmp_path, numpy_class(adaptation, robot))
        assert list(module.JOINTS) == [joint, "right_hip"]
        assert module.Residual().torque(*np.zeros((3, 2)))[1] == 0.5
        write_onnx(tmp_path / "residual.onnx", adaptation, robot)
        said = {entry.key: entry.value for entry in onnx.load(tmp_path / "residual.onnx").metadata_props}
        assert json.loads(said["joints"])[0] == joint
