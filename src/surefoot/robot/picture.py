"""Drawing a robot without a window: a studio (floor, sky, light), a camera framed on the robot, and frames as arrays.

`studio` dresses any spec and `Frames` draws any state of the compiled model, so that a video is a loop over states.
"""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.files import mark, write_whole
from surefoot.robot.load import Robot, upright
from surefoot.robot.model import compile_spec

EGL = ("", "egl")
OFF = ("disable", "disabled", "off", "false", "0")
FIELD_OF_VIEW_DEG = 35.0
AZIMUTH_DEG, ELEVATION_DEG = 140.0, -18.0  # from the front right, a little above
MARGIN = 1.1
SUN = (-0.32, -0.22, -1.0)  # the shadow falls behind the robot, as the camera sees it
SUN_DISTANCE = 1.6  # robot sizes
BONE = 0.02  # radius of what stands for a link without shapes, in robot sizes
SHOWN_GROUPS = 3  # MuJoCo shows groups 0 to 2; models keep their collision shapes in 3 and above
NO_EGL = "install the packages libegl1 and libgl1-mesa-dri, or libosmesa6 and set MUJOCO_GL=osmesa"


def render(robot: Robot, path: Path, width: int = 960, height: int = 720) -> None:
    """Write a PNG of the robot standing in its default pose."""
    spec = robot.spec()
    studio(spec, size_m=size_of(robot), floor=True)
    model = compile_spec(spec, robot.model_path)
    data = standing(robot, model)
    with Frames(model, width, height) as frames:
        pixels = frames.draw(data, framed(model, data, width / height))
    from PIL import Image  # here, since most that reads a robot draws none
    from PIL.PngImagePlugin import PngInfo

    about = PngInfo()
    about.add_text("Software", mark())
    write_whole(path, lambda temporary: Image.fromarray(pixels).save(temporary, format="PNG", pnginfo=about))


def studio(spec: mujoco.MjSpec, size_m: float, floor: bool) -> None:
    """Give a spec a sky, one sun with a soft shadow, a fill light and, if asked, a checkered floor.

    Links without any shape, as in a model whose meshes are elsewhere, are drawn as rods between their joints.
    The model's own lights and sky go: two suns burn a picture out, and the first sky found wins.
    `size_m` is about the size of the robot; it scales the checks and what the shadow covers.
    """
    for element in [*spec.lights, *(t for t in spec.textures if t.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)]:
        spec.delete(element)
    spec.add_texture(
        name="surefoot_sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.58, 0.68, 0.80],
        rgb2=[0.93, 0.95, 0.97],
        width=512,
        height=3072,
    )
    spec.compiler.discardvisual = False  # a URDF would lose the floor and the sky
    spec.visual.headlight.active = 1
    spec.visual.headlight.ambient = [0.42, 0.42, 0.44]
    spec.visual.headlight.diffuse = [0.28, 0.28, 0.28]
    spec.visual.headlight.specular = [0.05, 0.05, 0.05]
    spec.visual.quality.shadowsize = 4096
    spec.visual.quality.offsamples = 8
    spec.visual.map.shadowclip = 2.5  # robot sizes that the shadow map covers; a tighter map speckles what is lit
    spec.visual.map.znear, spec.visual.map.zfar = 0.02, 60.0
    spec.visual.map.fogstart, spec.visual.map.fogend = 6.0, 22.0
    spec.visual.rgba.fog = spec.visual.rgba.haze = [0.93, 0.95, 0.97, 1.0]
    spec.visual.global_.fovy = FIELD_OF_VIEW_DEG
    spec.stat.extent = size_m
    spec.worldbody.add_light(
        name="surefoot_sun",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=True,
        active=True,
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM,  # the shadow follows a robot that walks away
        pos=(-SUN_DISTANCE * size_m * np.array(SUN)).tolist(),
        dir=list(SUN),
        ambient=[0.0, 0.0, 0.0],
        diffuse=[0.50, 0.49, 0.47],
        specular=[0.25, 0.25, 0.25],
    )
    _add_bones(spec, size_m)
    if floor:
        _checkered_floor(spec, size_m)


def standing(robot: Robot, model: mujoco.MjModel) -> mujoco.MjData:
    """A state of the robot upright on the floor in its default pose."""
    data = upright(model, robot.contract, robot.base, robot.base_height_m)
    mujoco.mj_forward(model, data)
    return data


def size_of(robot: Robot) -> float:
    """The largest of the robot's length, width and height in its default pose, m."""
    model = compile_spec(robot.spec(), robot.model_path)
    return float(np.ptp(_corners(model, standing(robot, model)), axis=0).max())


def framed(model: mujoco.MjModel, data: mujoco.MjData, aspect: float) -> mujoco.MjvCamera:
    """A free camera from which all that moves fits into a picture of this width / height."""
    corners = _corners(model, data)
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    camera = mujoco.MjvCamera()
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.azimuth, camera.elevation = AZIMUTH_DEG, ELEVATION_DEG
    camera.lookat = middle
    half_angle = np.radians(model.vis.global_.fovy) / 2
    camera.distance = MARGIN * _distance(corners - middle, np.tan(half_angle), aspect)
    return camera


