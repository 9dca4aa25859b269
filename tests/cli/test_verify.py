# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""`kvmeter verify`: what a run has measured keeps every law, and a changed number is noticed."""

import json

import h5py
import pytest
from test_bad_input import refused

RUN = ("run", "--model", "tiny", "--set", "stop.max_seconds=0.05")
AXES = (
    "--prompt-tokens",
    "8",
    "--cache",
    "none,contiguous,paged",
    "--new-tokens",
    "4,8",
    "--batch",
    "1,2",
)


@pytest.fixture
def measured(kvmeter, tmp_path):
    """A result file of twelve points."""
    result = kvmeter(*RUN, *AXES, "-o", "out.h5")
    assert result.returncode == 0, result.stderr
    return tmp_path / "out.h5"


def add(file, name: str, by: int) -> None:
    """Changes this variable of every point."""
    with h5py.File(file, "r+") as data:
        data[name][:] = data[name][:] + by


def test_a_measured_sweep_keeps_every_law(kvmeter, measured):
    result = kvmeter("verify", measured)
    assert result.returncode == 0, result.stdout
    assert result.stderr == ""
    assert "all laws hold for 12 points" in result.stdout
    assert "FAILS" not in result.stdout


@pytest.mark.parametrize(
    "cache",
    [
        ("--cache", "contiguous,paged,growing,virtual"),
        ("--cache", "paged", "--shared-prefix-tokens", "17", "--batch", "3"),
        ("--cache", "ring", "--window-tokens", "7", "--sink-tokens", "3"),
        ("--cache", "paged,growing", "--offload-layers", "1"),
    ],
    ids=["placements", "shared", "ring", "offloaded"],
)
def test_every_codec_keeps_the_laws(kvmeter, cache):
    """Rows of tiny have 16 channels: half a group of int8 and int4, with padding."""
    elements = ("--cache-element", "f32,f16,bf16,fp8_e4m3,int8,int8_row,int4")
    sweep = ("--prompt-tokens", "20", "--new-tokens", "5", *elements)
    result = kvmeter(*RUN, *cache, *sweep, "-o", "out.h5")
    assert result.returncode == 0, result.stderr
    result = kvmeter("verify", "out.h5")
    assert result.returncode == 0, result.stdout


def test_json_has_bytes_factors_and_work(kvmeter, measured):
    data = json.loads(kvmeter("verify", measured, "--json").stdout)
    assert data["holds"] is True
    assert data["broken"] == []
    assert len(data["points"]) == 12
    for point in data["points"]:
        assert point["bytes"]["unexplained_bytes"] == 0
        assert point["bytes"]["formula_bytes"] == point["bytes"]["formula_again_bytes"]
        assert point["kv_projections"] == point["expected_kv_projections"]
    assert {family["factor"] for family in data["factors"]} == {"tokens", "batch"}
    for family in data["factors"]:
        assert family["ledger"]["exponent"] == pytest.approx(1, abs=5e-4)
        assert family["ledger"]["prefactor"] == pytest.approx(2, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cache_ledger_bytes", ["FAILS: bytes", "cache_unexplained_bytes"]),
        ("cache_formula_bytes", ["FAILS: bytes", "cache_formula_bytes"]),
        ("cache_tokens", ["FAILS: bytes", "cache_formula_bytes", "cache_tokens is"]),
        ("kv_projections", ["FAILS: K/V computations"]),
    ],
)
def test_a_changed_number_is_noticed(kvmeter, measured, name, words):
    add(measured, name, 1)
    result = kvmeter("verify", measured)
    assert result.returncode == 3
    for word in words:
        assert word in result.stdout


def test_points_that_failed_break_no_law(kvmeter, measured):
    more = ("--prompt-tokens", "8", "--batch", "1", "--new-tokens", "4,2000")
    limit = ("--set", "limits.memory_bytes=500000")
    assert kvmeter(*RUN, *more, *limit, "-o", "some.h5").returncode == 2
    result = kvmeter("verify", "some.h5")
    assert "skipped_predicted" in result.stdout
    assert result.returncode == 0


def test_a_file_without_measured_points_says_so(kvmeter):
    kvmeter(*RUN, "--set", "limits.memory_bytes=1000", "-o", "none.h5")
    result = kvmeter("verify", "none.h5")
    assert result.returncode == 3
    assert "no point to verify" in result.stdout


def test_a_file_that_is_no_result(kvmeter, tmp_path):
    refused(kvmeter("verify"), "verify", "OUT.h5")
    refused(kvmeter("verify", "absent.h5"), "absent.h5: no such file")
    (tmp_path / "text.h5").write_text("point,itl_s\n")
    refused(kvmeter("verify", "text.h5"), "text.h5", "HDF5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    refused(kvmeter("verify", "other.h5"), "other.h5", "no result file")


def test_another_schema_version_is_refused(kvmeter, measured):
    with h5py.File(measured, "r+") as file:
        file.attrs["schema_version"] = 99
    refused(kvmeter("verify", measured), "out.h5", "schema_version", "99")
