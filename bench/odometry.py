"""How well leg odometry knows the velocity of the base, beside the truth of virtual robots.

  python bench/odometry.py              # two to three minutes on 2 cores
  python bench/odometry.py --robots 16 --seconds 4 --seeds 1    # a quarter of a minute

Virtual robots walk under commands drawn from the whole range, each with the sensor noise of its file. Every estimator
sees the same recordings. RMS errors are m/s in the axes of the base, over all ticks after the first half second in
which the robot is up; `worst` is the largest RMS error of a single robot. "along" is the part along gravity, "across"
the rest.

- odometry: `LegOdometry`, with joints, gyro and gravity
- with contacts: the same, told by an ideal sensor which feet touch
- touching feet: the mean over the feet that touch, by the same ideal sensor, without any filter
- all feet: the mean over all feet
- zero: always zero, so that this is the size of the velocity itself

The filter's constants were chosen on other walks of the shipped virtual robots, on the hexapod, and on rough and
sloping ground; the robots called "drawn" are new to it. After the robots come single changes to one of them: other
ground, feet taken for points, noise that is added to joint velocities (with and without telling the filter), and the
cost beside a step of the simulator. Writes bench/results/odometry.json.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from results import write_results

from surefoot.logs import random_commands
from surefoot.policy import LegOdometry, make_agent
from surefoot.policy.driver import make_driver
from surefoot.robot import Robot, Sensors, load_robot
from surefoot.robot.kinematics import FootKinematics
from surefoot.sim import Worlds, load_twin
from surefoot.sim.floor import Floor, HeightField
from surefoot.sim.physics import Physics
from surefoot.sim.probes import FallProbe
from surefoot.sim.twin import shipped_twins
from surefoot.sim.walk import Script, rise_ticks, walk

HEXAPOD = Path(__file__).parent.parent / "tests" / "robots" / "hexapod" / "robot.yaml"
NOISE = {"encoder_noise_rad": 0.001, "velocity_noise_rad_s": 0.05, "gyro_noise_rad_s": 0.01, "gravity_noise": 0.005}
HOLD_S = 1.5  # of a command
WARM_S = 0.5
AXES = ("x", "y", "z")
ROUGH_M, SLOPE_DEG = 0.05, 5.0
NOISY_RAD_S = (0.1, 0.2, 0.5, 1.0)

Estimates = np.ndarray  # (ticks, n, 3)


@dataclasses.dataclass(frozen=True, eq=False)
class Recording:
    """What n robots measured over t ticks, and the truth."""

    robot: Robot
    sensors: list[Sensors]
    contact: np.ndarray  # (t, n, n_feet)
    velocity: np.ndarray  # (t, n, 3) in the axes of the base
    down: np.ndarray  # (t, n, 3) true direction of gravity
    counted: np.ndarray  # (t, n)
    falls: int


class Watch:
    """The probe that keeps sensors and truth of the same moment, the rise included."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nothing is kept yet."""
        self.sensors: list[Sensors] = []
        self.rows: list[tuple[np.ndarray, ...]] = []
        self.ticks: list[int] = []

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Look after the step: the sensors that the next action will see."""
        self.sensors.append(worlds.sensors)
        turn = rotation(worlds.base_quaternion)
        velocity = np.einsum("nij,ni->nj", turn, worlds.base_velocity[:, :3])
        self.rows.append((velocity, -turn[:, 2], worlds.foot_contact))
        self.ticks.append(k)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) from the base to the world."""
    w, x, y, z = quaternion.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


def record(physics: Physics, policy: str, n: int, seconds: float, seed: int, floor: Floor | None = None) -> Recording:
    """Let n robots walk."""
    driver = make_driver(policy, physics.robot)
    robot = driver.robot
    worlds = Worlds(robot, n, seed=seed, feet=True, floor=floor, torque_speed=physics.torque_speed)
    physics.with_robot(robot).apply(worlds)
    worlds.reset()
    hz = robot.contract.control_hz
    commands = random_commands(robot.contract, n, round(seconds * hz), HOLD_S, np.random.default_rng([seed, 5]))
    watch, falls = Watch(), FallProbe(robot.posture)
    walk(worlds, driver.make(n), Script(commands.swapaxes(0, 1), n_rise=rise_ticks(robot)), (watch, falls))
    velocity, down, contact = (np.stack(column) for column in zip(*watch.rows, strict=True))
    counted = np.zeros(velocity.shape[:2], bool)
    counted[-len(commands[0]) :] = ~falls.result().down.T
    counted &= np.array(watch.ticks)[:, None] >= round(WARM_S * hz)
    return Recording(robot, watch.sensors, contact, velocity, down, counted, int(falls.result().fell.sum()))


