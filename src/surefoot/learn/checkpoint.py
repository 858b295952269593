"""Checkpoints as safetensors: tensors and one JSON text, written whole, never a pickle."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from surefoot.errors import SurefootError
from surefoot.files import canonical_json, check_input, mark, parse_limited, write_whole

MOST_BYTES = 500_000_000  # a network of three layers and its optimizer take a few megabytes
MOST_STATE_BYTES = 10_000_000
DTYPES = (torch.float32, torch.float64, torch.int64)  # weights, the learning rate, counts


def save(path: Path, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON-able state."""
    content = to_bytes(
        tensors, metadata={"state": canonical_json(state), "written_by": mark()}
    )  # not save_file, which turns a full disk into an error of its own
    write_whole(path, lambda temporary: temporary.write_bytes(content))


def load(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read them back."""
    try:
        # not noted as an input: training goes on in the same file
        check_input(path, SurefootError, "a checkpoint", MOST_BYTES, note=False)
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})["state"]
            state = parse_limited(text, str(path), SurefootError, "the state of a checkpoint", MOST_STATE_BYTES)
            if not isinstance(state, dict):
                raise ValueError("its state is no mapping")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        for name, tensor in tensors.items():
            if tensor.dtype not in DTYPES:
                raise ValueError(f"{name} holds {tensor.dtype}, which is none of its kinds of numbers")
        return tensors, state
    except (OSError, SafetensorError, KeyError, ValueError) as reason:
        raise SurefootError(
            f"{path} is not a checkpoint that can be read ({reason}); train into another folder, or start over",
            argument="restart",
        ) from None
