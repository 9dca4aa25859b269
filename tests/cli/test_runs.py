# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Whole runs whose file or end has to tell what really happened."""

import json
import os
import subprocess

import numpy as np
import pytest
import xarray as xr
from bad_models import GOOD, changed_config
from conftest import ROOT
from safetensors.numpy import load_file, save_file

QUICK = ("--prompt-tokens", "8", "--set", "stop.max_seconds=0.2")
FEW = (*QUICK, "--new-tokens", "6")


def test_rates_count_the_tokens_that_steps_had(kvmeter, tmp_path):
    """Sequences that met their end take part in no step, and declared costs no longer hold."""
    model = changed_config(tmp_path / "model", eos_token_id=list(range(30)))
    more = [
        "--weights",
        "checkpoint",
        "--batch",
        "8",
        "--new-tokens",
        "20",
        "--ignore-eos",
        "false",
    ]
    result = kvmeter("run", "--model", model, *QUICK, *more, "-o", "out.h5")
    assert result.returncode == 0, result.stderr
    with xr.open_dataset(tmp_path / "out.h5") as data:
        steady = (data["sample_phase"] == 1) & (data["sample_is_warmup"] == 0)
        tokens = data["sample_n_tokens"].values[steady]
        rates = tokens / data["sample_time_s"].values[steady]
        assert tokens.min() < 8
        assert data["decode_tokens_per_s"].item() == pytest.approx(np.median(rates))
        assert np.isnan(data["read_bandwidth_fraction"].item())


@pytest.mark.parametrize("cache", ["contiguous", "growing", "paged", "virtual"])
def test_a_point_that_is_far_too_long_is_planned_at_once(kvmeter, cache):
    few = ("--prompt-tokens", "1000", "--new-tokens", "300000000")
    result = kvmeter("plan", "--model", "tiny", "--cache", cache, *few)
    assert result.returncode == 0, result.stderr
    assert "0 to run, 1 skipped\n" in result.stdout


def test_sequences_that_end_with_their_first_token_have_no_decode_steps(kvmeter, tmp_path):
    """Waiting for a sample of one never ended."""
    model = changed_config(tmp_path / "model", eos_token_id=list(range(67)))
    few = (*FEW, "--weights", "checkpoint", "--ignore-eos", "false", "-o", "out.h5")
    result = kvmeter("run", "--model", model, *few)
    assert result.returncode == 0, result.stderr
    with xr.open_dataset(tmp_path / "out.h5") as data:
        assert data["ttft_s"].item() > 0
        assert np.isnan(data["itl_s"].item())
        assert not (data["sample_phase"] == 1).any()


def test_weights_that_are_no_numbers_are_noticed(kvmeter, tmp_path):
    model = changed_config(tmp_path / "model")
    weights = load_file(GOOD / "model.safetensors")
    weights["model.layers.0.self_attn.q_proj.weight"][0, 0] = np.nan
    save_file(weights, model / "model.safetensors")
    result = kvmeter("run", "--model", model, "--weights", "checkpoint", *FEW, "-o", "out.h5")
    assert result.returncode == 2
    assert "incorrect" in result.stderr


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_a_run_does_not_need_its_messages_read(program, tmp_path, redirection):
    words = f"run --model tiny {' '.join(FEW)} -o out.h5"
    environment = os.environ | {"KVMETER_HOME": str(ROOT)}
    command = ["sh", "-c", f"{program} {words} {redirection}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "out.h5").exists()


def test_damaged_attributes_are_told(kvmeter, tmp_path):
    kvmeter("run", "--model", "tiny", *FEW, "-o", "out.h5")
    with (tmp_path / "out.h5.journal" / "attributes.json").open("a") as file:
        file.write("x")
    result = kvmeter("merge", "merged.h5", "out.h5.journal")
    assert result.returncode == 0
    assert "attributes.json" in result.stderr


def test_a_run_with_other_threads_is_another_measurement(kvmeter, monkeypatch):
    for threads, ends in (
        ("1", "1 run, 0 reused"),
        ("2", "1 run, 0 reused"),
        ("2", "0 run, 1 reused"),
    ):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert ends in kvmeter("run", "--model", "tiny", *FEW, "-o", "out.h5").stderr


def test_a_wrong_model_cannot_hide_behind_a_coarse_cache(kvmeter, tmp_path):
    model = changed_config(tmp_path / "model", rms_norm_eps=0.01)
    expected = ("--expected", GOOD / "expected.safetensors")
    result = kvmeter("check", "--model", model, *expected, "--cache-element", "bf16")
    assert result.returncode == 3
    assert "f32 cache: logits" in result.stdout


def test_bf16_weights_are_checked_in_f32(kvmeter):
    """Whatever this processor multiplies fastest."""
    model = GOOD.parent / "qwen3-qknorm"
    expected = ("--expected", model / "expected.safetensors")
    result = kvmeter("check", "--model", model, *expected, "--json")
    assert result.returncode == 0
    logits = json.loads(result.stdout)[0]
    assert logits["worst"] <= logits["bound"] < 2e-3
