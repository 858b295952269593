"""Virtual robots: what their YAML says arrives in the simulator, and every mistake in it is answered with
one sentence.
"""

import shutil
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest
import yaml
from support.robot_files import HEXAPOD
from support.walks import built_in

from surefoot.errors import TwinError
from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot
from surefoot.robot.load import shipped_robots
from surefoot.sim import Worlds, load_twin
from surefoot.sim.twin import shipped_twins
from surefoot.sim.values import names_of

# As in the documentation, word for word.
EXAMPLE = """
robot: go2
armature_kgm2: {FL_hip_joint: 0.0175, "*_calf_joint": 0.037}   # a number, a list in policy order, or patterns
dry_friction_nm: 0.3
viscous_friction_nms: 0.2
delay_s: 0.005
torque_noise_nm: 1.0
encoder_noise_rad: 0.001
springs: [{joints: "*_calf_joint", stiffness_nm_per_rad: 12.0, rest_rad: -1.8}]
motor: {strength: 0.9}
floor_friction: 0.6
base_mass_kg: 7.5
"""


@pytest.fixture
def twin(tmp_path):
    """Load a twin from text, or from keys added to a Go2."""

    def load(text="", **keys):
        path = tmp_path / "mine.yaml"
        path.write_text(text or yaml.safe_dump({"robot": "go2", **keys}))
        return load_twin(path)

    return load


def refused(load, *parts, **keys):
    """A twin is refused with one line that names its file and holds all parts."""
    with pytest.raises(TwinError) as caught:
        load(**keys)
    message = str(caught.value)
    for part in ("mine.yaml", *parts):
        assert part in message
    assert "\n" not in message


def stand(worlds: Worlds, seconds: float = 1.0, by: str = "zero") -> Worlds:
    agent = make_agent(by, worlds.robot, worlds.n)
    for _ in range(round(seconds * worlds.robot.contract.control_hz)):
        worlds.step(agent.act(worlds.sensors, np.zeros((worlds.n, 3))))
    return worlds


def test_every_shipped_robot_has_a_twin() -> None:
    assert {"go2-identified", "go2-slippery", "go2-spring", "go2-worn"} <= set(shipped_twins())
    assert {load_twin(name).robot.name for name in shipped_twins()} == {folder.name for folder in shipped_robots()}


@pytest.mark.parametrize("name", list(shipped_twins()))
def test_shipped_twin_stands(name: str) -> None:
    worlds = load_twin(name).worlds(3)
    stand(worlds, by=built_in(worlds.robot))
    assert worlds.failures == []
    assert (worlds.sensors.gravity[:, 2] < -0.95).all()
    assert (worlds.base_position_m[:, 2] > 0.7 * worlds.robot.base_height_m).all()


@pytest.mark.parametrize("name", list(shipped_twins()))
def test_every_written_value_of_a_shipped_twin_arrives(name: str) -> None:
    """Compared against the file read by plain YAML, so that a value cannot be dropped on the way."""
    written = yaml.safe_load(shipped_twins()[name].read_text())
    twin = load_twin(name)
    worlds, nominal = twin.worlds(2), Worlds(twin.robot, 1, torque_speed=True)
    joints = worlds.robot.contract.joints
    checked = 0
    for block, prefix in ((written, ""), (written.get("motor", {}), ""), (written.get("battery", {}), "battery_")):
        for key, value in block.items():
            if key in ("robot", "motor", "battery", "springs", "time_jitter_s"):
                continue
            got = worlds.get("motor_strength" if key == "strength" else prefix + key)
            if isinstance(value, dict):
                names = names_of(prefix + key, worlds.robot)
                matching = [[v for pattern, v in value.items() if fnmatchcase(name, pattern)] for name in names]
                value = [v[-1] if v else one for v, one in zip(matching, nominal.get(prefix + key)[0], strict=True)]
            np.testing.assert_array_equal(got, np.broadcast_to(value, got.shape))
            checked += 1
    assert checked >= 6
    for spring in written.get("springs", []):
        has = np.array([joint.endswith(spring["joints"].lstrip("*")) for joint in joints])
        assert has.sum() == 4
        np.testing.assert_array_equal(
            worlds.get("spring_stiffness_nm_per_rad")[0], np.where(has, spring["stiffness_nm_per_rad"], 0.0)
        )
        np.testing.assert_array_equal(worlds.get("spring_rest_rad")[0][has], spring["rest_rad"])
    assert twin.time_jitter_s == written["time_jitter_s"]


