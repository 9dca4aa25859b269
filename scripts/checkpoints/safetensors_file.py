# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Write safetensors files tensor by tensor, so that no more than one tensor is in memory."""

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BYTES_OF = {"F32": 4, "BF16": 2, "I32": 4}


@dataclass(frozen=True)
class Tensor:
    """A tensor to write, and a function that makes its values (float32 or int32)."""

    element: str
    shape: tuple[int, ...]
    values: Callable[[], np.ndarray]

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * BYTES_OF[self.element]


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Bits of finite float32 values rounded to bf16: to nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def raw_bytes(tensor: Tensor) -> bytes:
    values = tensor.values()
    if values.shape != tensor.shape:
        raise ValueError(f"tensor of shape {values.shape} where {tensor.shape} was declared")
    if tensor.element == "BF16":
        return to_bf16(values).astype("<u2").tobytes()
    return values.astype({"F32": "<f4", "I32": "<i4"}[tensor.element]).tobytes()


def header_bytes(tensors: dict[str, Tensor]) -> bytes:
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    start = 0
    for name in sorted(tensors):
        end = start + tensors[name].n_bytes
        shape = list(tensors[name].shape)
        header[name] = {
            "dtype": tensors[name].element,
            "shape": shape,
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_safetensors(path: Path, tensors: dict[str, Tensor]) -> str:
    """Write under a temporary name, then rename; returns the SHA-256 of the values by name."""
    digest = hashlib.sha256()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(header_bytes(tensors))
            for name in sorted(tensors):
                data = raw_bytes(tensors[name])
                digest.update(data)
                file.write(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return digest.hexdigest()


def write_token_ids(path: Path, ids: list[int]) -> None:
    """The text format of kvmeter: one tensor, token_ids, I32 [n_tokens]."""
    values = np.asarray(ids, dtype=np.int32)
    write_safetensors(path, {"token_ids": Tensor("I32", values.shape, lambda: values)})