def odometry(recording: Recording, contacts: bool = False, points: bool = False, **options: float) -> Estimates:
    """What `LegOdometry` says; with `points`, of feet without any size."""
    estimator = LegOdometry(recording.robot, recording.velocity.shape[1], **options)
    if points:
        shapes = estimator._feet._shapes
        estimator._feet._shapes = dataclasses.replace(shapes, radius=np.zeros_like(shapes.radius))
    told = recording.contact if contacts else [None] * len(recording.sensors)
    return np.stack([estimator.update(s, foot_contact=touch) for s, touch in zip(recording.sensors, told, strict=True)])


def feet(recording: Recording, touching: bool) -> Estimates:
    """The mean of what the feet say, of all or of those that touch; the last one where none does."""
    kinematics, estimates = FootKinematics(recording.robot), []
    last = np.zeros(recording.velocity.shape[1:])
    for sensors, contact in zip(recording.sensors, recording.contact, strict=True):
        turn = np.eye(3) if kinematics.imu_rotation is None else kinematics.imu_rotation
        gyro, down = sensors.gyro_rad_s @ turn.T, sensors.gravity @ turn.T
        motion = kinematics.lowest(sensors.joint_position_rad, sensors.joint_velocity_rad_s, down)
        seen = -(motion.velocity_m_s + np.cross(gyro.T[:, None], motion.position_m, axis=0)).T  # (n, n_feet, 3)
        weight = contact.astype(float) if touching else np.ones(contact.shape)
        some = weight.sum(axis=1) > 0
        last = np.where(
            some[:, None], (weight[..., None] * seen).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)[:, None], last
        )
        estimates.append(last)
    return np.stack(estimates)


ESTIMATORS: dict[str, Callable[[Recording], Estimates]] = {
    "odometry": odometry,
    "with contacts": lambda recording: odometry(recording, contacts=True),
    "touching feet": lambda recording: feet(recording, touching=True),
    "all feet": lambda recording: feet(recording, touching=False),
    "zero": lambda recording: np.zeros_like(recording.velocity),
}


def errors(pairs: list[tuple[Recording, Estimates]]) -> dict[str, Any]:
    """RMS errors over recordings, m/s."""
    error = np.concatenate([(given - r.velocity)[r.counted] for r, given in pairs])
    down = np.concatenate([r.down[r.counted] for r, _ in pairs])
    along, total = (error * down).sum(axis=1) ** 2, (error**2).sum(axis=1)
    single = [
        np.sqrt(
            (((given - r.velocity) ** 2).sum(axis=2) * r.counted).sum(axis=0) / np.maximum(r.counted.sum(axis=0), 1)
        )
        for r, given in pairs
    ]
    return {
        **{axis: float(np.sqrt((error[:, i] ** 2).mean())) for i, axis in enumerate(AXES)},
        "total": float(np.sqrt(total.mean())),
        "across": float(np.sqrt(max((total - along).mean(), 0.0))),
        "along": float(np.sqrt(along.mean())),
        "worst": float(np.concatenate(single).max()),
    }


def robots() -> Iterator[tuple[str, Physics, str]]:
    """Shipped virtual robots with each walk that their robot has, two that are drawn, and the hexapod of the tests."""
    for name in shipped_twins():
        physics = load_twin(name).physics
        shipped = {file.stem for file in (physics.robot.path.parent / "policies").glob("*.onnx")}
        for policy in [*(p for p in ("walk", "biped") if p in shipped), "trot"]:
            if policy != "biped" or name == "go2-identified":
                yield name, physics, policy
    go2 = load_robot("go2")
    for number in (1, 2):
        yield f"go2-drawn-{number}", Physics(go2, drawn(number)), "walk"
    yield "hexapod", Physics(load_robot(HEXAPOD), NOISE), "trot"


def drawn(number: int) -> dict[str, Any]:
    """Physics and noise drawn at random, for a robot that no constant of the filter was chosen on."""
    random = np.random.default_rng([number, 8])
    return {
        "delay_s": random.uniform(0, 0.015),
        "dry_friction_nm": random.uniform(0, 1.0),
        "viscous_friction_nms": random.uniform(0, 0.4),
        "armature_kgm2": random.uniform(0.01, 0.04),
        "floor_friction": random.uniform(0.4, 1.2),
        "torque_noise_nm": random.uniform(0, 1.0),
        "encoder_noise_rad": random.uniform(0, 0.003),
        "encoder_bias_rad": tuple(random.normal(0, 0.01, 12)),
        "velocity_noise_rad_s": random.uniform(0.05, 0.15),
        "gyro_noise_rad_s": random.uniform(0.01, 0.03),
        "gravity_noise": random.uniform(0.002, 0.01),
        "observation_delay_s": random.uniform(0, 0.01),
    }