def test_the_documented_example(twin, go2) -> None:
    worlds = twin(EXAMPLE).worlds(2)
    nominal = Worlds(go2, 1)
    armature = worlds.get("armature_kgm2")[1]
    assert armature[0] == 0.0175
    assert armature[2::3].tolist() == [0.037] * 4
    assert armature[1] == nominal.get("armature_kgm2")[0, 1]  # what the patterns leave out stays
    assert (worlds.get("dry_friction_nm") == 0.3).all()
    assert (worlds.get("viscous_friction_nms") == 0.2).all()
    assert (worlds.get("delay_s") == 0.005).all()
    assert (worlds.get("torque_noise_nm") == 1.0).all()
    assert (worlds.get("encoder_noise_rad") == 0.001).all()
    assert worlds.get("spring_stiffness_nm_per_rad")[0].tolist() == [0, 0, 12] * 4
    assert worlds.get("spring_rest_rad")[0, 2::3].tolist() == [-1.8] * 4
    assert (worlds.get("motor_strength") == 0.9).all()
    assert worlds.get("floor_friction").tolist() == [0.6, 0.6]
    assert worlds.get("base_mass_kg").tolist() == [7.5, 7.5]
    assert worlds.model_of(1).body("trunk").mass[0] == 7.5  # and in the physics itself
    assert stand(worlds, 0.2).failures == []


def test_list_number_and_patterns_on_another_robot(tmp_path) -> None:
    (tmp_path / "old.yaml").write_text(
        f"robot: {HEXAPOD}\narmature_kgm2: {np.linspace(0.001, 0.002, 18).tolist()}\nbase_com_offset_m: {{x:"
        ' 0.01}\nlink_mass_kg: {plate: 2.5}\nmotor: {torque_limit_nm: {"*.coxa": 2.0}, backlash_rad: 0.01}\n'
    )
    twin = load_twin(tmp_path / "old.yaml")
    worlds = twin.worlds(1)
    np.testing.assert_array_equal(worlds.get("armature_kgm2")[0], np.linspace(0.001, 0.002, 18))
    np.testing.assert_array_equal(worlds.get("torque_limit_nm")[0], [2.0] * 6 + [4.0] * 12)
    np.testing.assert_array_equal(worlds.get("base_com_offset_m")[0], [0.01, 0, 0])
    assert worlds.get("link_mass_kg")[0, worlds.names("link_mass_kg").index("plate")] == 2.5
    assert (worlds.get("backlash_rad") == 0.01).all()
    assert twin.name == "old"


def test_a_body_without_mass_may_stay_without(tmp_path) -> None:
    shutil.copytree(HEXAPOD, tmp_path / "hexapod")
    model = tmp_path / "hexapod" / "hexapod.xml"
    text = model.read_text()
    assert '<site name="imu_site"' in text
    model.write_text(text.replace('<site name="imu_site"', '<body name="camera"/><site name="imu_site"', 1))
    (tmp_path / "t.yaml").write_text("robot: hexapod\nlink_mass_kg: {plate: 2.5}\n")
    worlds = load_twin(tmp_path / "t.yaml").worlds(1)
    assert worlds.get("link_mass_kg")[0, worlds.names("link_mass_kg").index("camera")] == 0


