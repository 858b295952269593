"""The IMU: a site on the base, or on a body that is fixed to it."""

import mujoco
import numpy as np

from surefoot.errors import nearest, shown


def imu_sites(model: mujoco.MjModel, base: str) -> list[str]:
    """Names of the sites that turn with the base, those on the base itself first."""
    own = model.body(base).id
    sites = [s for s in range(model.nsite) if model.body_weldid[model.site_bodyid[s]] == own and model.site(s).name]
    return [model.site(s).name for s in sorted(sites, key=lambda s: model.site_bodyid[s] != own)]


def why_no_imu(name: object, model: mujoco.MjModel, base: str) -> str | None:
    """What is wrong with an IMU of this name, as the end of a sentence; None if nothing is."""
    sites = imu_sites(model, base)
    if name in sites:
        return None
    site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name) if isinstance(name, str) else -1
    if site >= 0:
        body = int(model.site_bodyid[site])
        moved = _joint_above(model, body)
        by = f", which the joint {shown(moved)} moves against the base" if moved else ", which is no part of the robot"
        return (
            f"imu {shown(name)} is on {shown(model.body(body).name)}{by} {shown(base)}; give a site that is fixed to it"
        )
    return (
        f"imu {shown(name)} is not a site on the base {shown(base)} or on a body that is fixed to"
        f" it{nearest(name, sites) if sites else ''}; leave it out to use the base frame"
    )


def imu_rotation(model: mujoco.MjModel, imu: str, base: str) -> np.ndarray:
    """Rotation (3, 3) of the IMU's site in the frame of the base."""
    quaternion, body = model.site(imu).quat.copy(), int(model.site(imu).bodyid[0])
    while body != model.body(base).id:
        mujoco.mju_mulQuat(quaternion, model.body_quat[body], quaternion.copy())
        body = int(model.body_parentid[body])
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    return flat.reshape(3, 3)


def _joint_above(model: mujoco.MjModel, body: int) -> str:
    """The nearest joint that moves a body, as it is named; empty for a free joint and where there is none."""
    while body:
        if model.body_jntnum[body]:
            joint = int(model.body_jntadr[body])
            free = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
            return "" if free else model.joint(joint).name or f"joint {joint}"
        body = int(model.body_parentid[body])
    return ""
