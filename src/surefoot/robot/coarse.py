"""Meshes with fewer triangles, for pictures that move: what is smaller than a pixel need not be drawn in every frame.

Makers' meshes have some hundred thousand triangles, and a machine without graphics hardware draws each of them three
times in every frame (colour, shadow, light). Vertex clustering (Rossignac and Borrel, 1993) merges the vertices of a
small cube into one of them and drops the triangles that become a line.
"""

import mujoco
import numpy as np

FEWEST = 500  # triangles of a mesh that is left as it is


def coarsen(model: mujoco.MjModel, cell_m: float) -> None:
    """Merge the vertices of each mesh within cubes of this size, in place; the model is then for drawing only."""
    for mesh in range(model.nmesh):
        first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        if count <= FEWEST:
            continue
        faces = slice(first, first + count)
        start = int(model.mesh_vertadr[mesh])
        vertices = model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])]
        chosen, kept = clustered(vertices, model.mesh_face[faces], cell_m)
        if not len(kept):  # smaller than a cell: a few triangles cost nothing
            continue
        left = slice(first, first + len(kept))
        for field in (model.mesh_facenormal, model.mesh_facetexcoord):
            field[left] = field[faces][kept]
        model.mesh_face[left] = chosen
        model.mesh_facenum[mesh] = len(kept)


def clustered(vertices: np.ndarray, faces: np.ndarray, cell_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (m, 3) that are left, as places in `vertices` (n, 3), and which of `faces` (k, 3) they were, (m,)."""
    cubes = np.floor(vertices / cell_m).astype(np.int64)
    _, first, cube = np.unique(cubes, axis=0, return_index=True, return_inverse=True)
    corners = cube.reshape(-1)[faces]
    wide = np.flatnonzero(
        (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 0] != corners[:, 2])
    )
    _, once = np.unique(np.sort(corners[wide], axis=1), axis=0, return_index=True)
    kept = wide[np.sort(once)]
    return first[corners[kept]], kept
