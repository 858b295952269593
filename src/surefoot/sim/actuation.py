"""The actuation chain between a policy's action and the motors' torque, for a batch of worlds.

    action -> delta -> scale, offset -> delay -> PD with torque limit -> residual torque -> torque noise

PD, torque limit and torque-speed limit run inside MuJoCo. Delay is computed here, once per control period,
as the sequence of targets that the motors see at each physics step: it is exact for any delay (MuJoCo's own
buffers act as one whole time step for every delay below it, and are filled with zeros at reset), it needs
nothing between the physics steps, and a residual torque can see the delayed target. For a delay of at least
one time step it equals MuJoCo's buffer with linear interpolation.
"""

import numpy as np

from surefoot.robot.contract import POSITION
from surefoot.robot.load import Robot
from surefoot.robot.targets import is_kind, zero_targets
from surefoot.sim.delay import split
from surefoot.sim.fields import Fields
from surefoot.sim.parameters import TORQUE_SPEED
from surefoot.sim.scene import Scene
from surefoot.sim.values import Values

MOTOR = frozenset(
    {
        "kp_nm_per_rad",
        "kd_nms_per_rad",
        "torque_limit_nm",
        "motor_strength",
        "start_temperature_c",
        "derate_start_c",
        "derate_per_c",
    }
)
HEAT = ("start_temperature_c", "ambient_temperature_c", "thermal_rise_c_per_nm2", "thermal_time_s")
HEAT_LOSS_CAP = 0.9  # derating never takes more than this share of the torque


