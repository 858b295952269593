"""How much of MuJoCo's own speed is left: `Worlds` with a policy in the loop beside a bare `mujoco.batch` loop.

  python bench/throughput.py            # 256, 1,024 and 4,096 worlds, 1 and 2 threads, a few minutes
  python bench/throughput.py --memory   # memory against worlds, and over 10,000 control steps

Both loops do the same physics: the same worlds, from the same states, under the same joint targets. The bare loop
stands twice: without any delay, the fastest there is and the one that ratios refer to, and with MuJoCo's own delay
buffers. All figures of a row come from interleaved pieces of one run, so that a neighbour's load hits them alike;
the ratio is the median over the pieces. Writes bench/results/throughput.json (throughput_memory.json).
"""

import argparse
import gc
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from results import write_results

from surefoot.policy import OnnxPolicy, PolicyAgent
from surefoot.policy.export_mlp import write_mlp
from surefoot.robot import Robot, load_robot
from surefoot.sim import Worlds
from surefoot.sim.floor import Flat, add_floor
from surefoot.sim.network import random_net

DELAY_S = 0.005
COMMAND = np.array([0.5, 0.0, 0.0])
TICKS = 5  # control periods in one piece


def random_policy(robot: Robot, folder: Path) -> Path:
    """A [128, 128, 128] policy that moves the legs a little: weights random, output damped."""
    contract = robot.contract
    rng = np.random.default_rng(0)
    sizes = (contract.observation_size, 128, 128, 128, contract.n_joints)
    layers = [
        (rng.normal(0, (1.4 / a) ** 0.5, (a, b)).astype(np.float32), np.zeros(b, np.float32))
        for a, b in pairwise(sizes)
    ]
    layers[-1] = (layers[-1][0] * 0.3, layers[-1][1])
    path = folder / "random.onnx"
    write_mlp(path, contract, layers)
    return path


class Full:
    """Worlds with PD, delay, observation and policy, as every user runs it."""

    def __init__(self, robot: Robot, policy: OnnxPolicy, n: int, threads: int, residual: bool):
        self.worlds = Worlds(robot, n, threads=threads)
        self.worlds.set("delay_s", DELAY_S)
        if residual:
            self.worlds.residual = random_net(robot.contract.n_joints, 0.05 * np.array(robot.contract.torque_limit_nm))
        self.agent = PolicyAgent(policy, robot, n)
        self.command = np.tile(COMMAND, (n, 1))
        self.worlds.reset()

    def tick(self) -> None:
        """One control period with the policy in the loop."""
        self.worlds.step(self.agent.act(self.worlds.sensors, self.command))


class Bare:
    """The same physics in a bare batch, all steps of a control period in one call; nothing is observed."""

    def __init__(self, full: Full, n: int, threads: int, delay: bool):
        spec = full.worlds.robot.spec()
        contract = full.worlds.robot.contract
        spec.option.timestep = full.worlds.physics_dt_s
        add_floor(spec, Flat())
        for i, joint in enumerate(contract.joints):
            motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_position(kp=contract.kp_nm_per_rad[i], kv=contract.kd_nms_per_rad[i])
            motor.forcelimited, motor.forcerange = True, [-contract.torque_limit_nm[i], contract.torque_limit_nm[i]]
            if delay:
                motor.nsample, motor.delay, motor.interp = 4, DELAY_S, 1
        self.model = spec.compile()
        self.batch = Batch(self.model, n, threads)
        self.batch.reset()
        self.substeps = full.worlds.scene.substeps
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))

    def follow(self, full: Full) -> None:
        """Start from the other loop's state, so that both do the same contacts."""
        self.qpos[:], self.qvel[:] = full.worlds._qpos, full.worlds._qvel
        self.batch.bind("qacc_warmstart")[:] = full.worlds._batch.bind("qacc_warmstart")

    def tick(self, target: np.ndarray) -> None:
        """One control period under given targets."""
        self.ctrl[:] = target
        self.batch.step(nstep=self.substeps)


def python_loop(full: Full, n: int) -> float:
    """Control steps per second of a plain loop over MjData, one thread, physics only."""
    model, worlds = full.worlds.model, full.worlds
    datas = [worlds.data_of(i) for i in range(n)]
    start = time.perf_counter()
    for _ in range(TICKS):
        for data in datas:
            for _ in range(worlds.scene.substeps):
                mujoco.mj_step(model, data)
    return n * TICKS / (time.perf_counter() - start)


