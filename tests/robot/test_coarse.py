"""Meshes with fewer triangles that look the same."""

import mujoco
import numpy as np
import pytest

from surefoot.robot.coarse import FEWEST, clustered, coarsen
from surefoot.robot.picture import Frames

RADIUS_M = 0.1


def ball(bands: int) -> mujoco.MjModel:
    """A model with one fine mesh: the hull of points on a ball."""
    spec = mujoco.MjSpec()
    golden = np.pi * (3 - np.sqrt(5))
    z = np.linspace(-1, 1, bands)
    ring = np.sqrt(1 - z**2)
    points = RADIUS_M * np.stack(
        [ring * np.cos(golden * np.arange(bands)), ring * np.sin(golden * np.arange(bands)), z]
    )
    spec.add_mesh(name="ball", uservert=points.T.ravel())
    spec.worldbody.add_light(pos=[0.3, -0.3, 1.0])
    body = spec.worldbody.add_body(name="ball")
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="ball")
    return spec.compile()


@pytest.mark.parametrize("cell_m", [0.01, 0.03])
def test_triangles_that_are_left_join_one_vertex_of_each_cell(cell_m: float) -> None:
    model = ball(3000)
    faces, vertices = model.mesh_face.copy(), model.mesh_vert.copy()
    left, kept = clustered(vertices, faces, cell_m)
    assert 0 < len(left) < len(faces) / 2
    assert (np.abs(vertices[left] - vertices[faces[kept]]) < cell_m).all()  # a corner moves within its cell
    cells = np.floor(vertices / cell_m).astype(int)
    used = np.unique(left)
    assert len(np.unique(cells[used], axis=0)) == len(used)
    assert (np.sort(left, axis=1)[:, :-1] < np.sort(left, axis=1)[:, 1:]).all()  # none is a line
    assert len(np.unique(np.sort(left, axis=1), axis=0)) == len(left)


def test_small_meshes_stay_as_they_are() -> None:
    model = ball(200)
    before = model.mesh_face.copy()
    assert model.mesh_facenum[0] <= FEWEST
    coarsen(model, 0.05)
    np.testing.assert_array_equal(model.mesh_face, before)


@pytest.mark.usefixtures("gl")
def test_a_coarse_model_looks_the_same() -> None:
    def drawn(model: mujoco.MjModel) -> np.ndarray:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        camera = mujoco.MjvCamera()
        camera.distance, camera.elevation = 0.5, -30.0
        with Frames(model, 120, 90) as frames:
            return frames.draw(data, camera).astype(int)

    fine, coarse = ball(20_000), ball(20_000)
    coarsen(coarse, 2 * RADIUS_M / 40)
    assert coarse.mesh_facenum[0] < 0.6 * fine.mesh_facenum[0]
    apart = np.abs(drawn(fine) - drawn(coarse)).max(axis=2)
    assert apart.mean() < 2.0  # of 255
    assert (drawn(coarse).max(axis=2) > 0).sum() > 0.97 * (drawn(fine).max(axis=2) > 0).sum()
