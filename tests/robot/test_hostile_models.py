"""Models that ask for physics without end, name themselves as parts, or describe a world that is none."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.robot_files import TINY_YAML, refused, tiny

from surefoot.errors import RobotError
from surefoot.limits import TIME_LIMIT_S
from surefoot.robot import load_robot
from surefoot.robot.model_files import MOST_ITERATIONS, MOST_NESTED_FILES, MOST_OF_A_KIND
from surefoot.watchdog import WatchedCalls

ENDLESS = '<option iterations="2000000000" tolerance="0" noslip_iterations="2000000000"/>'
# A step that is as long as if its solver never came to an end, in a native function that lets other threads run.
STEPS = """
import hashlib
import numpy as np
from surefoot.robot import load_robot
from surefoot.sim.worlds import Worlds
from surefoot.watchdog import notice_interrupts

class Slow:
    def __init__(self, batch):
        self.batch = batch
    def __getattr__(self, name):
        return getattr(self.batch, name)
    def step(self, ids, nstep=1):
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)

notice_interrupts()
worlds = Worlds(load_robot("go2"), 1, threads=1)
worlds._batch = Slow(worlds._batch)
print("begun", flush=True)
worlds.step(np.zeros((1, 12)))
"""


def with_option(folder: Path, option: str) -> Path:
    return tiny(folder, extra=option)


@pytest.mark.parametrize(
    "name",
    ["iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints"],
)
def test_a_solver_that_never_ends(tmp_path, name) -> None:
    refused(with_option(tmp_path, f'<option {name}="2000000000"/>'), f"{name}=2000000000", f"{MOST_ITERATIONS:,}")


def test_a_patient_solver_is_accepted(tmp_path) -> None:
    load_robot(with_option(tmp_path, f'<option iterations="{MOST_ITERATIONS}" ls_iterations="200" wind="5 0 0"/>'))


def test_a_step_that_never_ends_is_stopped() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STEPS],
        env=os.environ | {TIME_LIMIT_S: "0.5"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("surefoot: a step of the simulation of go2 did not finish within")
    assert done.stderr.count("\n") == 1


def test_control_c_ends_a_step() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STEPS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in error


def test_watching_costs_next_to_nothing() -> None:
    """A physics call takes a hundred microseconds and more."""
    calls, fastest_s = WatchedCalls("a call", any_memory=True), float("inf")
    for _ in range(20):
        begin = time.perf_counter()
        for _ in range(1000):
            calls.begin()
            calls.end()
        fastest_s = min(fastest_s, (time.perf_counter() - begin) / 1000)
    assert fastest_s < 3e-6  # 0.7 µs on a quiet machine


def test_a_model_that_is_a_part_of_itself(tmp_path) -> None:
    refused(tiny(tmp_path, asset='<model name="m" file="tiny.xml"/>'), "tiny.xml is a part of itself")


@pytest.mark.parametrize("back", ['<asset><model name="n" file="tiny.xml"/></asset>', '<include file="tiny.xml"/>'])
def test_models_that_are_parts_of_each_other(tmp_path, back) -> None:
    (tmp_path / "other.xml").write_text(f"<mujoco>{back}</mujoco>")
    refused(tiny(tmp_path, asset='<model name="m" file="other.xml"/>'), "tiny.xml -> other.xml -> tiny.xml")


@pytest.mark.parametrize("levels", [MOST_NESTED_FILES - 1, MOST_NESTED_FILES, 300])
def test_parts_within_parts(tmp_path, levels) -> None:
    for k in range(levels):
        (tmp_path / f"p{k}.xml").write_text(
            f'<mujoco><include file="p{k + 1}.xml"/></mujoco>' if k + 1 < levels else "<mujoco><size/></mujoco>"
        )
    path = tiny(tmp_path, extra='<include file="p0.xml"/>')
    if levels < MOST_NESTED_FILES:
        assert load_robot(path).name == "tiny"
    else:
        refused(path, f"more than {MOST_NESTED_FILES} files deep")


def test_a_part_that_two_parts_share(tmp_path) -> None:
    """Twice is no circle."""
    (tmp_path / "part.xml").write_text('<mujoco><worldbody><body name="part"/></worldbody></mujoco>')
    assets = '<model name="a" file="part.xml"/><model name="b" file="part.xml"/>'
    assert load_robot(tiny(tmp_path, asset=assets)).name == "tiny"


@pytest.mark.parametrize("element", ['<geom size="0.1"/>', '<site size="0.1"/>'])
def test_more_shapes_than_any_robot_has(tmp_path, element) -> None:
    begin = time.process_time()
    world = f"<worldbody>{element * (MOST_OF_A_KIND + 1)}</worldbody>"
    refused(tiny(tmp_path, extra=world), f"more than {MOST_OF_A_KIND:,}")
    assert time.process_time() - begin < 5


def test_many_shapes_in_many_files(tmp_path) -> None:
    """Each file is within its limit; the model that they make is not."""
    geoms = '<geom size="0.1"/>' * (MOST_OF_A_KIND // 2 + 1)
    world = f"<mujoco><worldbody>{geoms}</worldbody></mujoco>"
    (tmp_path / "a.xml").write_text(world)
    (tmp_path / "b.xml").write_text(world)
    refused(tiny(tmp_path, extra='<include file="a.xml"/><include file="b.xml"/>'), "geoms; the limit is 10,000")


def test_the_ground_and_its_pairs_are_left_out(tmp_path) -> None:
    pairs = '<contact><pair geom1="ground" geom2="g"/><pair geom1="g" geom2="h"/></contact>'
    leg = '<geom type="sphere" size="0.03" pos="0 0 -0.3"/>'
    arms = '<worldbody><geom name="g" size="0.1"/><geom name="h" size="0.1"/></worldbody>'
    robot = load_robot(tiny(tmp_path, leg=leg, extra=arms + pairs))
    spec = robot.spec()
    assert [(pair.geomname1, pair.geomname2) for pair in spec.pairs] == [("g", "h")]
    assert "ground" not in [geom.name for geom in spec.geoms]


@pytest.mark.parametrize("side", ["right", "left", "up", "down", "front", "back"])
def test_a_fifo_as_one_side_of_a_texture(tmp_path, side) -> None:
    os.mkfifo(tmp_path / "f.png")
    refused(tiny(tmp_path, asset=f'<texture type="cube" file{side}="f.png"/>'), "f.png is not an ordinary file")


def test_a_fifo_as_a_deformable(tmp_path) -> None:
    os.mkfifo(tmp_path / "f.msh")
    part = '<worldbody><body><flexcomp name="f" type="gmsh" file="f.msh" dim="3"/></body></worldbody>'
    refused(tiny(tmp_path, extra=part), "f.msh is not an ordinary file")


def test_a_fifo_in_the_folder_that_another_file_names(tmp_path) -> None:
    (tmp_path / "meshes").mkdir()  # which tiny.xml names
    os.mkfifo(tmp_path / "meshes" / "f.obj")
    (tmp_path / "part.xml").write_text('<mujoco><asset><mesh file="f.obj"/></asset></mujoco>')
    refused(tiny(tmp_path, extra='<include file="part.xml"/>'), "f.obj is not an ordinary file")


@pytest.mark.parametrize("gravity", ["9 0 -0.001", "1e30 0 -9.81", "0 nan -9.81", "0 0 -101", "0 0 0", "0 0 9.81"])
def test_gravity_that_does_not_point_down(tmp_path, gravity) -> None:
    refused(with_option(tmp_path, f'<option gravity="{gravity}"/>'), "gravity", "it must point down")


@pytest.mark.parametrize("gravity", ["0 0 -1.62", "1.7 0 -9.66"])
def test_the_moon_and_a_slope(tmp_path, gravity) -> None:
    load_robot(with_option(tmp_path, f'<option gravity="{gravity}"/>'))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ('wind="nan 0 0"', "wind"),
        ('wind="0 1e9 0"', "wind"),
        ('density="1e300"', "density"),
        ('density="-1"', "density"),
        ('viscosity="1e300"', "viscosity"),
        ('viscosity="nan"', "viscosity"),
    ],
)
def test_a_medium_that_is_none(tmp_path, option, name) -> None:
    refused(with_option(tmp_path, f"<option {option}/>"), f"the {name}", "it must be between")


EXTREME = {
    "kp_nm_per_rad: 20": "kp_nm_per_rad: 1.0e+300",
    "kd_nms_per_rad: 1": "kd_nms_per_rad: 1.0e+300",
    "torque_limit_nm: 10": "torque_limit_nm: 1.0e+300",
    "velocity_limit_rad_s: 10": "velocity_limit_rad_s: 1.0e+300",
    "action_scale_rad: 0.25": "action_scale_rad: 1.0e+300",
    "control_hz: 50": "control_hz: 50\naction_clip: 1.0e+300",
    "joint_position]": "{name: joint_position, scale: 1.0e+300}]",
}


@pytest.mark.parametrize("line", EXTREME)
def test_numbers_that_no_robot_has(tmp_path, line) -> None:
    text = TINY_YAML.replace(line, EXTREME[line])
    assert text != TINY_YAML
    refused(tiny(tmp_path, text), "1e+300", "it must be")


def test_commands_that_no_robot_follows(tmp_path) -> None:
    refused(
        tiny(tmp_path, TINY_YAML + "command_range: {vx_m_s: [-1.0e+300, 1.0e+300]}\n"), "vx_m_s", "within ±", "1e+300"
    )


def test_the_same_numbers_inside_a_policy(go2) -> None:
    """A contract travels in files too."""
    import dataclasses

    from surefoot.errors import PolicyError
    from surefoot.robot import Contract

    for field, value in (
        ("kp_nm_per_rad", (1e300,) * 12),
        ("action_clip", 1e300),
        ("control_hz", 1e300),
        ("command_range", ((-1e300, 1e300),) * 3),
    ):
        text = dataclasses.replace(go2.contract, **{field: value}).to_json()
        with pytest.raises(PolicyError, match=field):
            Contract.from_json(text, "p.onnx")
    assert Contract.from_json(go2.contract.to_json(), "p.onnx") == go2.contract


def test_refusals_are_the_projects_own(tmp_path) -> None:
    with pytest.raises(RobotError):
        load_robot(with_option(tmp_path, ENDLESS))