def measure(robot: Robot, policy: OnnxPolicy, n: int, threads: int, residual: bool, seconds: float) -> dict[str, Any]:
    """Interleaved pieces of both loops until the time is used up."""
    full = Full(robot, policy, n, threads, residual)
    bare, delayed = Bare(full, n, threads, delay=False), Bare(full, n, threads, delay=True)
    for _ in range(25):  # let the robots land and move
        full.tick()
    ratios, spent = [], {"full": 0.0, "bare": 0.0, "delayed": 0.0}
    pieces, begin = 0, time.perf_counter()
    while pieces < 5 or time.perf_counter() - begin < seconds:
        bare.follow(full)
        delayed.follow(full)
        t0 = time.perf_counter()
        targets = []
        for _ in range(TICKS):
            full.tick()
            targets.append(full.worlds._motors.line.latest.copy())
        t1 = time.perf_counter()
        for target in targets:
            bare.tick(target)
        t2 = time.perf_counter()
        for target in targets:
            delayed.tick(target)
        spent["delayed"] += time.perf_counter() - t2
        ratios.append((t2 - t1) / (t1 - t0))
        spent["full"] += t1 - t0
        spent["bare"] += t2 - t1
        pieces += 1
    ticks = pieces * TICKS * n
    row = {
        "worlds": n,
        "threads": threads,
        "residual": residual,
        "pieces": pieces,
        "ratio_median": float(np.median(ratios)),
        "ratio_of_totals": spent["bare"] / spent["full"],
        "ratio_quartiles": [float(q) for q in np.quantile(ratios, [0.25, 0.75])],
        "control_steps_per_s": ticks / spent["full"],
        "physics_steps_per_s": ticks * full.worlds.scene.substeps / spent["full"],
        "bare_physics_steps_per_s": ticks * full.worlds.scene.substeps / spent["bare"],
        "bare_with_mujoco_delay_physics_steps_per_s": ticks * full.worlds.scene.substeps / spent["delayed"],
        "stopped_worlds": int((~full.worlds.alive).sum()),
    }
    if threads == 1 and not residual and n <= 1024:
        row["python_loop_physics_steps_per_s"] = python_loop(full, min(n, 256)) * full.worlds.scene.substeps
    return row


def resident_mb() -> float:
    with open(f"/proc/{os.getpid()}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def grown_mb(name: str, n: int, threads: int) -> float:
    """Memory that n worlds with a policy add; meant for a process of its own, so that nothing is reused."""
    robot = load_robot(name)
    with tempfile.TemporaryDirectory() as folder:
        policy = OnnxPolicy.load(random_policy(robot, Path(folder)))
    Full(robot, policy, 1, threads, residual=False).tick()
    gc.collect()
    before = resident_mb()
    full = Full(robot, policy, n, threads, residual=False)
    for _ in range(3):
        full.tick()
    return resident_mb() - before


def memory(robot: Robot, policy: OnnxPolicy, threads: int, name: str) -> dict[str, Any]:
    """Memory per world, and whether it grows over 10,000 control steps."""
    grown = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for n in (1024, 2048, 4096, 8192):
            mb = pool.submit(grown_mb, name, n, threads).result()
            grown.append({"worlds": n, "mb": mb, "kb_per_world": mb * 1000 / n})
    full = Full(robot, policy, 64, threads, residual=False)
    over_time = []
    for step in range(10_001):
        full.tick()
        if step % 2000 == 0:
            over_time.append({"control_step": step, "resident_mb": resident_mb()})
    return {"by_worlds": grown, "over_time_64_worlds": over_time}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10.0, help="per figure")
    parser.add_argument("--robot", default="go2")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--out", type=Path, default=None, help="where to write; default bench/results/")
    arguments = parser.parse_args()
    robot = load_robot(arguments.robot)
    with tempfile.TemporaryDirectory() as folder:
        policy = OnnxPolicy.load(random_policy(robot, Path(folder)))
        if arguments.memory:
            content: dict[str, Any] = memory(robot, policy, max(arguments.threads), arguments.robot)
            write_results("throughput_memory.json", content, arguments.out)
            for row in [*content["by_worlds"], *content["over_time_64_worlds"]]:
                print(row)
            return
        rows = []
        print(
            f"{'worlds':>7} {'threads':>7} {'residual':>8} {'control/s':>10} {'physics/s':>10} {'bare/s':>10}"
            f" {'delayed/s':>10} {'of bare':>8} {'MjData loop/s':>14}"
        )
        for n in arguments.worlds:
            for threads in arguments.threads:
                for residual in (False, True):
                    row = measure(robot, policy, n, threads, residual, arguments.seconds)
                    rows.append(row)
                    loop = row.get("python_loop_physics_steps_per_s")
                    print(
                        f"{n:>7} {threads:>7} {residual!s:>8} {row['control_steps_per_s']:>10,.0f}"
                        f" {row['physics_steps_per_s']:>10,.0f} {row['bare_physics_steps_per_s']:>10,.0f}"
                        f" {row['bare_with_mujoco_delay_physics_steps_per_s']:>10,.0f} {row['ratio_median']:>8.2f}"
                        f" {f'{loop:,.0f}' if loop else '':>14}",
                        flush=True,
                    )
        write_results("throughput.json", {"rows": rows, "load_average": os.getloadavg()}, arguments.out)


if __name__ == "__main__":
    main()