class Frames:
    """Draws states of one model into arrays of pixels, on the graphics hardware or in software, without a window."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        self._model = model
        self._rectangle = mujoco.MjrRect(0, 0, width, height)
        self._option = mujoco.MjvOption()
        moving = model.geom_group[model.geom_bodyid > 0]
        if not (moving < SHOWN_GROUPS).any():
            self._option.geomgroup[:] = 1  # a model that has collision shapes only shows those
        self._option.sitegroup[:] = 0
        self._scene = mujoco.MjvScene(model, maxgeom=10_000)
        self._gl: Any = None
        self._context: Any = None
        try:
            self._gl = _gl_context(width, height)
            self._gl.make_current()
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_resizeOffscreen(width, height, self._context)  # whatever size the model asks for
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        except RobotError:
            raise
        except Exception as reason:  # every GL library has exceptions of its own, and all of them mean the same here
            self.close()
            chosen = os.environ.get("MUJOCO_GL", "")
            way_out = (
                NO_EGL if chosen.lower().strip() in EGL else f"unset MUJOCO_GL, which is {chosen!r}, to draw with EGL"
            )
            raise RobotError(
                f"no picture can be drawn on this machine ({' '.join(str(reason).split())[:120]}); {way_out}"
            ) from None

    def draw(self, data: mujoco.MjData, camera: mujoco.MjvCamera) -> np.ndarray:
        """Pixels of one state, (height, width, 3), uint8."""
        mujoco.mjv_updateScene(self._model, data, self._option, None, camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene)
        self._gl.make_current()
        pixels = np.empty((self._rectangle.height, self._rectangle.width, 3), np.uint8)
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._rectangle, self._context)
        return pixels[::-1].copy()  # GL counts rows from below

    def close(self) -> None:
        """Give the graphics memory back."""
        if self._context is not None:
            self._gl.make_current()
            self._context.free()
        if self._gl is not None:
            self._gl.free()
        self._context = self._gl = None

    def __enter__(self) -> "Frames":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _gl_context(width: int, height: int) -> Any:
    """A GL context: what MUJOCO_GL names, or EGL on Linux, which needs no display.

    MuJoCo reads MUJOCO_GL when it is first imported and takes a window system without it, so setting
    the variable here would come too late; its EGL module can be had directly.
    """
    choice = os.environ.get("MUJOCO_GL", "").lower().strip()
    if choice in OFF:
        raise RobotError(f"no picture can be drawn because MUJOCO_GL is {choice!r}; unset it to draw with EGL")
    if sys.platform == "linux" and choice in EGL:
        from mujoco.egl import GLContext
    else:
        from mujoco.gl_context import GLContext
    return GLContext(width, height)


def _add_bones(spec: mujoco.MjSpec, size_m: float) -> None:
    """A rod from the origin of each link without shapes to that of each link on it, or to its centre of mass."""
    bare = [body for body in spec.bodies if body.name != "world" and not body.geoms]
    if not bare:
        return
    model = spec.compile()
    numbered = [(body, int(body.id)) for body in bare]  # a spec that is changed forgets the numbers
    for body, number in numbered:
        if number <= 0 or model.body_weldid[number] == 0:
            continue
        ends = [model.body_pos[child] for child in np.flatnonzero(model.body_parentid == number)]
        for end in ends or [model.body_ipos[number]]:
            if np.linalg.norm(end) > BONE * size_m:
                body.add_geom(
                    type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                    fromto=[0.0, 0.0, 0.0, *end],
                    size=[BONE * size_m, 0.0, 0.0],
                    contype=0,
                    conaffinity=0,
                    group=0,
                    mass=0.0,
                    rgba=[0.55, 0.58, 0.62, 1.0],
                )


def _checkered_floor(spec: mujoco.MjSpec, size_m: float) -> None:
    spec.add_texture(
        name="surefoot_checks",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.78, 0.80, 0.83],
        rgb2=[0.70, 0.73, 0.77],
        width=512,
        height=512,
    )
    textures = [""] * int(mujoco.mjtTextureRole.mjNTEXROLE)
    textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = "surefoot_checks"
    repeat = 1.5 / max(size_m, 1e-3)
    spec.add_material(
        name="surefoot_checks",
        textures=textures,
        texuniform=True,
        texrepeat=[repeat, repeat],
        reflectance=0.0,
        specular=0.1,
    )
    spec.worldbody.add_geom(
        name="surefoot_studio_floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 0.05],
        material="surefoot_checks",
        contype=0,
        conaffinity=0,
    )


def _corners(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Corners of the boxes around the geoms of all bodies that move, and where those without geoms are, (n, 3), m."""
    geoms = np.flatnonzero(model.body_weldid[model.geom_bodyid] > 0)
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    local = model.geom_aabb[geoms, None, :3] + signs * model.geom_aabb[geoms, None, 3:]
    rotation = data.geom_xmat[geoms].reshape(-1, 3, 3)
    corners = (data.geom_xpos[geoms, None] + np.einsum("nij,nkj->nki", rotation, local)).reshape(-1, 3)
    bare = np.setdiff1d(np.flatnonzero(model.body_weldid > 0), model.geom_bodyid)
    return np.concatenate([corners, data.xpos[bare], data.xipos[bare]])


def _distance(offsets: np.ndarray, slope: float, aspect: float) -> float:
    """How far back a camera must stand for all points, given relative to what it looks at, to lie inside
    its pyramid, m.
    """
    azimuth, elevation = np.radians([AZIMUTH_DEG, ELEVATION_DEG])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    up = np.cross(right, forward)
    needed = np.maximum(np.abs(offsets @ up) / slope, np.abs(offsets @ right) / (slope * aspect)) - offsets @ forward
    return max(float(needed.max()), 1e-3)
