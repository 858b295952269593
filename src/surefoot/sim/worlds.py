"""Many simulations of one robot, each with its own parameters, stepped one control period at a time.

  worlds = Worlds(robot, 1024, seed=0)
  worlds.set("armature_kgm2", {"*_calf_joint": 0.037})
  worlds.set("delay_s", np.linspace(0, 0.02, 1024)[:, None])
  worlds.reset()
  for _ in range(200):
      worlds.step(agent.act(worlds.sensors, command))

All physics steps of a control period are one native call, unless something in Python is needed between them
(a residual torque, backlash); then it is one native call per physics step, vectorized over the worlds.

A world that becomes unstable is stopped and named in `failures`; it keeps its last good sensor readings until
it is reset, and the others go on. Results are bit-identical at any number of threads. Randomness comes from
`seed` alone; with `noise_period=p`, world i draws the same noise as world i % p, so that candidates can be
compared on common random numbers.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import ArrayLike

from surefoot.cores import usable_cores
from surefoot.errors import WorldsError
from surefoot.files import is_number
from surefoot.robot.legs import usual_pose
from surefoot.robot.load import Robot
from surefoot.robot.model import silence_engine_log
from surefoot.robot.sensors import Sensors
from surefoot.robot.targets import clip_actions, tracking_error
from surefoot.sim.actuation import Motors
from surefoot.sim.arrays import assign, given, merge
from surefoot.sim.fields import Fields
from surefoot.sim.floor import Flat, Floor
from surefoot.sim.parameters import TORQUE_SPEED, parameter
from surefoot.sim.residual import ACTION_TERMS, TERMS, TORQUE_TERMS, ActionDelta, Residual, terms
from surefoot.sim.scene import build_scene
from surefoot.sim.sensing import Draw, Senses
from surefoot.sim.settling import Settling
from surefoot.sim.truth import Truth
from surefoot.sim.values import Values, names_of, nominal
from surefoot.streams import Stream
from surefoot.watchdog import WatchedCalls

AddedAction = Callable[[Sensors, np.ndarray], np.ndarray]

BAD = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)
MOST_THREADS = 1024  # a slip of the hand must not bring the machine down
UNSTABLE = "the simulation became unstable (a force, a gain or a mass is out of proportion to the time step)"
WARNINGS = tuple(name.removeprefix("mjWARN_") for name in mujoco.mjtWarning.__members__ if name != "mjNWARNING")
MORE_MEMORY = ' (give the model more with <size memory="10M"/>)'
KEPT_FAILURES = 10_000
HANG_M = 10.0  # above standing height: out of reach of any leg
TOO_FAST = 1e4  # rad/s or m/s: finite, but no robot
LONGEST_STEP_S = 0.01  # of one world, added to the watchdog's limit; a robot with a hundred contacts takes 0.001
CTRL, QFRC = int(mujoco.mjtState.mjSTATE_CTRL), int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
NO_STAGE = int(mujoco.mjtStage.mjSTAGE_NONE)


@dataclass(frozen=True)
class Failure:
    """A world that was stopped, when and why."""

    world: int
    time_s: float
    reason: str


class Worlds(Truth):
    """n simulations of one robot. Arrays are (n, ...) with joints in policy order."""

    def __init__(
        self,
        robot: Robot,
        n: int,
        *,
        threads: int = 0,
        seed: int = 0,
        physics_hz: float | None = None,
        floor: Floor | None = None,
        torque_speed: bool = False,
        feet: bool = False,
        hang: bool = False,
        noise_period: int | None = None,
    ):
        """`threads` 0 takes all cores that the process may use; `torque_speed` builds motors whose torque can fall with
        speed; `feet` senses the feet.

        With `hang` the base is held fixed where a reset puts it, high above the floor unless a place is given.
        """
        for what, count in (("the number of worlds", n), ("threads", threads), ("the seed", seed)):
            if not isinstance(count, (int, np.integer)) or isinstance(count, bool):
                raise WorldsError(f"{what} is {count!r}; it must be a whole number")
        if physics_hz is not None and not (is_number(physics_hz) and physics_hz > 0):
            raise WorldsError(f"physics_hz is {physics_hz!r}; it must be a finite number above 0")
        if n < 1:
            raise WorldsError(f"{n} worlds were asked for; at least 1 is needed")
        if not 0 <= threads <= MOST_THREADS:
            raise WorldsError(
                f"{threads} threads were asked for; give 0 for all cores, or a number up to {MOST_THREADS}"
            )
        if seed < 0:
            raise WorldsError(f"the seed is {seed}; it must be a whole number from 0 on")
        if noise_period is not None and not 1 <= noise_period <= n:
            raise WorldsError(f"noise_period is {noise_period}; it must be between 1 and the {n} worlds")
        silence_engine_log()
        feet = feet or robot.contract.observes("foot_contact")
        self.robot = robot
        self.n = n
        self.scene = build_scene(robot, floor or Flat(), physics_hz, torque_speed, feet, hang)
        self._height_m = robot.base_height_m + (HANG_M if hang else 0.0)
        self.model = self.scene.model
        self.physics_dt_s = float(self.model.opt.timestep)
        self.control_dt_s = robot.contract.control_dt_s
        self._residual: Residual | None = None
        self._usual_pose: np.ndarray | None = None  # that the terms count positions from
        self._terms: Residual | None = None  # what the parameters add in torque
        self._delta_terms: ActionDelta | None = None  # and to the action
        self.action_delta: AddedAction | None = None  # (sensors, action) -> added to the action
        self.alive = np.ones(n, dtype=bool)
        self.failures: list[Failure] = []  # the latest of them; `n_failures` counts all
        self.n_failures = 0
        self._batch = Batch(self.model, n, threads or usable_cores())
        # One native call moves all worlds, a hundred thousand of them if you like: each step of each has its time. Its
        # memory was taken when the batch was made, but the system counts it only once the worlds write to it.
        allowed_s = LONGEST_STEP_S * n * self.scene.substeps
        self._watched = WatchedCalls(f"a step of the simulation of {robot.name}", allowed_s, any_memory=True)
        self._fields = Fields(self._batch, robot, self.scene)
        self._values = Values(robot, self.scene, n)
        super().__init__(self._batch, feet)
        self._ctrl = self._batch.bind("ctrl")
        self._qfrc, self._xfrc = self._batch.bind("qfrc_applied"), self._batch.bind("xfrc_applied")
        self._stale_constants = np.zeros(n, dtype=bool)
        self._raised = np.zeros(n, dtype=bool)  # MuJoCo raised an error in this control period
        self._half_torque_speed: list[int] = []  # worlds with a part of a limit that has no effect without the rest
        self._push_left_s = np.zeros(n)
        self._period = noise_period or n
        self._torque_rng, self._sensor_rng, self._reset_rng = (
            np.random.default_rng([seed, stream]) for stream in (Stream.TORQUE_NOISE, Stream.SENSOR_NOISE, Stream.RESET)
        )
        self._ground = (floor or Flat()).around(
            self.scene.reach_m
        )  # at each place, the highest floor that a foot may meet
        self._settling = Settling(robot, self.model)
        self._motors = Motors(self._values, self._fields, robot, self.scene, n)
        self._senses = Senses(self._values, robot, self.scene, n, self._draw_sensor)
        self._sensors: Sensors = self._measure()
        self.reset()

    # Parameters

    def set(self, name: str, value: Any, ids: ArrayLike | None = None) -> None:
        """Set a parameter of all worlds, or of the worlds `ids`; see PARAMETERS for names and units."""
        parameter(name)
        rows = self._rows(ids)
        if name in TORQUE_SPEED and not self.scene.torque_speed:
            raise WorldsError(
                f"{name} needs motors whose torque falls with speed; make the worlds with torque_speed=True"
            )
        if self._fields.write(name, self._values.set(name, value, rows)):
            self._stale_constants[rows] = True
        self._motors.changed(name, rows)
        self._senses.changed(name, self._reading())
        if name in TERMS:
            named = {term: self._values[term] for term in TERMS if self._values.has(term)}
            self._usual_pose = usual_pose(self.robot) if self._usual_pose is None else self._usual_pose
            self._terms, delta = (terms(named, names, self._usual_pose) for names in (TORQUE_TERMS, ACTION_TERMS))
            self._delta_terms = None if delta is None else ActionDelta(delta, self.robot.contract)
        if name == "torque_noise_nm" or name in TERMS:
            self._qfrc[:] = 0.0
        if name in TORQUE_SPEED:
            stall, no_load = (np.isfinite(self._values[half]) for half in ("stall_torque_nm", "no_load_speed_rad_s"))
            battery = (self._values["battery_level"] != 1.0) | (self._values["battery_sag_per_kw"] > 0.0)
            self._half_torque_speed = np.flatnonzero(
                (stall != no_load).any(axis=1) | (battery & ~stall.any(axis=1))
            ).tolist()

    def get(self, name: str) -> np.ndarray:
        """The values of a parameter in all worlds, (n, n_entries) or (n,); a read-only copy, set() changes them."""
        values = self._values[name].copy()
        values.flags.writeable = False
        return values

    @property
    def residual(self) -> Residual | None:
        """Torque added at each physics step: (error, position, velocity), each (n, n_joints) -> N·m."""
        return self._residual

    @residual.setter
    def residual(self, function: Residual | None) -> None:
        self._residual = function
        self._qfrc[:] = 0.0

    def nominal(self, name: str) -> np.ndarray:
        """The robot's own value of a parameter, (n_entries,) or ()."""
        parameter(name)
        return nominal(name, self.robot, self.scene)

    def names(self, name: str) -> tuple[str, ...]:
        """What the entries of a parameter are called: joints, bodies or axes."""
        return names_of(name, self.robot, self.scene)

    # Running

    def reset(
        self,
        ids: ArrayLike | None = None,
        *,
        joint_position_rad: ArrayLike | None = None,
        joint_velocity_rad_s: ArrayLike | None = None,
        base_position_m: ArrayLike | None = None,
        base_quaternion: ArrayLike | None = None,
        base_velocity: ArrayLike | None = None,
        last_action: ArrayLike | None = None,
    ) -> None:
        """Put all worlds, or the worlds `ids`, at rest in the default pose, standing on the floor.

        What is given replaces that, each (len(ids), ...) in the order of `ids`: the base's velocity is linear in the
        world frame, then angular in the base frame. The height in `base_position_m` counts from the floor at that
        place, its highest point under the feet. Delays are filled as if the robot had been there for ever, with
        `last_action` on its way to the motors (none: zero, the default pose).
        """
        rows = self._rows(ids)
        nj = self.robot.contract.n_joints
        place = given("base_position_m", base_position_m, (len(rows), 3), (0.0, 0.0, self._height_m))
        turn = given("base_quaternion", base_quaternion, (len(rows), 4), (1.0, 0.0, 0.0, 0.0))
        size = np.linalg.norm(turn, axis=1, keepdims=True)
        if not (size > 1e-6).all():
            raise WorldsError(
                "base_quaternion has a row of zeros; a quaternion is (w, x, y, z), (1, 0, 0, 0) when upright"
            )
        self._restart(
            rows,
            given("joint_position_rad", joint_position_rad, (len(rows), nj), self.robot.contract.pose_rad),
            given("joint_velocity_rad_s", joint_velocity_rad_s, (len(rows), nj), 0.0),
            self._on_ground(place, turn / size),
            given("base_velocity", base_velocity, (len(rows), 6), 0.0),
            given("last_action", last_action, (len(rows), nj), 0.0),
        )
        self._sensors = merge(self._sensors, self._measure(self._draw_reset), rows)

    def step(self, action: np.ndarray) -> None:
        """Apply the policy's actions, (n, n_joints), for one control period."""
        action = np.asarray(action, dtype=float)
        shape = (self.n, self.robot.contract.n_joints)
        if action.shape != shape:
            raise WorldsError(f"the action has the shape {action.shape}; it must be {shape}: worlds, joints")
        if self._half_torque_speed:
            raise WorldsError(
                "stall_torque_nm and no_load_speed_rad_s limit torque together, and the battery through them; set both"
                f" for the same joints of world {self._half_torque_speed[0]}"
            )
        self._refresh_constants()
        finite = np.isfinite(action).all(axis=1)
        if not finite.all():
            self._fail(np.flatnonzero(self.alive & ~finite), "the action is not finite")
            action = np.where(finite[:, None], action, 0.0)
        action = clip_actions(self.robot.contract, action)
        added = [delta(self._sensors, action) for delta in (self._delta_terms, self.action_delta) if delta is not None]
        action = np.sum([action, *added], axis=0) if added else action
        self._motors.command(action)
        self._motors.advance(self._torque(), self._qvel[:, self.scene.joint_dof])
        ids = None if self.alive.all() else np.flatnonzero(self.alive).astype(np.int32)
        before_s, warned = self._time.copy(), self._batch.warning[:, :, 1].copy()
        self._raised[:] = False
        if self.residual is not None or self._terms is not None or self._values.has("backlash_rad"):
            self._step_in_python(ids)
        else:
            self._step_native(ids)
        self._advance_pushes()
        self._senses.advance(self._reading)
        self._fresh[self.alive] = False
        self._stop_unstable(before_s, warned)
        self._sensors = merge(self._sensors, self._measure(), np.flatnonzero(self.alive))

    def push(self, force_n: ArrayLike, duration_s: ArrayLike, ids: ArrayLike | None = None) -> None:
        """Push the base with a world-frame force, (len(ids), 3) or (3,), from now on for a time (whole
        control periods).
        """
        rows = self._rows(ids)
        lasting = given("duration_s", duration_s, (len(rows),))
        if not (lasting > 0).all():
            raise WorldsError(f"duration_s of a push is {lasting.min():g}; it must be above 0 s")
        self._xfrc[rows, self.scene.base_body, :3] = given("force_n", force_n, (len(rows), 3))
        self._push_left_s[rows] = lasting

    def kick(self, velocity: ArrayLike, ids: ArrayLike | None = None) -> None:
        """Change the base's velocity at once, (len(ids), 6) or (6,): m/s in the world frame, rad/s in the
        base frame.
        """
        rows = self._rows(ids)
        self._qvel[rows, self.scene.base_dof] += given("velocity", velocity, (len(rows), 6))

    # Reading

    @property
    def sensors(self) -> Sensors:
        """What the robots' sensors say at this control tick."""
        return self._sensors

    def model_of(self, world: int) -> mujoco.MjModel:
        """One world's own model, for any MuJoCo function; shapes that are only seen are not in it
        (`robot.spec()` has them).
        """
        self._refresh_constants()
        return self._batch.get_model(world)

    def data_of(self, world: int) -> mujoco.MjData:
        """One world's state; call mj_forward for derived quantities."""
        return self._batch.get_data(world)

    # Inside

    def _rows(self, ids: ArrayLike | None) -> np.ndarray:
        if ids is None:
            return np.arange(self.n, dtype=np.int32)
        rows = np.asarray(ids)
        if rows.dtype == bool:
            if rows.shape != (self.n,):
                raise WorldsError(f"ids is a mask of the shape {rows.shape}; it must be ({self.n},)")
            return np.flatnonzero(rows).astype(np.int32)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise WorldsError(f"ids must be a list of worlds, whole numbers from 0 to {self.n - 1}, or a mask")
        if rows.size and (rows.min() < 0 or rows.max() >= self.n):
            raise WorldsError(
                f"world {rows.max() if rows.max() >= self.n else rows.min()} does not exist; there are {self.n}, from 0"
            )
        if len(np.unique(rows)) != len(rows):
            raise WorldsError("ids names a world twice")
        return rows.astype(np.int32)

    def _on_ground(self, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Positions whose height counts from the floor, (n, 3), and quaternions as the base's part of qpos, (n, 7)."""
        height = place[:, 2] + self._ground.height_at(place[:, 0], place[:, 1])
        return np.column_stack([place[:, :2], height, turn])

    def _restart(
        self,
        rows: np.ndarray,
        joints: np.ndarray,
        joint_velocity: np.ndarray,
        base: np.ndarray,
        velocity: np.ndarray,
        action: np.ndarray,
    ) -> None:
        """Put worlds into a state, with nothing but that on its way to motors or sensors; their sensors are
        not read.
        """
        self._refresh_constants()
        ordered = None if len(rows) == self.n else np.sort(rows)
        self._batch.reset(ordered, stage=NO_STAGE)
        self._qpos[rows, self.scene.base_qpos] = base
        assign(self._qpos, rows, self.scene.joint_qpos, joints)
        assign(self._qvel, rows, self.scene.joint_dof, joint_velocity)
        self._qvel[rows, self.scene.base_dof] = velocity
        self._settling.put(self._qpos, self._qvel, rows, joints, joint_velocity)
        self._ctrl[rows] = self._motors.reset(rows, joints, action)
        self._push_left_s[rows] = 0.0
        self.alive[rows] = True
        self._senses.reset(rows, self._reading())
        self._fresh[rows] = True
        if self._sensordata is not None:
            with contextlib.suppress(SimulationError):  # the next step meets the same error, and names the world
                self._native(lambda: self._batch.forward(ordered))

    def _step_native(self, ids: np.ndarray | None) -> None:
        """All physics steps of the period in one call."""
        line, past, steps = self._motors.line, self._senses.past, self.scene.substeps
        noisy = self._values.has("torque_noise_nm")
        if not noisy and not line.delayed and past is None:
            self._ctrl[:] = line.latest
            self._guarded(lambda: self._batch.step(ids, nstep=steps))
            return
        targets = line.sequence()
        spec, control = CTRL, targets
        if noisy:
            spec, nu = CTRL | QFRC, targets.shape[2]
            control = np.zeros((self.n, steps, nu + self.model.nv))
            control[:, :, :nu] = targets
            control[:, :, nu:][:, :, self.scene.joint_dof] = self._draw_torque()
        n = self.n if ids is None else len(ids)
        # Given buffers, so that the readings of the others are there when MuJoCo raises in one world.
        out = (
            {}
            if past is None
            else {"qpos": np.zeros((n, steps, self.model.nq)), "qvel": np.zeros((n, steps, self.model.nv))}
        )
        self._guarded(
            lambda: self._batch.rollout(
                steps, control if ids is None else control[ids], spec, record=tuple(out), ids=ids, out=out
            )
        )
        if past is not None:
            past.push(self._senses.reading(out["qpos"], out["qvel"]), slice(None) if ids is None else ids)

    def _step_in_python(self, ids: np.ndarray | None) -> None:
        """One call per physics step, with residual torque and backlash between them."""
        targets = self._motors.line.sequence()
        noise = self._draw_torque() if self._values.has("torque_noise_nm") else None
        backlash = self._values.has("backlash_rad")
        for k in range(self.scene.substeps):
            target, position = targets[:, k], self._qpos[:, self.scene.joint_qpos]
            self._ctrl[:] = target
            if backlash:
                lead, damping = self._motors.take_up(position, self._qvel[:, self.scene.joint_dof])
                target = target + lead
                self._ctrl[:] = target + damping
            torque = None if noise is None else noise[:, k]
            for residual in (self._terms, self.residual):
                if residual is not None:
                    velocity = self._qvel[:, self.scene.joint_dof]
                    error = tracking_error(self.robot.contract, target, position, velocity)
                    added = residual(error, position, velocity)
                    torque = added if torque is None else torque + added
            if torque is not None:
                self._qfrc[:, self.scene.joint_dof] = torque
            if self._guarded(lambda: self._batch.step(ids)):  # noqa: B023 - called at once
                ids = np.flatnonzero(self.alive & ~self._raised).astype(np.int32)
            if self._senses.past is not None:
                self._senses.past.push(self._reading()[:, None])

    def _measure(self, draw_from: Draw | None = None) -> Sensors:
        contact = self.foot_contact if self.robot.contract.observes("foot_contact") else None
        return self._senses.measure(self._time, self._reading(), draw_from, contact)

    def _reading(self) -> np.ndarray:
        reading = self._senses.reading(self._qpos, self._qvel)
        if self._values.has("backlash_rad"):
            nj = self.robot.contract.n_joints
            reading[:, :nj], reading[:, nj : 2 * nj] = self._motors.encoder(reading[:, :nj], reading[:, nj : 2 * nj])
        return reading

    def _guarded(self, call: Callable[[], object]) -> bool:
        """Run a native call; worlds in which MuJoCo raised are marked, the others have run. Whether any raised."""
        try:
            self._native(call)
        except SimulationError as failed:
            self._raised[failed.ids] = True
            return True
        return False

    def _native(self, call: Callable[[], object]) -> None:
        """Run a native call, which Python cannot interrupt, under the watchdog."""
        self._watched.begin()
        try:
            call()
        finally:
            self._watched.end()

    def _draw_torque(self) -> np.ndarray:
        noise = self._values["torque_noise_nm"]
        draw = self._torque_rng.standard_normal((self._period, self.scene.substeps, noise.shape[1]), dtype=np.float32)
        return self._share(draw) * noise[:, None, :]

    def _draw_sensor(self, width: int) -> np.ndarray:
        return self._share(self._sensor_rng.standard_normal((self._period, width)))

    def _draw_reset(self, width: int) -> np.ndarray:
        """Noise of readings after a reset, from a stream of its own: the other worlds' noise does not depend on it."""
        return self._share(self._reset_rng.standard_normal((self._period, width)))

    def _share(self, draw: np.ndarray) -> np.ndarray:
        """Give world i the draw of world i % period."""
        return draw if self._period == self.n else draw[np.arange(self.n) % self._period]

    def _refresh_constants(self) -> None:
        if self._stale_constants.any():
            self._batch.set_const(np.flatnonzero(self._stale_constants).astype(np.int32))
            self._stale_constants[:] = False

    def _advance_pushes(self) -> None:
        if self._push_left_s.any():
            self._push_left_s = np.maximum(self._push_left_s - self.control_dt_s, 0.0)
            over = self._push_left_s < 0.5 * self.physics_dt_s
            self._xfrc[over, self.scene.base_body, :3] = 0.0
            self._push_left_s[over] = 0.0

    def _stop_unstable(self, before_s: np.ndarray, warned: np.ndarray) -> None:
        """Stop the worlds that blew up, in which MuJoCo raised or warned, or which it stopped before the
        end of the period.

        A warning stops a rollout and not a step; a world that lacks contacts is wrong either way.
        """
        rose = self._batch.warning[:, :, 1] > warned
        stalled = self._time < before_s + self.control_dt_s - 0.5 * self.physics_dt_s
        blown = rose[:, BAD].any(axis=1) | ~(np.abs(self._qvel).max(axis=1) < TOO_FAST)
        reasons: dict[str, list[int]] = {}
        for world in np.flatnonzero(self.alive & (blown | stalled | rose.any(axis=1) | self._raised)):
            if self._raised[world]:
                reason = f"MuJoCo raised: {' '.join(self._batch.error(int(world)).split()) or 'an error'}"
            elif blown[world]:
                reason = UNSTABLE
            else:
                warning = ", ".join(WARNINGS[k] for k in np.flatnonzero(rose[world])) or "unknown"
                reason = f"MuJoCo stopped it with the warning {warning}{MORE_MEMORY if 'FULL' in warning else ''}"
            reasons.setdefault(reason, []).append(int(world))
        for reason, worlds in reasons.items():
            self._fail(np.array(worlds), reason)

    def _fail(self, rows: np.ndarray, reason: str) -> None:
        """Stop worlds: their state goes back to the start, their last sensor readings stay."""
        if not len(rows):
            return
        self.n_failures += len(rows)
        self.failures += [Failure(int(world), float(self._sensors.time_s[world]), reason) for world in rows]
        del self.failures[:-KEPT_FAILURES]
        start = self._on_ground(np.array([[0.0, 0.0, self._height_m]]), np.array([[1.0, 0.0, 0.0, 0.0]]))
        joints = np.tile(self.robot.contract.pose_rad, (len(rows), 1))
        self._restart(rows, joints, np.zeros_like(joints), start, np.zeros((len(rows), 6)), np.zeros_like(joints))
        self.alive[rows] = False
