"""Checkpoints as safetensors: tensors and one JSON text, written whole, never a pickle."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from surefoot.errors import SurefootError
from surefoot.files import canonical_json, mark, write_whole


def save(path: Path, tensors: dict[str, torch.Tensor], state: dict[str, Any]) -> None:
    """Write tensors and a JSON-able state."""
    content = to_bytes(
        tensors, metadata={"state": canonical_json(state), "written_by": mark()}
    )  # not save_file, which turns a full disk into an error of its own
    write_whole(path, lambda temporary: temporary.write_bytes(content))


def load(path: Path, start_over: str = "--fresh") -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Read them back; `start_over` is the option that forgets them, for the message."""
    try:
        if not path.is_file():
            raise OSError("it is not an ordinary file")
        with safe_open(path, framework="pt") as file:
            state = json.loads((file.metadata() or {})["state"])
            if not isinstance(state, dict):
                raise ValueError("its state is no mapping")
            return {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as reason:
        raise SurefootError(
            f"{path} is not a checkpoint that can be read ({reason}); train into another folder, or with {start_over}"
        ) from None
