# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Help, version and lists: what a new user asks first."""

import subprocess
from pathlib import Path

import pytest

COMMANDS = ["list", "size", "plan", "run", "merge", "verify", "check", "peak"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(kvmeter, command):
    result = kvmeter(command, "--help")
    assert result.returncode == 0
    assert "Example" in result.stdout
    assert f"kvmeter {command} " in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("command", [*COMMANDS, ""])
def test_help_fits_into_100_columns(kvmeter, command):
    words = [command] if command else []
    longest = max(kvmeter(*words, "--help").stdout.splitlines(), key=len)
    assert len(longest) <= 100, longest


def test_help_names_commands_and_exit_codes(kvmeter):
    result = kvmeter("--help")
    assert result.returncode == 0
    for word in [*COMMANDS, "Exit codes"]:
        assert word in result.stdout


def test_version(kvmeter):
    result = kvmeter("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("kvmeter ")


def test_flags_have_values_and_defaults(kvmeter):
    text = kvmeter("run", "--help").stdout
    for word in ["--prompt-tokens", "a number from 1 [128]", "random | checkpoint [random]"]:
        assert word in text


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("models", ["smollm2-135m", "llama-3-70b", "134,515,008", "23,040"]),
        ("placements", ["none", "contiguous"]),
        ("codecs", ["f32", "f16", "bf16"]),
        ("attention", ["two_pass", "online"]),
        ("backends", ["serial", "openmp"]),
    ],
)
def test_list(kvmeter, what, words):
    result = kvmeter("list", what)
    assert result.returncode == 0
    assert result.stderr == ""
    for word in words:
        assert word in result.stdout


def test_list_of_all(kvmeter):
    text = kvmeter("list").stdout
    for word in ["tiny", "contiguous", "bf16", "online", "openmp"]:
        assert word in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_is_lost_is_an_error(program):
    with open("/dev/full", "w") as full:
        command = [program, "list", "backends"]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "kvmeter: standard output: cannot be written\n"
