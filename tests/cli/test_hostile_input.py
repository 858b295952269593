"""Careless and hostile input through the command line, item by item: one sentence each, in time and in
little memory.
"""

import dataclasses
import json
import os
import resource
import struct
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.command_line import SCRIPT
from support.log_files import valid_file
from support.policy_files import layers
from support.robot_files import HEXAPOD, TINY_YAML, tiny

from surefoot.errors import RobotError
from surefoot.logs import RobotLog, read_log, record, write_log
from surefoot.logs.robot_log import METADATA_KEY
from surefoot.pipeline.gap import physics_file
from surefoot.policy import write_mlp
from surefoot.robot import load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import load_twin


@pytest.fixture
def refused(surefoot):
    """A command line is answered with exactly one line on standard error that holds all parts, and exit code 2."""

    def call(*arguments: object, says: tuple[str, ...] = ()) -> str:
        code, _, error = surefoot(*arguments)
        assert code == 2
        assert error.count("\n") == 1
        assert len(error) < 2500
        for part in says:
            assert part in error
        return error

    return call


def in_little_memory(*arguments: object, folder: Path, gb: float = 1.2) -> subprocess.CompletedProcess:
    """In a process of its own that would die if it took more memory than this; libraries reserve a little
    more than they touch.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(gb * 1e9),) * 2)

    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=limit,
    )


class TestMemory:
    def test_ten_million_equal_rows_of_a_log(self, tmp_path, go2):
        rows = 10_000_000
        columns = {"episode": pa.array(np.zeros(rows, np.int32)), "time_s": pa.array(np.zeros(rows))}
        metadata = {METADATA_KEY: json.dumps({"format": 1, "joints": list(go2.contract.joints)}).encode()}
        table = pa.table(
            columns | {"command": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(3 * rows, np.float32)), 3)}
        )
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "log.parquet", compression="zstd")
        assert (tmp_path / "log.parquet").stat().st_size < 1e6
        done = in_little_memory("log", "show", "log.parquet", folder=tmp_path)
        assert done.returncode == 2
        assert "log.parquet needs about 1.20 GB of memory, and the limit is 1 GB" in done.stderr
        assert "SUREFOOT_MEMORY_GB=2" in done.stderr

    def test_the_option_raises_the_limit(self, surefoot, here):
        write_log(record(load_twin("go2-identified"), "trot", rollouts=2, seconds=0.5, seed=0), here / "log.parquet")
        code, _, error = surefoot("log", "show", "log.parquet", "--memory-gb", 1e-5)
        assert code == 2
        assert "needs about" in error
        assert surefoot("log", "show", "log.parquet", "--memory-gb", 0.01)[0] == 0
        assert surefoot("log", "show", "log.parquet", "--memory-gb", -1)[0] == 2

    def test_a_dictionary_of_long_texts(self, tmp_path):
        words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3_000_000, np.int32)), pa.array(["x" * 100_000]))
        pq.write_table(
            pa.table({"time": np.arange(3_000_000) / 50, "note": words}), tmp_path / "x.parquet", compression="zstd"
        )
        done = in_little_memory("log", "import", "x.parquet", "--out", "log.parquet", folder=tmp_path)
        assert done.returncode == 2
        assert "it offers note" in done.stderr  # the texts were never written out

    def test_many_arrays_of_a_small_archive(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            header = (
                b"\x93NUMPY\x01\x00v\x00"
                + b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000,), }".ljust(117)
                + b"\n"
            )
            for k in range(8):
                archive.writestr(f"a{k}.npy", header + bytes(80_000_000))
        assert (tmp_path / "x.npz").stat().st_size < 4e6
        done = in_little_memory("log", "import", "x.npz", "--out", "log.parquet", folder=tmp_path)
        assert done.returncode == 2
        assert "x.npz needs about 1.92 GB of memory" in done.stderr

    def test_mcap_chunks_that_unpack_to_gigabytes(self, tmp_path):
        def record_of(opcode: int, content: bytes) -> bytes:
            return struct.pack("<BQ", opcode, len(content)) + content

        packed = pa.compress(bytes(200_000_000), codec="zstd", asbytes=True)
        name = struct.pack("<I", 4) + b"zstd"
        chunk = struct.pack("<QQQI", 0, 0, 200_000_000, 0) + name + struct.pack("<Q", len(packed)) + packed
        (tmp_path / "x.mcap").write_bytes(b"\x89MCAP0\r\n" + record_of(6, chunk) * 20)
        done = in_little_memory("log", "import", "x.mcap", "--out", "log.parquet", folder=tmp_path)
        assert done.returncode == 2
        assert "unpack to more than 50 times their size" in done.stderr


class TestHangs:
    @pytest.mark.parametrize(
        "element",
        [
            '<include file="pipe"/>',
            '<asset><mesh name="m" file="pipe"/></asset>',
            '<asset><texture name="t" type="2d" file="/dev/zero"/></asset>',
        ],
    )
    def test_a_pipe_or_a_device_in_a_model(self, refused, here, element):
        os.mkfifo(here / "pipe")
        tiny(here)
        model = (here / "tiny.xml").read_text().replace('meshdir="meshes"', "").replace("<asset></asset>", element)
        (here / "tiny.xml").write_text(model)
        refused("robot", "check", "robot.yaml", says=("is not an ordinary file",))
        refused("robot", "new", "tiny.xml", "--out", "new.yaml", says=("is not an ordinary file",))

    @pytest.mark.parametrize("kind", ["robot.yaml", "twin", "policy", "adaptation", "log", "map"])
    def test_a_pipe_as_any_input(self, refused, here, kind):
        os.mkfifo(here / "pipe")
        words = {
            "robot.yaml": ("robot", "check", "pipe"),
            "twin": ("record", "--twin", "pipe", "--out", "a.parquet"),
            "policy": ("policy", "show", "pipe"),
            "adaptation": ("adapt", "show", "pipe"),
            "log": ("log", "show", "pipe"),
            "map": ("log", "import", "run.csv", "--map", "pipe", "--out", "a.parquet"),
        }[kind]
        valid_file("run.csv", here)
        refused(*words)

    @pytest.mark.parametrize(
        ("count", "most"), [("2000000000", "50,000 elements"), ("20000", "10,000 'replicate' elements")]
    )
    def test_copies_of_a_body(self, refused, here, count, most):
        tiny(here)
        more = f'<replicate count="{count}" offset="1 0 0"><body><geom size="0.1"/></body></replicate>'
        (here / "tiny.xml").write_text((here / "tiny.xml").read_text().replace("</worldbody>", f"{more}</worldbody>"))
        refused("robot", "check", "robot.yaml", says=(f"more than {most}",))

    def test_twenty_thousand_bodies(self, refused, here):
        tiny(here)
        more = "<body><geom size='0.1'/></body>" * 20_000
        (here / "tiny.xml").write_text((here / "tiny.xml").read_text().replace("</worldbody>", f"{more}</worldbody>"))
        refused("robot", "check", "robot.yaml", says=("more than 2,000 bodies",))

    def test_two_hundred_thousand_nodes(self, refused, here, go2):
        write_mlp(here / "p.onnx", go2.contract, layers(go2.contract))
        model = onnx.load(here / "p.onnx")
        model.graph.node.extend(
            onnx.helper.make_node("Identity", ["observation"], [f"more{i}"]) for i in range(200_000)
        )
        (here / "p.onnx").write_bytes(model.SerializeToString())
        refused("policy", "show", "p.onnx", says=("more than 20,000 nodes",))

    def test_many_knobs(self, refused, here, go2):
        knob = {
            "name": "delay_s",
            "parameter": "delay_s",
            "where": [],
            "unit": "s",
            "start": 0,
            "value": 0,
            "interval": [0, 1],
            "bounds": [0, 1],
            "flag": "",
            "note": "",
        }
        content = {
            "surefoot_adaptation": 1,
            "robot": "go2",
            "robot_hash": go2.hash,
            "family": "static",
            "knobs": [knob] * 114_000,
            "settings": {},
            "provenance": {},
        }
        (here / "adaptation.json").write_text(json.dumps(content))
        refused("adapt", "show", "adaptation.json", says=("114,000 knobs",))

    @pytest.mark.parametrize("key", ["name", "base", "action_clip", "springs", "randomization"])
    def test_values_that_stand_for_millions(self, refused, here, key):
        bomb = "\n".join(["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)])
        tiny(here)
        if key == "springs":
            (here / "t.yaml").write_text(
                f"robot: robot.yaml\n{bomb}\nsprings: [{{joints: *a8, stiffness_nm_per_rad: 1, rest_rad: 0}}]\n"
            )
            refused("record", "--twin", "t.yaml", "--out", "a.parquet", says=("expands to more than",))
        elif key == "randomization":
            (here / "r.yaml").write_text(f"{bomb}\ndelay_s: {{set: *a8}}\n")
            refused("train", "walk", "--randomization", "r.yaml", "--out", "run", says=("expands to more than",))
        else:
            text = (here / "robot.yaml").read_text()
            lines = [line for line in text.splitlines() if not line.startswith(f"{key}:")]
            (here / "robot.yaml").write_text("\n".join([bomb, *lines, f"{key}: *a8"]))
            refused("robot", "check", "robot.yaml", says=("expands to more than",))


class TestGenerated:
    def test_a_newline_in_the_name_of_a_log(self, go2):
        """It once wrote keys into simulator.yaml that no fit had set."""
        head = "The simulator fitted to day1\nfloor_friction: 0.05\n#.parquet. A virtual robot."
        text = physics_file(Physics(load_robot("go2"), {"delay_s": 0.004}), head)
        assert yaml.safe_load(text) == {"robot": "go2", "delay_s": 0.004}

    def test_names_in_a_starter(self, surefoot, here):
        tiny(here)
        model = (
            (here / "tiny.xml")
            .read_text()
            .replace('model="tiny"', 'model="x&#10;control_hz: 1"')
            .replace('"left_hip"', '"left&#10;kp_nm_per_rad: 9"')
        )
        model = model.replace(
            "</mujoco>",
            '<keyframe><key name="home&#10;name: evil" qpos="0 0 0.4 1 0 0 0 0.1 0.1 0.1"/></keyframe></mujoco>',
        )
        (here / "tiny.xml").write_text(model)
        code, _, error = surefoot("robot", "new", "tiny.xml", "--out", "new.yaml")
        assert code == 0, error
        content = yaml.safe_load((here / "new.yaml").read_text())
        assert content["name"] == "x\ncontrol_hz: 1"
        assert content["control_hz"] == 50
        assert "left\nkp_nm_per_rad: 9" in content["joints"]


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return record(load_twin("go2-identified"), "walk", rollouts=8, seconds=4.0, seed=1)


class TestTime:
    @pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
    def test_another_unit_is_named_and_can_be_mended(self, surefoot, here, log, unit, factor):
        write_log(dataclasses.replace(log, time_s=log.time_s * factor), here / "log.parquet")
        code, out, _ = surefoot("doctor", "log.parquet", "--html", "d.html")
        assert code == 2
        assert f"time is in {unit}, not in seconds: its numbers are {factor:,.0f} times too large" in " ".join(
            out.split()
        )
        assert f"with the time unit {unit}" in " ".join(out.split())
        assert "to fix time-unit: option --time-unit of 'surefoot log import'" in out
        codes = [finding["code"] for finding in json.loads(surefoot("doctor", "log.parquet", "--json")[1])["findings"]]
        assert codes[:2] == ["time-unit", "too-short"]  # the rest was looked at as if it had been mended
        assert not {"rate", "delay", "velocity-scale"} & set(codes)
        assert surefoot("log", "plot", "log.parquet", "--out", "p.html")[0] == 0
        assert surefoot("log", "plot", "log.parquet", "--robot", "go2", "--out", "p.html")[0] == 0
        code, _, error = surefoot("gap", "log.parquet", "--policy", "walk", "--out", "gap")
        assert code == 2
        assert f"time is in {unit}" in error
        assert "warning: time is in" in surefoot("log", "show", "log.parquet")[1]
        assert surefoot("log", "import", "log.parquet", "--time-unit", unit, "--out", "fixed.parquet")[0] == 0
        assert np.allclose(read_log(here / "fixed.parquet").time_s, log.time_s, atol=1e-6)
        assert "time-unit" not in surefoot("doctor", "fixed.parquet", "--json")[1]

    def test_on_a_robot_with_another_rate(self, surefoot, here):
        robot = load_robot(HEXAPOD)
        (here / "t.yaml").write_text(yaml.safe_dump({"robot": str(HEXAPOD)}))
        log = record(load_twin(here / "t.yaml"), "trot", rollouts=4, seconds=3.0, seed=1)
        write_log(dataclasses.replace(log, time_s=log.time_s * 1e3), here / "log.parquet")
        code, out, _ = surefoot("doctor", "log.parquet", "--robot", HEXAPOD, "--html", "d.html")
        assert code == 2
        assert "time is in ms" in out
        assert robot.contract.control_hz != 50 or "some 20 apart" in " ".join(out.split())


class TestRobots:
    def test_one_joint_with_the_built_in_trot(self, refused, here):
        model = """<mujoco><worldbody><body name="base" pos="0 0 0.5"><freejoint/>
          <geom type="box" size="0.2 0.2 0.05" mass="5"/>
          <body name="wheel"><joint name="spin" axis="0 0 1" range="-3 3"/>
          <geom name="foot" type="sphere" size="0.1" pos="0 0 -0.3"/></body></body></worldbody></mujoco>"""
        (here / "one.xml").write_text(model)
        content = {
            "name": "one",
            "model": "one.xml",
            "base": "base",
            "feet": ["foot"],
            "joints": ["spin"],
            "pose_rad": 0,
            "kp_nm_per_rad": 10,
            "kd_nms_per_rad": 1,
            "torque_limit_nm": 10,
            "velocity_limit_rad_s": 10,
            "action_scale_rad": 0.25,
            "observation": ["gyro"],
            "control_hz": 50,
        }
        (here / "robot.yaml").write_text(yaml.safe_dump(content))
        (here / "t.yaml").write_text("robot: robot.yaml\n")
        refused(
            "record",
            "--twin",
            "t.yaml",
            "--out",
            "a.parquet",
            says=("the built-in trot cannot walk one", "lifts the foot foot"),
        )

    @pytest.mark.parametrize(
        ("gravity", "given"),
        [("0 0 nan", "nan"), ("0 0 9.81", "0 0 9.81"), ("0 0 0", "0 0 0"), ("0 0 -1e9", "0 0 -1e+09")],
    )
    def test_gravity_that_is_none(self, refused, here, gravity, given):
        tiny(here)
        (here / "tiny.xml").write_text(
            (here / "tiny.xml").read_text().replace("<compiler", f'<option gravity="{gravity}"/><compiler')
        )
        refused("robot", "check", "robot.yaml", says=("gravity", given) if gravity != "0 0 nan" else ("tiny.xml",))

    def test_physics_that_is_too_slow(self, tmp_path, refused, here):
        with pytest.raises(RobotError, match="physics_hz 1 is too slow"):
            load_robot(tiny(tmp_path, TINY_YAML + "physics_hz: 1\n"))
        (here / "t.yaml").write_text("robot: go2\nphysics_hz: 1\n")
        refused("record", "--twin", "t.yaml", "--out", "a.parquet", says=("physics_hz 1 is too slow",))

    def test_a_network_without_a_limit(self, refused, here):
        network = {
            "adds": "torque",
            "groups": [{"joints": ["FL_hip_joint"], "limit": 1e300, "layers": [{"weight": [[1, 1, 1]], "bias": [0]}]}],
        }
        (here / "t.yaml").write_text(yaml.safe_dump({"robot": "go2", "network": network}))
        refused(
            "record",
            "--twin",
            "t.yaml",
            "--out",
            "a.parquet",
            says=("the network's limit is 1e+300", "from 0 to 10000"),
        )


class TestBrokenPolicies:
    @pytest.fixture
    def nan(self, here, go2) -> Path:
        """A policy whose actions are not finite when it is told to walk fast."""
        write_mlp(here / "nan.onnx", go2.contract, layers(go2.contract))
        model = onnx.load(here / "nan.onnx")
        graph = model.graph
        for node in graph.node:
            node.output[:] = ["inner" if name == "action" else name for name in node.output]
        start = sum(go2.contract.width(term) for term in go2.contract.observation[:2])
        for name, value in (
            ("at", np.array([start], dtype=np.int64)),
            ("axis", np.array([1], dtype=np.int64)),
            ("end", np.array([start + 1], dtype=np.int64)),
            ("fast", np.array([1.0], dtype=np.float32)),
        ):
            graph.initializer.append(onnx.numpy_helper.from_array(value, name))
        graph.node.append(onnx.helper.make_node("Slice", ["observation", "at", "end", "axis"], ["vx"]))
        graph.node.append(onnx.helper.make_node("Sub", ["fast", "vx"], ["room"]))
        graph.node.append(onnx.helper.make_node("Sqrt", ["room"], ["root"]))  # NaN where vx, scaled by 2, is above 1
        graph.node.append(onnx.helper.make_node("Mul", ["inner", "root"], ["action"]))
        onnx.save(model, here / "nan.onnx")
        return here / "nan.onnx"

    def test_evaluate_says_when_and_for_which_commands(self, surefoot, here, nan):
        code, out, _ = surefoot("evaluate", nan, "--episodes", 4, "--straight-episodes", 1, "--out", "e.json")
        said = " ".join(out.split())
        assert code == 0
        assert "the policy gave actions that are not finite numbers in" in said
        assert "under the command" in said
        assert "nan m/s" not in said
        figures = json.loads((here / "e.json").read_text())["nonfinite"]
        assert figures["low"][0] > 0.5  # m/s: what it was told in those episodes
        assert figures["episodes"] < figures["of"]

    def test_verdict_says_it_too(self, surefoot, here, go2, nan):
        knob = {
            "name": "delay_s",
            "parameter": "delay_s",
            "where": [],
            "unit": "s",
            "start": 0,
            "value": 0.004,
            "interval": [0.003, 0.005],
            "bounds": [0, 0.06],
            "flag": "",
            "note": "",
        }
        content = {
            "surefoot_adaptation": 1,
            "robot": "go2",
            "robot_hash": go2.hash,
            "family": "static",
            "knobs": [knob],
            "settings": {"delay_s": 0.004},
            "provenance": {},
        }
        (here / "adaptation.json").write_text(json.dumps(content))
        small = (
            "--candidates",
            0,
            "--episodes",
            2,
            "--straight-episodes",
            1,
            "--candidate-episodes",
            1,
            "--seconds",
            1,
        )
        code, out, _ = surefoot(
            "verdict", "--before", "walk", "--after", nan, "--adaptation", "adaptation.json", *small
        )
        assert code == 3
        assert "the policy gave actions that are not finite numbers" in " ".join(out.split())
        assert json.loads((here / "verdict" / "verdict.json").read_text())["reasons"][0]["rule"] == "not finite"


class TestTasks:
    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ("raise RuntimeError('no')", "RuntimeError: no, in its line 2"),
            ("import sys; sys.exit(0)", "SystemExit(0)"),
            ("return None", "returned NoneType"),
            ("return 1 / 0", "ZeroDivisionError"),
            ("return Task('t', (), ((0, 1),) * 3)", "at least one"),
            ("return Task('t', weighted(tilt=-1.0), ((1, 0),) * 3)", "command_range"),
        ],
    )
    def test_a_task_that_is_none(self, refused, here, body, says):
        pytest.importorskip("torch")
        (here / "t.py").write_text(f"from surefoot.learn.task import Task, weighted\ndef task(robot): {body}\n")
        refused("train", "t.py", "--out", "run", "--iterations", 1, says=("t.py", says))
        assert not (here / "run").exists()

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ("None", "returned None"),
            ("motion.command", "must return one number for each of"),
            ("1 / 0", "raised ZeroDivisionError"),
            ("__import__('sys').exit(0)", "raised SystemExit(0)"),
            ("motion.tilt * float('nan')", "raised AttributeError|is not a finite number"),
        ],
    )
    def test_a_reward_that_is_none(self, surefoot, here, body, says):
        pytest.importorskip("torch")
        (here / "t.py").write_text(
            f"from surefoot.learn.task import Reward, Task\ndef mine(motion):\n    return {body}\n"
            "def task(robot):\n    return Task('t', (Reward(mine, 1.0),), robot.contract.command_range)\n"
        )
        code, _, error = surefoot("train", "t.py", "--out", "run", "--iterations", 1, "--worlds", 4, "--no-evaluate")
        assert code == 2
        assert "the reward mine" in error
        assert any(part in error for part in says.split("|"))

    @pytest.mark.parametrize(
        "change",
        [{"iteration": -5}, {"iteration": "x"}, {"elapsed_s": float("nan")}, {"runs": None}, {"weights": True}],
    )
    def test_a_checkpoint_that_was_tampered_with(self, surefoot, here, change):
        torch = pytest.importorskip("torch")
        from safetensors.torch import safe_open, save_file

        words = ("train", "walk", "--out", "run", "--worlds", 8, "--no-evaluate", "--seed", 1)
        assert surefoot(*words, "--iterations", 1)[0] == 0
        path = here / "run" / "checkpoint.safetensors"
        with safe_open(path, framework="pt") as file:
            state = json.loads(file.metadata()["state"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if change.pop("weights", False):
            tensors["actor.mlp.0.weight"][0, 0] = torch.nan
        save_file(tensors, path, {"state": json.dumps(state | change)})
        assert "was changed after 'surefoot train' wrote it" in surefoot(*words, "--iterations", 2)[2]
        code, _, error = surefoot(*words, "--iterations", 2, "--overwrite")
        assert code == 2
        assert "checkpoint.safetensors is damaged" in error
        assert "start over (option --restart)" in error


class TestMoreMemory:
    def test_tensors_that_share_one_external_file(self, tmp_path, go2):
        write_mlp(tmp_path / "p.onnx", go2.contract, layers(go2.contract))
        (tmp_path / "weights.bin").write_bytes(bytes(10_000_000))
        model = onnx.load(tmp_path / "p.onnx")
        for k in range(300):
            tensor = model.graph.initializer.add(name=f"more{k}", data_type=onnx.TensorProto.FLOAT, dims=[2_500_000])
            tensor.data_location = onnx.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights.bin")
        (tmp_path / "p.onnx").write_bytes(model.SerializeToString())
        done = in_little_memory("policy", "show", "p.onnx", folder=tmp_path)
        assert done.returncode == 2
        assert "p.onnx needs about 9.00 GB of memory" in done.stderr

    def test_a_million_rows_of_the_wrong_width(self, refused, here):
        (here / "run.csv").write_text("time,a\n" + "x\n" * 1_000_000)
        refused("log", "import", "run.csv", "--out", "log.parquet", says=("10,000 rows have another number of cells",))

    def test_twelve_million_elements(self, tmp_path):
        tiny(tmp_path)
        (tmp_path / "tiny.xml").write_text("<mujoco>" + "<a/>" * 12_000_000 + "</mujoco>")
        done = in_little_memory("robot", "check", "robot.yaml", folder=tmp_path, gb=0.6)
        assert done.returncode == 2
        assert "more than 10,000" in done.stderr

    def test_an_entity_that_is_many(self, refused, here):
        tiny(here)
        (here / "tiny.xml").write_text(
            '<!DOCTYPE m [<!ENTITY a "' + "x" * 10_000 + '">]><mujoco>' + "&a;" * 1000 + "</mujoco>"
        )
        refused("robot", "check", "robot.yaml", says=("DOCTYPE",))

    def test_copies_in_an_included_file_of_any_ending(self, refused, here):
        tiny(here)
        (here / "more.inc").write_text(
            '<mujocoinclude><replicate count="2000000000"><body/></replicate></mujocoinclude>'
        )
        (here / "tiny.xml").write_text(
            (here / "tiny.xml").read_text().replace("</worldbody>", '<include file="more.inc"/></worldbody>')
        )
        refused("robot", "check", "robot.yaml", says=("more.inc has more than 50,000 elements",))

    def test_json_of_millions_of_values(self, refused, here):
        (here / "adaptation.json").write_text("[" + ",".join(["[]"] * 5_000_000) + "]")
        refused("adapt", "show", "adaptation.json", says=("more than 3,000,000 values",))


class TestFoldersFromElsewhere:
    """A run folder may come from somebody else: what lies in it is input too."""

    @pytest.mark.parametrize("name", [".surefoot.json", "gap-journal/run.json", "gap-journal/0000.npz"])
    def test_a_pipe_in_the_place_of_a_record(self, surefoot, here, log, name):
        write_log(log, here / "log.parquet")
        (here / "gap" / "gap-journal").mkdir(parents=True)
        os.mkfifo(here / "gap" / name)
        code, _, error = surefoot(
            "gap", "log.parquet", "--policy", "walk", "--out", "gap", "--no-diagnose", "--overwrite"
        )
        assert code == 0 or "is not an ordinary file" in error

    def test_an_input_in_the_place_of_the_journal(self, surefoot, here, log):
        (here / "gap" / "gap-journal").mkdir(parents=True)
        write_log(log, here / "gap" / "gap-journal" / "day1.parquet")
        code, _, error = surefoot(
            "gap", "gap/gap-journal/day1.parquet", "--policy", "walk", "--out", "gap", "--no-diagnose"
        )
        assert code == 2
        assert "gap-journal already exists" in error
        surefoot(
            "gap", "gap/gap-journal/day1.parquet", "--policy", "walk", "--out", "gap", "--no-diagnose", "--overwrite"
        )
        assert (here / "gap" / "gap-journal" / "day1.parquet").exists()

    def test_a_full_disk_keeps_what_is_known(self, surefoot, here, log, monkeypatch):
        write_log(log, here / "log.parquet")
        replace, count = os.replace, [0]

        def full(source: Path, target: Path) -> None:
            count[0] += str(target).endswith(".npz")
            if count[0] > 3:
                raise OSError(28, "No space left on device")
            replace(source, target)

        monkeypatch.setattr("surefoot.files.writing.os.replace", full)
        code, _, error = surefoot("gap", "log.parquet", "--policy", "walk", "--out", "gap", "--no-diagnose")
        assert code == 2
        assert "No space left" in error
        assert len(list((here / "gap" / "gap-journal").glob("*.npz"))) == 3


class TestTerminal:
    def test_arguments_that_are_not_understood(self, surefoot):
        _, out, error = surefoot("log", "show", "a.parquet", "b\x1b]0;owned\x07.parquet")
        assert "\x1b]0;" not in out + error
        assert "owned" in out + error

    def test_a_note_cannot_forge_a_line(self, surefoot, here, log):
        write_log(
            dataclasses.replace(log, metadata=log.metadata | {"notes": ["ok\nsurefoot: GO: this log was checked"]}),
            here / "log.parquet",
        )
        _, out, _ = surefoot("log", "show", "log.parquet")
        assert "note: ok surefoot: GO" in out
        assert not [line for line in out.splitlines() if line.startswith("surefoot:")]

    @pytest.mark.parametrize("name", ["$(touch owned).pkl", "a; touch owned.bag", "`id`.npy"])
    def test_suggested_commands_can_be_pasted(self, refused, here, name):
        (here / name).write_bytes(
            {".pkl": b"\x80\x04", ".bag": b"#ROSBAG V2.0\n", ".npy": b"\x93NUMPY"}[Path(name).suffix]
        )
        error = refused("log", "import", name, "--out", "log.parquet")
        if "python -c" in error or "rosbags-convert" in error:
            assert f"'{name}'" in error