def test_robot_path_is_relative_to_the_twin_file(tmp_path, monkeypatch) -> None:
    shutil.copytree(HEXAPOD, tmp_path / "robots" / "six")
    (tmp_path / "twins").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for place in ("../robots/six/robot.yaml", "../robots/six"):
        (tmp_path / "twins" / "t.yaml").write_text(f"robot: {place}\n")
        assert load_twin(tmp_path / "twins" / "t.yaml").robot.hash == load_robot(HEXAPOD).hash


def test_a_folder_of_the_robots_name_does_not_hide_a_shipped_robot(twin, tmp_path) -> None:
    (tmp_path / "go2").mkdir()
    assert twin().robot.name == "go2"


def test_physics_at_1_khz(twin) -> None:
    worlds = twin(physics_hz=1000, delay_s=0.005, torque_noise_nm=0.5).worlds(2)
    assert worlds.physics_dt_s == pytest.approx(0.001)
    assert worlds.scene.substeps == 20
    stand(worlds, 0.3)
    assert worlds.failures == []
    np.testing.assert_allclose(worlds.time_s, 0.3)


def test_hash_changes_with_every_hidden_value(twin) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"dry_friction_nm": 0.3},
        {"dry_friction_nm": 0.30000000000000004},
        {"dry_friction_nm": {"FL_hip_joint": 0.3}},
        {"viscous_friction_nms": 0.3},
        {"motor": {"strength": 0.9}},
        {"motor": {"stall_torque_nm": 28, "no_load_speed_rad_s": 24}},
        {"motor": {"stall_torque_nm": {"FL_hip_joint": 28}, "no_load_speed_rad_s": {"FL_hip_joint": 24}}},
        {"springs": [{"joints": "FL_hip_joint", "stiffness_nm_per_rad": 1, "rest_rad": 0}]},
        {"time_jitter_s": 0.001},
        {"time_shift_s": 0.001},
        {"time_shift_s": [0, 0.001]},
        {"physics_hz": 1000},
    ]
    hashes = [twin(**keys).hash for keys in variants]
    assert len(set(hashes)) == len(variants)
    assert hashes == [twin(**keys).hash for keys in variants]


def test_hash_ignores_how_a_value_is_written(twin) -> None:
    first = twin(dry_friction_nm=[0.3] * 12, delay_s=0).hash
    assert twin(dry_friction_nm=0.3, delay_s=0).hash == first
    assert twin(delay_s=0.0, dry_friction_nm={"*": 0.3}).hash == first
    assert (
        twin("notes: 5 Nm on the calf?\nrobot: go2\ndelay_s: 0\ndry_friction_nm: {FL_*: 0.3, '*': 3e-1}").hash == first
    )


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ({"armature": 0.1}, ("unknown key 'armature'", "did you mean 'armature_kgm2'")),
        ({"dry_friction": 0.1}, ("unknown key 'dry_friction'", "'dry_friction_nm'")),
        ({"motors": {"strength": 1}}, ("unknown key 'motors'", "did you mean 'motor'")),
        ({"motor": {"strenght": 0.9}}, ("unknown key 'strenght' in motor", "did you mean 'strength'")),
        ({"battery": {"levels": 0.9}}, ("unknown key 'levels' in battery", "did you mean 'level'")),
        (
            {"springs": [{"joints": "*", "stiffness_nm_per_rad": 1, "rest_red": 0}]},
            ("unknown key 'rest_red' in springs", "did you mean 'rest_rad'"),
        ),
    ],
)
def test_unknown_key_gets_the_nearest_name(twin, keys, parts) -> None:
    refused(twin, *parts, **keys)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("delay_s: 0.005\n", ("'robot' is missing",)),
        ("robot:\n", ("'robot' is None", "shipped robot")),
        ("robot: 5\n", ("'robot' is 5",)),
        ("robot: go3\n", ("no robot 'go3'", "go2")),
        ("robot: ../nowhere/robot.yaml\n", ("no robot '../nowhere/robot.yaml'",)),
        (f"robot: {'a' * 300}\n", ("no robot 'aaa",)),
    ],
)
def test_robot_that_is_not_there(twin, text, parts) -> None:
    refused(lambda: twin(text), *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("found nothing",)),
        ("- robot: go2\n", ("found a list",)),
        ("robot: [\n", ("not valid YAML",)),
        ("robot: go2\nrobot: go2\n", ("'robot' is given twice", "line 2")),
        ("robot: go2\ndelay_s: !!bool x\n", ("not valid YAML", "cannot be read")),
        ("robot: go2\ndelay_s: 2026-99-99\n", ("not valid YAML", "cannot be read")),
        (f"robot: go2\ndelay_s: 1{'0' * 390}\n", ("number is too large", "line 2")),
        (f"robot: go2\ndelay_s: 1{'0' * 400}\n", ("a number of 401 characters",)),
        (f"robot: go2\ndelay_s: 0x1{'0' * 5000}\n", ("a number of 5,003 characters",)),
    ],
)
def test_file_that_is_no_twin(twin, text, parts) -> None:
    refused(lambda: twin(text or "# only a comment\n"), *parts)


