# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the built program: that of build/cpu, or of the build folder KVMETER_BUILD."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program() -> Path:
    """The program under test."""
    file = Path(os.environ.get("KVMETER_BUILD", ROOT / "build" / "cpu")) / "kvmeter"
    if not file.exists():
        pytest.skip(f"{file} is not built")
    return file


@pytest.fixture
def kvmeter(program, tmp_path):
    """Runs the program in an empty folder."""

    def run(*arguments) -> subprocess.CompletedProcess:
        return subprocess.run(
            [program, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"KVMETER_HOME": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run
