# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints with something wrong, made from a good fixture, and token files."""

import json
import shutil
import struct
from pathlib import Path

GOOD = Path(__file__).resolve().parents[1] / "fixtures" / "llama-gqa"


def changed_config(folder: Path, **changes) -> Path:
    """A copy of the good checkpoint whose config.json has these values."""
    shutil.copytree(GOOD, folder)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return folder


def truncated_weights(folder: Path, length: int) -> Path:
    """A copy of the good checkpoint whose weights end after this many bytes."""
    shutil.copytree(GOOD, folder)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    return folder


def token_file(file: Path, **tensors: tuple[list[int], list[int]]) -> Path:
    """A safetensors file of I32 tensors, each given as its ids and its shape."""
    header, data = {}, b""
    for name, (ids, shape) in tensors.items():
        begin, data = len(data), data + struct.pack(f"<{len(ids)}i", *ids)
        header[name] = {"dtype": "I32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return file