def grounds(seed: int) -> dict[str, Floor]:
    """Steps of some centimetres between cells of 10 cm, and a slope."""
    rough = np.random.default_rng([seed, 6]).uniform(0, ROUGH_M, (241, 241))
    slope = np.tile(np.linspace(0, 24.0, 49) * np.tan(np.radians(SLOPE_DEG)), (49, 1))
    return {
        f"rough {ROUGH_M:g} m": HeightField(rough, 24.0, 24.0),
        f"slope {SLOPE_DEG:g}°": HeightField(slope, 24.0, 24.0),
    }


def noisier(recording: Recording, noise_rad_s: float) -> Recording:
    """The same walk, with joint velocities measured this badly."""
    random = np.random.default_rng(7)
    sensors = [
        dataclasses.replace(
            s, joint_velocity_rad_s=s.joint_velocity_rad_s + random.normal(0, noise_rad_s, s.joint_velocity_rad_s.shape)
        )
        for s in recording.sensors
    ]
    return dataclasses.replace(recording, sensors=sensors)


def cost(robot: Robot, n: int, ticks: int = 25) -> dict[str, float]:
    """Milliseconds of a step of n worlds and of an update, interleaved: medians."""
    worlds, agent, estimator = Worlds(robot, n), make_agent("trot", robot, n), LegOdometry(robot, n)
    command = np.tile([0.2, 0.0, 0.0], (n, 1))
    spent = []
    for _ in range(ticks):
        action = agent.act(worlds.sensors, command)
        begin = time.perf_counter()
        worlds.step(action)
        stepped = time.perf_counter()
        estimator.update(worlds.sensors)
        spent.append((stepped - begin, time.perf_counter() - stepped))
    step, update = (float(1e3 * value) for value in np.median(spent, axis=0))
    return {"robots": n, "step_ms": step, "update_ms": update, "share": update / step}


def line(label: str, figures: dict[str, Any]) -> str:
    return f"  {label:<34}" + " ".join(f"{figures[key]:>7.3f}" for key in (*AXES, "total", "across", "along", "worst"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=32, help="of each kind and seed")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101, 102], help="of commands and noise")
    parser.add_argument("--out", type=Path, default=None, help="where to write; default bench/results/")
    arguments = parser.parse_args()
    walked = (arguments.robots, arguments.seconds)
    print(f"  {'RMS error, m/s':<34}" + " ".join(f"{key:>7}" for key in (*AXES, "total", "across", "along", "worst")))
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    kept: list[Recording] = []
    for name, physics, policy in robots():
        recordings = [record(physics, policy, *walked, seed) for seed in arguments.seeds]
        kept = recordings if (name, policy) == ("go2-identified", "walk") else kept
        row: dict[str, Any] = {
            "robot": name,
            "policy": policy,
            "walks": arguments.robots * len(arguments.seeds),
            "falls": sum(r.falls for r in recordings),
            "ticks": int(sum(r.counted.sum() for r in recordings)),
            "feet_touching": float(np.mean(np.concatenate([r.contact[r.counted] for r in recordings]))),
        }
        print(f"{name}, {policy}: {row['falls']} of {row['walks']} fell")
        for label, estimate in ESTIMATORS.items():
            row[label] = errors([(r, estimate(r)) for r in recordings])
            print(line(label, row[label]), flush=True)
        rows.append(row)

    print("changes to go2-identified, walk")
    physics = load_twin("go2-identified").physics
    trials: dict[str, Callable[[], list[tuple[Recording, Estimates]]]] = {
        "feet without a radius": lambda: [(r, odometry(r, points=True)) for r in kept],
    }
    for label, floor in grounds(arguments.seeds[0]).items():
        trials[label] = lambda floor=floor: [  # type: ignore[misc]
            (r, odometry(r)) for r in (record(physics, "walk", *walked, seed, floor) for seed in arguments.seeds)
        ]
    for noise in NOISY_RAD_S:
        for told in (False, True):
            options = {"velocity_noise_rad_s": noise} if told else {}
            trials[f"velocity noise + {noise:g} rad/s{', told' if told else ''}"] = (
                lambda noise=noise, options=options: [  # type: ignore[misc]
                    (r, odometry(r, **options)) for r in (noisier(r, noise) for r in kept)
                ]
            )
    for label, trial in trials.items():
        changes.append({"change": label, "odometry": errors(trial())})
        print(line(label, changes[-1]["odometry"]), flush=True)

    costs: list[dict[str, Any]] = []
    for robot in (physics.robot, load_robot(HEXAPOD)):
        for n in (1, 1024):
            costs.append({"robot": robot.name, **cost(robot, n)})
            print(
                "{robot} × {robots}: step {step_ms:.2f} ms, update {update_ms:.2f} ms, {share:.1%}".format(**costs[-1])
            )
    content = {"seeds": arguments.seeds, "seconds": arguments.seconds, "rows": rows, "changes": changes, "cost": costs}
    write_results("odometry.json", content, arguments.out)


if __name__ == "__main__":
    main()
