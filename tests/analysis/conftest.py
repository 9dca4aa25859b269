# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""A result file that the C++ writer made, for every test of the analysis package."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program() -> Path:
    build = Path(os.environ.get("KVMETER_BUILD", ROOT / "build/cpu"))
    path = build / "tests/harness/record/write_sample_result"
    if not path.exists():
        pytest.fail(f"{path} is not there: build the target write_sample_result first")
    return path


def write_result(folder: Path, *arguments: str) -> Path:
    path = folder / "out.h5"
    subprocess.run([program(), path, *arguments], check=True)
    return path


@pytest.fixture(scope="session")
def result_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight measured points with samples and one that is unsupported."""
    return write_result(tmp_path_factory.mktemp("result"))


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No points, no samples."""
    return write_result(tmp_path_factory.mktemp("empty"), "0")
