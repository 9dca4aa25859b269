# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""scripts/readme_variants: the README's table is that of the .def lists."""

import subprocess
import sys

import pytest

BEGIN = "<!-- variants: made by scripts/readme_variants from variants/*/*.def -->"
END = "<!-- end of variants -->"
PLACEMENTS = """// KVMETER_PLACEMENT(name and file, ...)
KVMETER_PLACEMENT(none, None, "nothing")
"""
CODECS = """KVMETER_CODEC(f32, F32, "a | b")
KVMETER_CODEC(f16, F16,
              "c, "
              "d")
"""
DEFS = {
    "placement/placements.def": PLACEMENTS,
    "codec/codecs.def": CODECS,
    "attention/attentions.def": 'KVMETER_ATTENTION(online, Online, "one (1) pass")\n',
}


@pytest.fixture
def tree(tmp_path):
    """A small repository whose table is still empty."""
    for name, text in DEFS.items():
        path = tmp_path / "variants" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    return tmp_path


@pytest.fixture
def run(root):
    def run(*arguments) -> subprocess.CompletedProcess:
        command = [sys.executable, root / "scripts" / "readme_variants", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    return run


def test_the_readme_is_up_to_date(run):
    result = run("--check")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_stale_table_is_found_and_mended(run, tree):
    readme = tree / "README.md"
    before = readme.read_text()
    assert run("--check", tree).returncode == 1
    assert readme.read_text() == before
    assert run(tree).returncode == 0
    assert run("--check", tree).returncode == 0
    lines = readme.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert len({len(line) for line in lines if line.startswith("|")}) == 1
    values = [line.split(" | ")[1].strip() for line in lines if line.startswith("| `")]
    assert values == [
        "[`none`](variants/placement/none.hpp)",
        "[`f32`](variants/codec/f32.hpp)",
        "[`f16`](variants/codec/f16.hpp)",
        "[`online`](variants/attention/online.hpp)",
    ]
    assert "c, d" in readme.read_text()
    assert r"a \| b" in readme.read_text()


def test_a_new_line_of_a_list_makes_the_table_stale(run, tree):
    assert run(tree).returncode == 0
    with (tree / "variants/codec/codecs.def").open("a") as file:
        file.write('KVMETER_CODEC(bf16, BF16, "bfloat16")\n')
    result = run("--check", tree)
    assert result.returncode == 1
    assert "scripts/readme_variants" in result.stdout


@pytest.mark.parametrize("text", ["", f"{END}\n{BEGIN}\n", f"{BEGIN}\n"])
def test_missing_markers(run, tree, text):
    (tree / "README.md").write_text(text)
    result = run(tree)
    assert result.returncode == 1
    assert "README.md" in result.stderr
    assert (tree / "README.md").read_text() == text


def test_an_entry_that_cannot_be_read(run, tree):
    (tree / "variants/codec/codecs.def").write_text("KVMETER_CODEC(f32, F32)\n")
    result = run(tree)
    assert result.returncode == 1
    assert "codecs.def" in result.stderr
