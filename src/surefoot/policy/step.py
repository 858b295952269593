"""A built-in gait for robots with two legs: steps that keep them upright, in place or in the commanded direction.

It needs no training and keeps no state: joint positions and velocities, gyro, gravity and the clock decide. The body is
taken for a linear inverted pendulum (Kajita et al. 2001). Its capture point, the place to step on in order to stop (Pratt
et al. 2006), follows from the velocity over the foot on the ground. The next foothold is where the capture point will be
at the end of the step, less what the commanded velocity asks for (Englsberger et al. 2015). The leg on the ground turns
the force that carries the body and keeps it upright into torques by the transpose of its Jacobian (virtual model control,
Pratt et al. 2001). The other foot is steered to its foothold with the least acceleration that brings it there in time.
Torques reach the motors as offsets of the joint targets.

All other joints hold the default pose. It expects flat ground, and pushes that one step can catch.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from surefoot.errors import RobotError
from surefoot.files import canonical_json, sha256
from surefoot.policy.leg_kinematics import LegState, body_of, cross, leg_state, multiply, rotate
from surefoot.robot import Robot, Sensors
from surefoot.robot.contract import POSITION
from surefoot.robot.targets import clip_actions, is_kind, zero_targets

GRAVITY_M_S2 = 9.81
UP, AHEAD = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True)
class StepGait:
    """Constants of the steps. Lengths are in heights h of the centre of mass, times in sqrt(h / g) and moments in m g h,
    so that they fit any size.

    Found by CMA-ES on a humanoid of 33 kg with hidden friction, payload, noise and 9 ms of delay.
    """

    step: float = 1.3  # time of a step
    double: float = 0.11  # part of a step in which both feet carry
    start: float = 1.9  # time at the beginning in which the weight goes onto the first foot
    ramp: float = 3.8  # time in which the command grows to its full size
    overdone: tuple[float, float, float] = (1.0, 0.8, 1.5)  # commands forward, left and turn are multiplied by these
    crouch: float = 0.022  # lower than in the default pose by this
    lift: float = 0.078  # highest point of a swinging foot
    width: float = 0.97  # distance of the feet, over that of the default pose ...
    narrowest: float = 1.15  # ... and at least, over the width of a sole
    longest: float = 0.4  # step ahead, and sideways beyond the width
    height_gain: float = 6.0  # vertical acceleration per height
    height_damping: float = 5.1  # and per vertical velocity
    upright_gain: float = 0.7  # moment per radian of tilt
    upright_damping: float = 0.39  # and per rate of it
    capture_gain: float = 0.68  # of the centre of pressure, per distance of the capture point from its place
    sole: float = 0.4  # part of the sole that the centre of pressure may use
    turn_gain: float = 0.47  # moment about the vertical per radian between foot and body
    turn_damping: float = 0.087  # and per rate of it
    turn_limit: float = 0.061  # of that moment: beyond it a foot twists
    hurry: float = 0.47  # shortest time in which a foot is steered to its foothold
    early: float = 0.13  # time by which a foot comes down before the end of its step
    swing_rate: float = 2.8  # of the loop that keeps a swinging foot at its height, rad
    level_rate: float = 4.1  # and of the one that keeps it level
    swing_damping: float = 0.96  # damping ratio of both
    fastest: float = 1.7  # acceleration of a swinging foot, g
    along: float = 0.21  # part of the body's own acceleration that a swinging foot is given too
    lead: float = 1.3  # control periods by which the targets of a leg that carries run ahead of its joints
    counter: float = 0.51  # part of the swinging leg's moment that the leg on the ground bears, and not the body ...
    counter_turn: float = 0.84  # ... and of that about the vertical
    grip: float = 0.5  # horizontal force on the ground over the vertical one, at most


@dataclass(frozen=True, eq=False)
class Seen:
    """What the sensors tell, in level axes that head where the base does. Feet are left, then right."""

    legs: tuple[LegState, ...]
    sole_m: np.ndarray  # (n, 2, 3) from the centre of mass
    sole_m_s: np.ndarray  # (n, 2, 3)
    turn_rad_s: np.ndarray  # (n, 3) of the base
    tilt_rad: np.ndarray  # (n, 3) rotation of the base out of the level
    centre_m: np.ndarray  # (n, 3) of mass, from the base


@dataclass(frozen=True, eq=False)
class Clock:
    """Where each robot is in its step, (n,)."""

    begun: np.ndarray  # whether the first step has begun
    phase_s: np.ndarray  # since the beginning of this step
    foot: np.ndarray  # that carries in this step: 0 left, 1 right
    outward: np.ndarray  # its side: 1 left, -1 right


@dataclass(frozen=True, eq=False)
class Plan:
    """What the legs have to do, in level axes; places are from the foot that carries."""

    share: np.ndarray  # (n,) of the weight that the other foot still carries
    height_m: np.ndarray  # (n,) of the centre of mass above the feet that carry
    rising_m_s: np.ndarray  # (n,)
    shift_m: np.ndarray  # (n, 2) of the centre of pressure, out of the middle of a foot
    centre_m_s2: np.ndarray  # (n, 3) acceleration of the centre of mass
    foothold_m: np.ndarray  # (n, 2) next place of the other foot


class StepAgent:
    """Steps in place without a command, and walks with one."""

    label = "step"

    def __init__(self, robot: Robot, gait: StepGait | None = None) -> None:
        self.gait = gait = StepGait() if gait is None else gait
        self.hash = sha256(b"step", canonical_json(dataclasses.asdict(gait)).encode(), robot.hash.encode())
        if len(robot.feet) != 2:
            raise RobotError(
                f"the built-in step is for robots with two feet, and {robot.name} has {len(robot.feet)}; drive it with"
                " trot, zero, random or a policy of its own"
            )
        body, contract = body_of(robot), robot.contract
        moving = np.zeros(contract.n_joints, dtype=bool)
        moving[list(contract.driven_index)] = True
        moving &= is_kind(contract, POSITION)
        for leg in body.legs:
            for place in leg.joints[~moving[leg.joints]]:
                raise RobotError(
                    f"the built-in step needs a position target for each joint of the legs, and {robot.name} takes none"
                    f" for {contract.joints[place]}; drive it with zero, random or a policy of its own"
                )
        self._contract = contract
        self._pose, self._scale = np.array(contract.pose_rad), np.array(contract.action_scale_rad)
        self._zero = zero_targets(contract)
        self._kp, self._kd = np.array(contract.kp_nm_per_rad), np.array(contract.kd_nms_per_rad)
        self._torque_limit = np.array(contract.torque_limit_nm)
        stance = [leg_state(leg, self._pose[None]) for leg in body.legs]
        left, right = np.argsort([-leg.sole_m[0, 1] for leg in stance])
        self._body = dataclasses.replace(body, legs=(body.legs[left], body.legs[right]))
        self._mass_kg = body.mass_kg
        centre = (body.rest_moment_kgm + stance[0].moment_kgm[0] + stance[1].moment_kgm[0]) / body.mass_kg
        standing_m = float(centre[2] - np.mean([leg.sole_m[0, 2] for leg in stance]))
        self._height_m = (1.0 - gait.crouch) * standing_m
        self._rate = math.sqrt(GRAVITY_M_S2 / self._height_m)  # of the pendulum, rad/s
        self._moment_nm = self._mass_kg * GRAVITY_M_S2 * self._height_m
        self.step_s = gait.step / self._rate
        self._lead_s = gait.lead * contract.control_dt_s
        self._double_s = gait.double * self.step_s
        self._width_m = gait.width * float(stance[left].sole_m[0, 1] - stance[right].sole_m[0, 1])
        self._narrowest_m = gait.narrowest * 2.0 * float(max(leg.sole_half_m[1] for leg in body.legs))
        self._sole_m = gait.sole * np.min([leg.sole_half_m for leg in body.legs], axis=0)

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints) at `sensors.time_s` for a command (n, 3): forward m/s, left m/s, turn rad/s."""
        since_s = np.asarray(sensors.time_s, float) - self.gait.start / self._rate
        grown = np.clip(since_s * self._rate / self.gait.ramp, 0.0, 1.0)
        command = np.asarray(command, float)[:, :3] * grown[:, None] * np.array(self.gait.overdone)
        seen, clock = self._look(sensors), self._clock(since_s)
        plan = self._plan(seen, clock, command)
        foot_m_s2 = self._steer(seen, clock, plan)
        legs = self._body.legs
        moved = [sensors.joint_velocity_rad_s[:, leg.joints] for leg in legs]
        bent = [self._swing(seen, side, foot_m_s2, command[:, 2], moved[side]) for side in (0, 1)]
        spin = self._spin(seen, clock, plan, bent)
        force = self._force(seen, plan, spin)
        target = np.tile(self._zero, (len(command), 1))
        for side, leg in enumerate(legs):
            kp, most = self._kp[leg.joints], self._torque_limit[leg.joints]
            weight = np.where(clock.foot == side, 1.0 - plan.share, plan.share)[:, None]
            moment = self._turn(seen, side, clock, command[:, 2], spin)
            carrying = weight * self._carry(seen.legs[side], plan, force, moment) + kp * self._lead_s * moved[side]
            swinging = (leg.inertia * bent[side][:, None]).sum(axis=2) + self._kd[leg.joints] * moved[side]
            torque = np.where(weight > 0.0, carrying, swinging)
            torque = torque + GRAVITY_M_S2 * seen.legs[side].moment_jacobian[:, :, 2]
            target[:, leg.joints] = sensors.joint_position_rad[:, leg.joints] + np.clip(torque, -most, most) / kp
        return clip_actions(self._contract, (target - self._zero) / self._scale)

    def _look(self, sensors: Sensors) -> Seen:
        body = self._body
        up = _unit(-rotate(body.imu_rotation, np.asarray(sensors.gravity, float)))
        ahead = _unit(AHEAD - up * up[:, :1])
        level = np.stack([ahead, cross(up, ahead), up], axis=1)  # from the axes of the base to level ones
        turn = rotate(body.imu_rotation, np.asarray(sensors.gyro_rad_s, float))
        legs = [leg_state(leg, sensors.joint_position_rad) for leg in body.legs]
        speeds = [sensors.joint_velocity_rad_s[:, leg.joints, None] for leg in body.legs]
        centre = (body.rest_moment_kgm + legs[0].moment_kgm + legs[1].moment_kgm) / body.mass_kg
        drift = np.zeros_like(centre)  # of the centre of mass in the base
        for leg, speed in zip(legs, speeds, strict=True):
            drift = drift + (leg.moment_jacobian * speed).sum(axis=1) / body.mass_kg
        reach = [leg.sole_m - centre for leg in legs]
        moving = [
            cross(turn, out) + (leg.linear * speed).sum(axis=1) - drift
            for leg, out, speed in zip(legs, reach, speeds, strict=True)
        ]
        return Seen(
            tuple(_levelled(leg, level) for leg in legs),
            np.stack([rotate(level, out) for out in reach], axis=1),
            np.stack([rotate(level, speed) for speed in moving], axis=1),
            rotate(level, turn),
            cross(UP, rotate(level, UP)),
            rotate(level, centre),
        )

    def _clock(self, since_s: np.ndarray) -> Clock:
        begun = since_s >= 0.0
        step = np.where(begun, since_s // self.step_s, 0.0)
        foot = (step.astype(int) + 1) % 2
        return Clock(begun, np.where(begun, since_s - step * self.step_s, 0.0), foot, np.where(foot == 0, 1.0, -1.0))

    def _plan(self, seen: Seen, clock: Clock, command: np.ndarray) -> Plan:
        gait, rate, rows = self.gait, self._rate, np.arange(len(command))
        foot, begun, phase_s = clock.foot, clock.begun[:, None], clock.phase_s
        carrying, other = seen.sole_m[rows, foot], seen.sole_m[rows, 1 - foot]
        # Of two feet on the ground, the one that has been there for long is the one that surely stands still.
        double = begun & (phase_s < self._double_s)[:, None]
        still = np.where(double, seen.sole_m_s[rows, 1 - foot], seen.sole_m_s[rows, foot])
        velocity = -np.where(begun, still, seen.sole_m_s.mean(axis=1))

        # The capture point, and where it is at this time of a steady walk.
        capture = velocity[:, :2] / rate - carrying[:, :2]
        growth = math.exp(rate * self.step_s)
        ahead = command[:, :2] * self.step_s / (growth - 1.0)
        inside = np.stack([np.zeros(len(rows)), -clock.outward * self._width_m / (growth + 1.0)], axis=1)
        steady = (ahead + inside) * np.exp(rate * phase_s)[:, None]

        # The centre of pressure that drives the capture point there, as far as the feet on the ground allow.
        wanted = capture - np.where(begun, steady, 0.0) + gait.capture_gain * (capture - steady)
        apart = other[:, :2] - carrying[:, :2]
        across = np.where(np.abs(apart[:, 1]) > 1e-3, apart[:, 1], 1e-3)
        share = np.where(
            clock.begun, np.maximum(1.0 - phase_s / self._double_s, 0.0), np.clip(wanted[:, 1] / across, 0.0, 1.0)
        )
        between = share[:, None] * apart
        shift = np.clip(wanted - between, -self._sole_m, self._sole_m)
        pressure = between + shift
        pushed = -(rate**2) * (carrying[:, :2] + pressure)  # the pendulum over its centre of pressure

        left_s = self.step_s - phase_s
        foothold = pressure + (capture - pressure) * np.exp(rate * left_s)[:, None] - ahead + inside
        longest = gait.longest * self._height_m
        sideways = np.clip(-clock.outward * foothold[:, 1], self._narrowest_m, self._width_m + longest)
        return Plan(
            share,
            -(carrying[:, 2] * (1.0 - share) + other[:, 2] * share),
            velocity[:, 2],
            shift,
            np.column_stack([pushed, np.zeros(len(rows))]),
            np.stack([np.clip(foothold[:, 0], -longest, longest), -clock.outward * sideways], axis=1),
        )

    def _steer(self, seen: Seen, clock: Clock, plan: Plan) -> np.ndarray:
        """Acceleration of the swinging foot, (n, 3) m/s², from the centre of mass."""
        gait, rows, foot = self.gait, np.arange(len(clock.foot)), clock.foot
        place = seen.sole_m[rows, 1 - foot] - seen.sole_m[rows, foot]
        speed = seen.sole_m_s[rows, 1 - foot] - seen.sole_m_s[rows, foot]
        down_s = self.step_s - gait.early / self._rate
        # With the least acceleration, squared and summed, to rest at the foothold (a cubic in time).
        time_s = np.maximum(down_s - clock.phase_s, gait.hurry / self._rate)[:, None]
        along = 6.0 * (plan.foothold_m - place[:, :2]) / time_s**2 - 4.0 * speed[:, :2] / time_s
        air_s = down_s - self._double_s
        through = np.clip((clock.phase_s - self._double_s) / air_s, 0.0, 1.0)
        flying = (through > 0.0) & (through < 1.0)
        top, turn = gait.lift * self._height_m, np.pi / air_s
        height = top * np.sin(np.pi * through) ** 2
        rising = np.where(flying, top * turn * np.sin(2.0 * np.pi * through), 0.0)
        bend = np.where(flying, 2.0 * top * turn**2 * np.cos(2.0 * np.pi * through), 0.0)
        omega = gait.swing_rate * self._rate
        vertical = bend + omega**2 * (height - place[:, 2]) + 2.0 * gait.swing_damping * omega * (rising - speed[:, 2])
        most = gait.fastest * GRAVITY_M_S2
        return np.clip(np.column_stack([along, vertical]), -most, most) - gait.along * plan.centre_m_s2

    def _spin(self, seen: Seen, clock: Clock, plan: Plan, bent: list[np.ndarray]) -> np.ndarray:
        """Moment (n, 3) N·m that the swinging leg needs, and that the body would have to give."""
        spin = np.zeros_like(seen.centre_m)
        for side, leg in enumerate(seen.legs):
            speeding = bent[side][:, :, None]
            push = (leg.moment_jacobian * speeding).sum(axis=1)
            moment = (leg.spin_jacobian * speeding).sum(axis=1) - cross(seen.centre_m, push)
            swings = clock.begun & (clock.foot != side) & (plan.share == 0.0)
            spin = spin + np.where(swings[:, None], moment, 0.0)
        return spin

    def _force(self, seen: Seen, plan: Plan, spin: np.ndarray) -> np.ndarray:
        """Of the ground, through the centre of pressure: it carries, moves and rights the body, (n, 3) N."""
        gait, rate = self.gait, self._rate
        lift = gait.height_gain * rate**2 * (self._height_m - plan.height_m)
        lift = lift - gait.height_damping * rate * plan.rising_m_s
        vertical = self._mass_kg * np.clip(GRAVITY_M_S2 + lift, 0.3 * GRAVITY_M_S2, 2.0 * GRAVITY_M_S2)
        righting = -self._moment_nm * (
            gait.upright_gain * seen.tilt_rad + gait.upright_damping / rate * seen.turn_rad_s
        )
        moment = righting + gait.counter * spin
        along = (
            self._mass_kg * plan.centre_m_s2[:, :2] + np.stack([-moment[:, 1], moment[:, 0]], axis=1) / self._height_m
        )
        most = gait.grip * vertical[:, None]
        return np.column_stack([np.clip(along, -most, most), vertical])

    def _turn(self, seen: Seen, side: int, clock: Clock, turning_rad_s: np.ndarray, spin: np.ndarray) -> np.ndarray:
        """Moment of the ground about the vertical that turns the body over a foot, (n,) N·m."""
        gait = self.gait
        heading = np.where(clock.begun, self.step_s / 2.0 - clock.phase_s, 0.0) * turning_rad_s  # of a foot in the body
        moment = gait.turn_gain * (_heading(seen.legs[side]) - heading)
        moment = moment + gait.turn_damping / self._rate * (turning_rad_s - seen.turn_rad_s[:, 2])
        moment = moment + gait.counter_turn * spin[:, 2] / self._moment_nm
        return self._moment_nm * np.clip(moment, -gait.turn_limit, gait.turn_limit)

    def _carry(self, leg: LegState, plan: Plan, force_n: np.ndarray, moment_nm: np.ndarray) -> np.ndarray:
        """Torques (n, k) with which a leg bears a force of the ground and a moment about the vertical."""
        under = np.column_stack([plan.shift_m, np.zeros(len(force_n))])[:, None]
        linear = leg.linear + cross(leg.angular, np.broadcast_to(under, leg.angular.shape))
        return -(linear * force_n[:, None]).sum(axis=2) - leg.angular[:, :, 2] * moment_nm[:, None]

    def _swing(
        self, seen: Seen, side: int, foot_m_s2: np.ndarray, turning_rad_s: np.ndarray, moved: np.ndarray
    ) -> np.ndarray:
        """Accelerations (n, k) rad/s² of the joints that move a foot so, and keep it level and heading where the body
        will.
        """
        gait, leg = self.gait, seen.legs[side]
        lean = cross(rotate(leg.rotation, UP), np.broadcast_to(UP, foot_m_s2.shape))
        lean[:, 2] += turning_rad_s * self.step_s / 2.0 - _heading(leg)
        tumble = seen.turn_rad_s + (leg.angular * moved[:, :, None]).sum(axis=1)
        tumble[:, 2] -= turning_rad_s
        omega = gait.level_rate * self._rate
        task = np.concatenate([foot_m_s2, omega**2 * lean - 2.0 * gait.swing_damping * omega * tumble], axis=1)
        jacobian = np.concatenate([leg.linear, leg.angular], axis=2)
        square = (jacobian[:, :, :, None] * jacobian[:, :, None, :]).sum(axis=1) + 1e-3 * np.eye(6)
        return (jacobian * np.linalg.solve(square, task[:, :, None])[:, None, :, 0]).sum(axis=2)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.sqrt((vector * vector).sum(axis=1, keepdims=True))


def _levelled(leg: LegState, level: np.ndarray) -> LegState:
    wide = level[:, None]
    return LegState(
        rotate(level, leg.sole_m),
        multiply(level, leg.rotation),
        rotate(wide, leg.linear),
        rotate(wide, leg.angular),
        rotate(level, leg.moment_kgm),
        rotate(wide, leg.moment_jacobian),
        rotate(wide, leg.spin_jacobian),
    )


def _heading(leg: LegState) -> np.ndarray:
    """Of a foot in the body, (n,) rad."""
    return np.arctan2(leg.rotation[:, 1, 0], leg.rotation[:, 0, 0])