def test_file_that_cannot_be_read(tmp_path) -> None:
    (tmp_path / "noise.yaml").write_bytes(b"\xff\xfe\x00")
    for name, part in {
        str(tmp_path / "noise.yaml"): "not a text file",
        str(tmp_path): "is a folder",
        str(tmp_path / "none.yaml"): "no virtual robot",
        "go2-spirng": "did you mean 'go2-spring'",
        "a" * 5000: "no virtual robot",
        "": "is a folder",
    }.items():
        with pytest.raises(TwinError, match=part) as caught:
            load_twin(name)
        assert "\n" not in str(caught.value)


def spring(joints: str, stiffness: float = 1, rest: object = 0) -> dict[str, object]:
    return {"joints": joints, "stiffness_nm_per_rad": stiffness, "rest_rad": rest}


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ({"dry_friction_nm": float("nan")}, ("dry_friction_nm is nan", "finite number")),
        ({"dry_friction_nm": float("inf")}, ("dry_friction_nm is inf", "finite number")),
        ({"dry_friction_nm": 1e300}, ("1e+300", "between 0 and 1e+15")),
        ({"dry_friction_nm": -0.3}, ("dry_friction_nm of FL_hip_joint is -0.3 N·m", "between 0 and")),
        ({"dry_friction_nm": [0.3] * 11}, ("11 values for 12 joints",)),
        ({"dry_friction_nm": [[0.3] * 12]}, ("1 values for 12 joints",)),
        ({"dry_friction_nm": [0.3] * 11 + ["x"]}, ("RR_calf_joint is 'x'",)),
        ({"dry_friction_nm": [0.3] * 11 + [float("nan")]}, ("RR_calf_joint is nan",)),
        ({"dry_friction_nm": "0.3"}, ("dry_friction_nm is '0.3'", "finite number")),
        ({"dry_friction_nm": True}, ("dry_friction_nm is True", "finite number")),
        ({"dry_friction_nm": None}, ("dry_friction_nm is None", "finite number")),
        ({"dry_friction_nm": {"*_knee": 0.3}}, ("'*_knee' matches none of",)),
        ({"dry_friction_nm": {"*_calf_joint": "x"}}, ("'*_calf_joint' is 'x'",)),
        ({"delay_s": 5}, ("delay_s of FL_hip_joint is 5 s", "between 0 and 1")),
        ({"floor_friction": [0.6]}, ("floor_friction is [0.6]", "one finite number")),
        ({"floor_friction": {"x": 0.6}}, ("floor_friction is {'x': 0.6}", "one finite number")),
        ({"floor_friction": 0}, ("floor_friction is 0;", "between 0.001 and")),
        ({"base_mass_kg": "heavy"}, ("base_mass_kg is 'heavy'", "in kg")),
        ({"base_mass_kg": 0}, ("base_mass_kg is 0 kg",)),
        ({"base_com_offset_m": [0.1, 0.1]}, ("2 values for 3 axes (x, y, z)",)),
        ({"motor": 0.9}, ("motor is 0.9", "strength")),
        ({"motor": None}, ("motor is None",)),
        ({"motor": {"strength": -1}}, ("motor_strength of FL_hip_joint is -1",)),
        ({"motor": {"strength": 0.9}, "motor_strength": 0.8}, ("motor_strength is given twice", "under motor")),
        ({"motor": {"stall_torque_nm": 28}}, ("stall_torque_nm and no_load_speed_rad_s together", "FL_hip_joint")),
        ({"motor": {"no_load_speed_rad_s": 28}}, ("stall_torque_nm and no_load_speed_rad_s together",)),
        (
            {"motor": {"stall_torque_nm": {"FL_hip_joint": 28}, "no_load_speed_rad_s": {"FL_*": 28}}},
            ("together; FL_thigh_joint has one of them only",),
        ),
        ({"motor": {"stall_torque_nm": 0, "no_load_speed_rad_s": 28}}, ("stall_torque_nm of FL_hip_joint is 0",)),
        ({"battery": {"level": 0.9}}, ("battery acts through", "stall_torque_nm")),
        ({"battery_level": 0.9}, ("battery acts through", "stall_torque_nm")),
        ({"springs": {"joints": "*"}}, ("springs is {'joints': '*'}", "list")),
        ({"springs": ["*_calf_joint"]}, ("springs holds '*_calf_joint'",)),
        ({"springs": [{"joints": "*_calf_joint", "rest_rad": 0}]}, ("lacks 'stiffness_nm_per_rad'",)),
        ({"springs": [spring("*_knee")]}, ("'*_knee' matches none of",)),
        ({"springs": [spring("*_calf_joint", -1)]}, ("spring_stiffness_nm_per_rad", "is -1")),
        ({"springs": [spring("*_calf_joint", rest="x")]}, ("spring_rest_rad", "'x'")),
        ({"springs": [spring("*"), spring("FL_*")]}, ("FL_calf_joint twice",)),
        ({"physics_hz": 0}, ("physics_hz is 0", "above 0")),
        ({"physics_hz": "fast"}, ("physics_hz is 'fast'",)),
        ({"physics_hz": 70}, ("physics_hz 70 is not a multiple of control_hz 50",)),
        ({"physics_hz": 1e12}, ("physics_hz 1e+12", "lower")),
        ({"time_jitter_s": -0.1}, ("time_jitter_s is -0.1", "from 0 to 1 s")),
        ({"time_jitter_s": [0, 0.1]}, ("time_jitter_s is [0, 0.1]",)),
        ({"time_jitter_s": float("nan")}, ("time_jitter_s is nan",)),
        ({"time_shift_s": [0.1, 0.0]}, ("time_shift_s is [0.1, 0.0]", "[lowest, highest]")),
        ({"time_shift_s": [0.1]}, ("time_shift_s is [0.1]",)),
        ({"time_shift_s": "late"}, ("time_shift_s is 'late'",)),
        ({"time_shift_s": 20}, ("time_shift_s is 20", "from 0 to 1 s")),
    ],
)  # fmt: skip
def test_bad_value(twin, keys, parts) -> None:
    refused(twin, *parts, **keys)


def test_a_value_of_a_billion_entries_is_refused_at_once(twin) -> None:
    """Nested aliases are small in the file and huge when they are written out."""
    lines = ["robot: go2", "notes: &n0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{key}: &n{i + 1} [{', '.join([f'*n{i}'] * 10)}]"
        for i, key in enumerate(("motor", "battery", "springs", "physics_hz", "time_jitter_s"))
    ]
    refused(lambda: twin("\n".join(lines)), "expands to more than 1,000,000 values")