class CommandLine:
    """The joint targets on their way to the motors: a short memory of past targets and a delay per joint."""

    def __init__(self, n: int, n_joints: int, substeps: int, dt_s: float):
        self._substeps = substeps
        self._dt_s = dt_s
        self._targets = np.zeros((1, n, n_joints))  # (memory, n, n_joints), newest first
        self._whole: np.ndarray | None = None
        self._fraction: np.ndarray | None = None

    @property
    def delayed(self) -> bool:
        """Whether any world has a delay."""
        return self._whole is not None

    @property
    def latest(self) -> np.ndarray:
        """The newest targets, (n, n_joints)."""
        return self._targets[0]

    def set_delay(self, delay_s: np.ndarray) -> None:
        """Delay of each joint of each world, (n, n_joints)."""
        if not delay_s.any():
            self._whole = self._fraction = None
            self._resize(1)
            return
        if (delay_s == delay_s[:, :1]).all():
            delay_s = delay_s[:, :1]  # one delay per world: whole rows are then copied, not single entries
        self._whole, self._fraction = split(delay_s, self._dt_s)
        # The target needed longest ago lies floor(steps) + 1 physics steps before the first of this period.
        self._resize(1 + -(-(int(self._whole.max()) + 1) // self._substeps))

    def fill(self, ids: np.ndarray | slice, target: np.ndarray) -> None:
        """After a reset: as if `target`, (len(ids), n_joints), had been commanded for ever."""
        self._targets[:, ids] = target

    def push(self, target: np.ndarray) -> None:
        """A new target from the policy, (n, n_joints)."""
        if len(self._targets) > 1:
            self._targets[1:] = self._targets[:-1].copy()
        self._targets[0] = target

    def sequence(self) -> np.ndarray:
        """What the motors see in each physics step of this control period, (n, substeps, n_joints).

        A command that arrives within a physics step acts in proportion to the rest of that step: with a delay
        of i + f steps, step k sees (1 - f) c[k - i] + f c[k - i - 1], where c is the undelayed sequence.
        """
        if self._whole is None or self._fraction is None:
            return np.repeat(self.latest[:, None], self._substeps, axis=1)
        step = np.arange(self._substeps)[None, :, None] - self._whole[:, None, :]
        newer = self._at(step)
        if not self._fraction.any():
            return newer
        return newer + self._fraction[:, None, :] * (self._at(step - 1) - newer)

    def _at(self, step: np.ndarray) -> np.ndarray:
        """The undelayed sequence at physics steps counted from the start of this period, (n, substeps, n_joints)."""
        period = -(step // self._substeps)  # 0: this control period, 1: the one before
        world = np.arange(step.shape[0])[:, None, None]
        if step.shape[2] == 1:
            return self._targets[period[:, :, 0], world[:, :, 0]]
        return self._targets[period, world, np.arange(step.shape[2])]

    def _resize(self, memory: int) -> None:
        kept = self._targets[:memory]
        filler = np.repeat(self._targets[-1:], max(memory - len(kept), 0), axis=0)
        self._targets = np.concatenate([kept, filler]).copy()


class Heat:
    """Winding temperature of each joint, and the share of torque that it leaves."""

    def __init__(self, n: int, n_joints: int):
        self.temperature_c = np.full((n, n_joints), 25.0)

    def advance(
        self, torque_nm: np.ndarray, dt_s: float, ambient_c: np.ndarray, rise: np.ndarray, time_s: np.ndarray
    ) -> None:
        """First-order heating toward ambient + rise · torque² over one control period."""
        goal = ambient_c + rise * torque_nm**2
        self.temperature_c += (goal - self.temperature_c) * -np.expm1(-dt_s / time_s)

    def torque_share(self, start_c: np.ndarray, per_c: np.ndarray) -> np.ndarray:
        """1 below `start_c`, falling by `per_c` for each degree above, (n, n_joints)."""
        return 1.0 - np.minimum(per_c * np.maximum(self.temperature_c - start_c, 0.0), HEAT_LOSS_CAP)


def battery_voltage(
    level: np.ndarray, sag_per_kw: np.ndarray, torque_nm: np.ndarray, speed_rad_s: np.ndarray
) -> np.ndarray:
    """Voltage as a share of the full battery's, (n,), under the power that the motors draw (they do not
    recharge it).
    """
    power_kw = np.maximum(torque_nm * speed_rad_s, 0.0).sum(axis=1) / 1000.0
    return np.maximum(level - sag_per_kw * power_kw, 0.1)


def play(motor_rad: np.ndarray, joint_rad: np.ndarray, backlash_rad: np.ndarray) -> np.ndarray:
    """Angle of the motor side of a gear with play: it stays until the joint takes it along."""
    return np.clip(motor_rad, joint_rad - backlash_rad / 2, joint_rad + backlash_rad / 2)


class Motors:
    """All that lies between action and torque and has a memory: targets on their way, heat, battery, play."""

    def __init__(self, values: Values, fields: Fields, robot: Robot, scene: Scene, n: int):
        self._values, self._fields, self._robot = values, fields, robot
        self._control_dt_s = robot.contract.control_dt_s
        contract = robot.contract
        self._pose = zero_targets(contract)
        self._moves = is_kind(contract, POSITION)  # joints whose target is a position
        self._limit = np.array(contract.target_limit).T if contract.target_limit else None
        self._offset = np.broadcast_to(self._pose, (n, len(self._pose)))
        self.line = CommandLine(n, len(self._pose), scene.substeps, float(scene.model.opt.timestep))
        self.heat = Heat(n, len(self._pose))
        self.motor_side_rad = np.zeros((n, len(self._pose)))

    def changed(self, name: str, rows: np.ndarray) -> None:
        """Follow a change of a parameter."""
        values = self._values
        if name == "start_temperature_c":
            self.heat.temperature_c[rows] = values[name][rows]
        if name in MOTOR:
            self._write_motors()
        elif name in TORQUE_SPEED:
            self._write_torque_speed(values["battery_level"])
        elif name == "delay_s":
            self.line.set_delay(values[name])
        elif name in ("action_offset_rad", "encoder_bias_rad"):
            # The motor's own loop reads the biased encoder, so it turns the joint the other way.
            moved = self._pose + values["action_offset_rad"] - values["encoder_bias_rad"]
            self._offset = np.where(self._moves, moved, self._pose)

    def reset(self, rows: np.ndarray, joint_rad: np.ndarray, action: np.ndarray) -> np.ndarray:
        """One action in all of the line, start temperature, no play taken up; the targets of that action,
        (len(rows), n_joints).
        """
        target = self._target(self._offset[rows], self._values["action_scale_rad"][rows], action)
        self.line.fill(rows, target)
        self.motor_side_rad[rows] = joint_rad
        self.heat.temperature_c[rows] = self._values["start_temperature_c"][rows]
        return target

    def command(self, action: np.ndarray) -> None:
        """Send the policy's actions, (n, n_joints), on their way."""
        self.line.push(self._target(self._offset, self._values["action_scale_rad"], action))

    def _target(self, offset: np.ndarray, scale: np.ndarray, action: np.ndarray) -> np.ndarray:
        """Targets (n, n_joints); a limit of the contract's holds before what the robot's own offsets do to them."""
        if self._limit is None:
            return offset + scale * action
        return np.clip(self._pose + scale * action, *self._limit) + (offset - self._pose)

    def lead(self, joint_rad: np.ndarray) -> np.ndarray:
        """By how much the joints lead the motors' side of their gears, (n, n_joints)."""
        return joint_rad - play(self.motor_side_rad, joint_rad, self._values["backlash_rad"])

    def encoder(self, joint_rad: np.ndarray, joint_rad_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Angle and velocity of the motors' side: it moves with the joint at the ends of the play, and
        rests between them.
        """
        lead, half = self.lead(joint_rad), self._values["backlash_rad"] / 2
        taken_along = (np.abs(lead) >= half - 1e-12) & (joint_rad_s * lead >= 0)
        return joint_rad - lead, np.where(taken_along, joint_rad_s, 0.0)

    def take_up(self, joint_rad: np.ndarray, joint_rad_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Let the joints take the motors' side along; what to add to its targets to make MuJoCo's servo see that side.

        In position q - q_m, as kp (target - q_m) = kp ((target + q - q_m) - q); in velocity likewise kd / kp (v - v_m).
        A servo without kp has no target to add to: its damping sees the joint's velocity.
        """
        self.motor_side_rad, motor_rad_s = self.encoder(joint_rad, joint_rad_s)
        kp, kd = self._values["kp_nm_per_rad"], self._values["kd_nms_per_rad"]
        ratio = np.divide(kd, kp, out=np.zeros(kp.shape), where=kp > 0)
        lead, damping = joint_rad - self.motor_side_rad, ratio * (joint_rad_s - motor_rad_s)
        return np.where(self._moves, lead, 0.0), np.where(self._moves, damping, 0.0)

    def advance(self, torque_nm: np.ndarray, speed_rad_s: np.ndarray) -> None:
        """Temperature and battery voltage, once per control period."""
        values = self._values
        if any(values.has(name) for name in HEAT):
            rise, ambient = values["thermal_rise_c_per_nm2"], values["ambient_temperature_c"]
            self.heat.advance(torque_nm, self._control_dt_s, ambient, rise, values["thermal_time_s"])
            self._write_motors()
        if values.has("battery_sag_per_kw"):
            self._write_torque_speed(
                battery_voltage(values["battery_level"], values["battery_sag_per_kw"], torque_nm, speed_rad_s)
            )

    def _write_motors(self) -> None:
        values = self._values
        share = values["motor_strength"] * self.heat.torque_share(values["derate_start_c"], values["derate_per_c"])
        self._fields.write_motors(
            share * values["kp_nm_per_rad"], share * values["kd_nms_per_rad"], share * values["torque_limit_nm"], share
        )

    def _write_torque_speed(self, voltage: np.ndarray) -> None:
        self._fields.write_torque_speed(
            self._values["stall_torque_nm"], self._values["no_load_speed_rad_s"], voltage[:, None]
        )
