# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def run_module():
    """Runs `python -m NAME ARGUMENTS` with scripts/ on the path, as the launchers do."""

    def run(name: str, *arguments) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", name, *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts")}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run
