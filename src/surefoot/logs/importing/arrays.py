"""NPZ and NPY files as columns of numbers. Nothing is unpickled, and no size is believed before it is checked."""

import math
import shlex
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from surefoot.errors import LogError
from surefoot.files import check_input
from surefoot.limits import refuse_size
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.tree import tables_of
from surefoot.logs.parquet import COPIES
from surefoot.text import flat

# Only ever shown: what a user who trusts a file may run once, in an environment of their own. Nothing here loads a pickle.
HOW_TO_CONVERT = (
    'python -c "import sys, numpy as n; d = n.load(sys.argv[1], allow_pickle=True); d = d.item() if d.ndim == 0 else d;'
    " n.savez('log.npz', **{k: n.asarray(n.asarray(d[k]).tolist(), float) for k in d})\""
)
FROM_NPZ = (
    "python -c \"import sys, numpy as n; d = n.load(sys.argv[1], allow_pickle=True); n.savez('log.npz', **{k:"
    ' n.asarray(d[k].tolist(), float) for k in d})"'
)
FROM_TORCH = (
    "python -c \"import sys, torch, numpy as n; d = torch.load(sys.argv[1], weights_only=True, map_location='cpu');"
    " n.savez('log.npz', **{k: n.asarray(v) for k, v in d.items()})\""
)
FROM_PICKLE = (
    "python -c \"import sys, pickle, numpy as n; d = pickle.load(open(sys.argv[1], 'rb')); n.savez('log.npz',"
    ' **{k: n.asarray(v, float) for k, v in d.items()})"'
)


def read_npz(path: Path) -> list[Table]:
    """Read an NPZ file whose arrays have one row for each time."""
    arrays: dict[str, np.ndarray] = {}
    check_input(path, LogError, "an NPZ file")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            needed = sum(info.file_size for info in archive.infolist() if info.filename.endswith(".npy"))
            refuse_size(str(path), COPIES * needed, LogError)
            if any(name.endswith((".pkl", "/version", "/byteorder")) for name in names):
                raise LogError(pickled(path))
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    with archive.open(info) as member:
                        arrays[info.filename.removesuffix(".npy")] = _array(member, info.file_size, path, info.filename)
    except LogError:
        raise
    except Exception as reason:  # zipfile, zlib and numpy each have their own way to refuse a damaged file
        raise LogError(f"{path} is not a readable NPZ file: {flat(reason, 200)}") from None
    if not arrays and "[Content_Types].xml" in names:
        raise LogError(f"{path} is an Excel workbook or another office document; save its table as CSV")
    if not arrays and names:
        raise LogError(f"{path} is a ZIP file of {flat(ValueError(names[0]), 60)}, ...; unpack it, and give the folder")
    if not any(array.ndim for array in arrays.values()):
        raise LogError(f"{path} holds no arrays with rows; an NPZ log has time, joint positions and targets or actions")
    return tables_of(dict(arrays), path, "NPZ")


def read_npy(path: Path) -> list[Table]:
    """Read an NPY file of a structured array; an array without names is refused with what to do."""
    size = check_input(path, LogError, "an NPY file")
    refuse_size(str(path), COPIES * size, LogError)
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(file)
            if dtype.hasobject:
                raise LogError(pickled(path))
            if dtype.names is None:
                raise LogError(
                    f"{path} is one array of shape {shape} without names, so nobody can tell its columns apart; save"
                    " named arrays instead: numpy.savez('log.npz', time=a[:, 0], dof_pos=a[:, 1:13],"
                    " des_dof_pos=a[:, 13:25]) with the columns as you know them"
                )
            if len(shape) != 1 or math.prod(shape) * dtype.itemsize > size:
                raise LogError(
                    f"{path} claims {shape} records of {dtype.itemsize} bytes, and has {size}; it is damaged"
                )
            records = np.frombuffer(file.read(shape[0] * dtype.itemsize), dtype)
    except LogError:
        raise
    except Exception as reason:  # numpy parses the header in several ways
        raise LogError(f"{path} is not a readable NPY file: {flat(reason, 200)}") from None
    return tables_of({name: records[name] for name in dtype.names}, path, "NPY")


def pickled(path: Path) -> str:
    """Why a pickle is refused, and the way out: a command for the user to read and run, never run here."""
    suffix = path.suffix.lower()
    way = (
        FROM_TORCH
        if suffix in (".pt", ".pth")
        else FROM_PICKLE
        if suffix in (".pkl", ".pickle")
        else FROM_NPZ
        if suffix == ".npz"
        else HOW_TO_CONVERT
    )
    return (
        f"{path} holds pickled objects, which can run any program when they are read; where you trust it, convert it"
        f" once, in the environment that wrote it: {way} {shlex.quote(path.name)}"
    )


def _array(member: IO[bytes], size: int, path: Path, name: str) -> np.ndarray:
    """One .npy member; its header is checked against the bytes that are there before anything is allocated."""
    version = np.lib.format.read_magic(member)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(member)
    if dtype.hasobject:
        raise LogError(pickled(path))
    if dtype.kind not in "biufUS" or len(shape) > 3 or min(shape, default=0) < 0:
        return np.zeros(0)
    needed = math.prod(shape) * dtype.itemsize
    if needed > size:
        raise LogError(
            f"{path}: {name} claims shape {shape}, {needed / 1e9:.3g} GB, and holds {size / 1e9:.3g} GB; it is damaged,"
            " or must be split"
        )
    content = member.read(needed)
    if len(content) < needed:
        raise LogError(f"{path}: {name} ends after {len(content)} of {needed} bytes; the file is damaged")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
