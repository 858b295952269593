"""The slow twin of `Worlds`: one MjData, plain loops, nothing shared but the compiled nominal model."""

import copy
from collections.abc import Callable

import mujoco
import numpy as np

from surefoot.robot import Robot
from surefoot.sim.floor import Flat
from surefoot.sim.scene import build_scene


class Plain:
    """One simulated robot, stepped the obvious way."""

    def __init__(self, robot: Robot, physics_hz: float | None = None, torque_speed: bool = False, floor=None):
        self.robot = robot
        self.model = copy.copy(build_scene(robot, floor or Flat(), physics_hz, torque_speed).model)
        self.model.opt.disableflags &= ~int(
            mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE
        )  # as MuJoCo comes
        self.contract = robot.contract
        self.substeps = round((physics_hz or robot.physics_hz) / self.contract.control_hz)
        self.q = [int(self.model.joint(j).qposadr[0]) for j in self.contract.joints]
        self.v = [int(self.model.joint(j).dofadr[0]) for j in self.contract.joints]
        self.scale = np.array(self.contract.action_scale_rad)
        self.offset = np.array(self.contract.pose_rad)
        self.delay_steps = 0.0
        self.residual: Callable | None = None
        self.backlash = 0.0
        self.before_tick: Callable | None = None
        self.tick = 0
        self.temperature = np.zeros(self.contract.n_joints)  # for a `before_tick` that heats the motors
        self.height = robot.base_height_m

    def start(self):
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)
        mujoco.mj_resetData(self.model, self.data)
        base = int(self.model.body(self.robot.base).jntadr[0])
        adr = self.model.jnt_qposadr[base]
        self.data.qpos[adr : adr + 7] = (0, 0, self.height, 1, 0, 0, 0)
        self.data.qpos[self.q] = self.contract.pose_rad
        self.motor = self.data.qpos[self.q].copy()
        self.stream = [self.offset.copy()] * 2000  # what was commanded at each physics step
        self.states = [(self.data.qpos.copy(), self.data.qvel.copy())]
        return self

    def step(self, action):
        clip = self.contract.action_clip
        target = self.offset + self.scale * np.clip(action, -clip, clip)
        if self.before_tick is not None:
            self.before_tick(self)
        for _ in range(self.substeps):
            self.stream.append(target)
            i = int(self.delay_steps)
            f = self.delay_steps - i
            newer, older = self.stream[-1 - i], self.stream[-2 - i]
            seen = newer + f * (older - newer) if f else newer
            q, v = self.data.qpos[self.q], self.data.qvel[self.v]
            if self.backlash:
                lead = q - np.clip(self.motor, q - self.backlash / 2, q + self.backlash / 2)
                self.motor = q - lead
                seen = seen + lead
                along = (np.abs(lead) >= self.backlash / 2 - 1e-12) & (v * lead >= 0)
                kd, kp = np.array(self.contract.kd_nms_per_rad), np.array(self.contract.kp_nm_per_rad)
                damping = kd / kp * (v - np.where(along, v, 0.0))
            self.data.ctrl[:] = seen + damping if self.backlash else seen
            if self.residual is not None:
                self.data.qfrc_applied[self.v] = self.residual(seen - q, q, v)
            mujoco.mj_step(self.model, self.data)
            self.states.append((self.data.qpos.copy(), self.data.qvel.copy()))
        self.tick += 1
