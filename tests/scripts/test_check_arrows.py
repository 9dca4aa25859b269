# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""scripts/check_arrows on small trees, good and bad."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_arrows"


def run_on(files: dict[str, str]) -> subprocess.CompletedProcess:
    """Runs the check on a tree of these files (path: the line they consist of)."""
    with tempfile.TemporaryDirectory() as root:
        for name, line in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("// a comment\n" + line + "\n")
        command = [sys.executable, str(SCRIPT), root]
        return subprocess.run(command, capture_output=True, text=True, check=False)


ALLOWED = {
    "harness/main.cpp": '#include "harness/run/runner.hpp"',
    "harness/run/runner.cpp": '#include "variants/codec/registry.hpp"',
    "harness/model/decoder.hpp": '#include "harness/cache/kv_cache.hpp"',
    "harness/ops/norm.cpp": '#include "harness/ops/detail/reduce.hpp"',
    "harness/ops/norm.hpp": "#include <Kokkos_Core.hpp>",
    "variants/codec/int8.hpp": '#include "variants/placement/paged.hpp"',
    "harness/record/writer.cpp": '#include "harness/core/error.hpp"',
}

FORBIDDEN = [
    ("harness/model/decoder.cpp", '#include "harness/measure/clock.hpp"'),
    ("harness/model/decoder.cpp", '#include "variants/codec/int8.hpp"'),
    ("harness/core/units.hpp", '#include "harness/exec/views.hpp"'),
    ("harness/record/writer.cpp", '  #  include "harness/exec/views.hpp"'),
    ("harness/workload/sweep.hpp", "#include <Kokkos_Core.hpp>"),
    ("harness/ops/norm.cpp", '#include "harness/exec/detail/ledger.hpp"'),
    ("harness/cli/size.cpp", '#include "harness/cache/kv_cache.hpp"'),
    ("harness/main.cpp", '#include "harness/model/decoder.hpp"'),
    ("harness/utils/all.hpp", '#include "harness/core/error.hpp"'),
    ("harness/ops/norm.cpp", '#include "norm.hpp"'),
    ("variants/codec/attend.cpp.in", '#include "harness/run/runner.hpp"'),
]


class CheckArrows(unittest.TestCase):
    def test_allowed_tree_passes(self):
        result = run_on(ALLOWED)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_each_violation_is_named_with_file_and_line(self):
        for name, line in FORBIDDEN:
            with self.subTest(name=name, line=line):
                result = run_on(ALLOWED | {name: line})
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"{name}:2:", result.stdout)
                self.assertEqual(len(result.stdout.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
