# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind: one line that names file or key and what is allowed, the exit code, and
no file left behind. What needs no model is found before anything runs and exits with 1."""

import h5py
import numpy as np
import pytest
from bad_models import GOOD, changed_config, token_file, truncated_weights
from safetensors.numpy import save_file

TINY = ("--model", "tiny", "--prompt-tokens", "4", "--new-tokens", "2", "--threads", "1")


def refused(result, *words, code=1, lines=1):
    """Asserts exit code, lines on stderr and the words in them."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    told = result.stderr.splitlines()
    assert len(told) == lines, result.stderr
    assert all(line.startswith("kvmeter: ") for line in told)
    for word in words:
        assert word in result.stderr


FLAGS = [
    (["--bacth", "4"], ["--bacth", "did you mean '--batch'?", "allowed: "]),
    (["--set", "bacth=4"], ["bacth", "did you mean 'batch'?", "allowed: "]),
    (["--set", "batch"], ["--set batch", "key=value"]),
    (["--cache", "contigous"], ["--cache", "contigous", "allowed: none, contiguous"]),
    (["--k-element", "f17"], ["--k-element", "f17", "allowed: f32, f16"]),
    (["--cache-element", "f17"], ["--cache-element", "f17", "allowed: f32, f16"]),
    (["--attention", "flash"], ["--attention", "flash", "allowed: two_pass, online"]),
    (["--backend", "omp"], ["--backend", "omp", "allowed: serial, openmp"]),
    (["--weights", "trained"], ["--weights", "trained", "allowed: random, checkpoint"]),
    (["--batch", "four"], ["--batch", "four", "a number from 1"]),
    (["--batch", "0"], ["--batch", "0", "a number from 1"]),
    (["--batch", "-1"], ["--batch", "-1", "a number from 1"]),
    (["--batch", "1,1"], ["batch = 1", "given twice"]),
    (["--batch"], ["--batch"]),
    (["--batch", "1", "--batch", "2"], ["--batch", "given more than once"]),
    (["--k-element", "f32", "--cache-element", "f16"], ["--cache-element", "given twice"]),
    (["--set", "seed=18446744073709551615"], ["seed", "not allowed", "to 9e18"]),
    (["--set", "stop.max_seconds=1e999"], ["stop.max_seconds", "1e999", "above 0"]),
    (["--top-p", "1.5"], ["--top-p", "1.5", "up to 1"]),
    (["--shard", "2/2"], ["--shard", "2/2", "0 to n-1"]),
    (["--shard", "1/2"], ["--shard", "1/2", "no point", "has 1"]),
    (["--text", "no/such"], ["--text", "no/such", "token_ids"]),
    (["--cache", "ring"], ["no point can run", "no layer has a window"]),
    (["--fp8-scale", "layer"], ["no point can run", "neither K nor V is fp8_e4m3"]),
]


@pytest.mark.parametrize(("flags", "words"), FLAGS)
def test_flags(kvmeter, tmp_path, flags, words):
    model = ["--model", "tiny"]
    refused(kvmeter("run", *model, *flags, "-o", "out.h5"), *words)
    assert list(tmp_path.iterdir()) == []


def test_empty_prompt(kvmeter):
    result = kvmeter("run", "--model", "tiny", "--prompt-tokens", "0", "-o", "out.h5")
    refused(result, "--prompt-tokens", "prompt_tokens = 0", "a number from 1")


def test_unknown_model(kvmeter):
    result = kvmeter("run", "--model", "tinny", "-o", "out.h5")
    refused(result, "--model", "tinny", "did you mean 'tiny'?", "llama-2-7b")


def test_missing_checkpoint(kvmeter):
    result = kvmeter("run", "--model", "tiny", "--weights", "checkpoint", "-o", "out.h5")
    refused(result, "tiny", "no checkpoint", "models")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mamba"}, ["model_type", "mamba", "llama"]),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, ["rope", "yarn", "llama3"]),
        ({"hidden_act": "relu"}, ["hidden_act", "relu", "silu"]),
        ({"num_attention_heads": 3}, ["num_key_value_heads", "2", "n_heads", "3"]),
    ],
)
def test_config(kvmeter, tmp_path, changes, words):
    folder = changed_config(tmp_path / "model", **changes)
    refused(kvmeter("run", "--model", folder, "-o", "out.h5"), "config.json", *words)
    assert not list(tmp_path.glob("out*"))


def test_heads_not_divisible(kvmeter):
    result = kvmeter("run", "--model", "tiny", "--kv-heads", "3", "-o", "out.h5")
    refused(result, "kv_heads", "3", "4")


def test_more_than_the_models_positions(kvmeter, tmp_path):
    long = ["--prompt-tokens", "1020", "--new-tokens", "20"]  # gpt2 has learned 1024 positions
    result = kvmeter("run", "--model", "gpt2", *long, "-o", "out.h5")
    refused(result, "prompt_tokens", "new_tokens", "1024")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [4, 100, 50_000])
def test_truncated_weights(kvmeter, tmp_path, length):
    folder = truncated_weights(tmp_path / "model", length)
    result = kvmeter("check", "--model", folder, "--expected", GOOD / "expected.safetensors")
    refused(result, "model.safetensors")


def test_weights_of_another_shape(kvmeter, tmp_path):
    folder = changed_config(tmp_path / "model", intermediate_size=48)
    result = kvmeter("check", "--model", folder, "--expected", GOOD / "expected.safetensors")
    refused(result, "model.safetensors", "mlp", "48", "56")


@pytest.mark.parametrize("token", [-1, 256])
def test_text_outside_the_vocabulary(kvmeter, tmp_path, token):
    ids = [1, 2, token, 4] * 10
    text = token_file(tmp_path / "text.safetensors", token_ids=(ids, [40]))
    result = kvmeter("run", *TINY, "--text", text, "-o", "out.h5")
    refused(result, "text.safetensors", "token", f"{token}", "0")
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("token", [-1, 67])
def test_expected_outside_the_vocabulary(kvmeter, tmp_path, token):
    prompt = ([1, token], [1, 2])
    expected = token_file(
        tmp_path / "expected.safetensors", input_ids=prompt, generated=([1], [1, 1])
    )
    result = kvmeter("check", "--model", GOOD, "--expected", expected)
    refused(result, "expected.safetensors", "token", f"{token}", "0 to 66")


def test_expected_without_prompt(kvmeter, tmp_path):
    empty = ([], [1, 0])
    expected = token_file(
        tmp_path / "expected.safetensors", input_ids=empty, generated=([1], [1, 1])
    )
    result = kvmeter("check", "--model", GOOD, "--expected", expected)
    refused(result, "expected.safetensors", "input_ids")


EXPECTED = {
    "an infinite logit": ({"logits": np.full((1, 2, 67), np.inf, np.float32)}, ["logits", "inf"]),
    "a token beyond 32 bits": ({"generated": np.array([[2**32 + 3]])}, ["generated", "4294967299"]),
    "a misspelt tensor": ({"logit": np.zeros((1, 2, 67), np.float32)}, ["logit", "logits"]),
    "nothing to compare": ({"generated": np.zeros((1, 0), np.int64)}, ["nothing to compare"]),
}


@pytest.mark.parametrize("what", EXPECTED)
def test_expected_that_makes_no_sense(kvmeter, tmp_path, what):
    tensors, words = EXPECTED[what]
    file = tmp_path / "expected.safetensors"
    save_file({"input_ids": np.array([[1, 2]])} | tensors, file)
    result = kvmeter("check", "--model", GOOD, "--expected", file)
    refused(result, "expected.safetensors", *words)


def test_expected_that_is_not_there(kvmeter):
    refused(kvmeter("check", "--model", GOOD, "--expected", "no/such"), "no/such")


def test_expected_not_given(kvmeter):
    refused(kvmeter("check", "--model", GOOD), "--expected")


def test_sweep_mistakes_are_all_told_with_their_lines(kvmeter, tmp_path):
    (tmp_path / "s.toml").write_text(
        '[fixed]\nmodel = "tiny"\n[axes]\nbatch = ["one"]\ncahce = ["none"]\ncache = ["ring2"]\n'
    )
    result = kvmeter("run", "s.toml", "-o", "out.h5")
    refused(result, "s.toml:4: batch", "s.toml:5: unknown key", "s.toml:6: cache", lines=3)
    assert not list(tmp_path.glob("out*"))


def test_sweep_that_is_not_toml(kvmeter, tmp_path):
    (tmp_path / "s.toml").write_text("[fixed]\nmodel = \n")
    refused(kvmeter("plan", "s.toml"), "s.toml:2", "not TOML")


def test_sweep_that_is_not_there(kvmeter):
    refused(kvmeter("plan", "no/such.toml"), "no/such.toml", "No such file")


@pytest.mark.parametrize("output", ["no/such/out.h5", ".", ""])
def test_output_that_cannot_be_written(kvmeter, tmp_path, output):
    refused(kvmeter("run", *TINY, "-o", output), "output", output)
    assert list(tmp_path.iterdir()) == []


def test_output_that_is_somebody_elses(kvmeter, tmp_path):
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = 1
    refused(kvmeter("run", *TINY, "-o", "data.h5"), "data.h5", "no result file")
    with h5py.File(tmp_path / "data.h5") as file:
        assert file["x"][()] == 1


def test_more_threads_than_kokkos_holds(kvmeter, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1000")
    refused(kvmeter("plan", "--model", "tiny"), "OMP_NUM_THREADS", "1000", "512")


def test_output_not_given(kvmeter):
    refused(kvmeter("run", *TINY), "--output", "-o OUT.h5")


def test_a_point_that_does_not_fit_into_memory(kvmeter, tmp_path):
    """It is known before anything is allocated, and costs that point alone."""
    result = kvmeter("run", *TINY, "--set", "limits.memory_bytes=1000", "-o", "out.h5")
    assert result.returncode == 2
    assert "needs" in result.stderr
    assert "1000 B" in result.stderr
    assert (tmp_path / "out.h5").exists()


def test_unknown_command(kvmeter):
    refused(kvmeter("rnu"), "rnu", "did you mean 'run'?", "allowed: list, size, plan, run")


def test_no_command(kvmeter):
    refused(kvmeter(), "no command", "allowed: list, size, plan, run")


def test_unknown_list(kvmeter):
    refused(kvmeter("list", "model"), "model", "did you mean 'models'?", "placements")


def test_no_sweep(kvmeter):
    refused(kvmeter("run", "-o", "out.h5"), "no sweep", "SWEEP.toml", "--point", "--model")


@pytest.mark.parametrize("point", ["model=tiny bacth=2", "model=tiny batch", 'model="tiny'])
def test_point_that_is_none(kvmeter, point):
    refused(kvmeter("plan", "--point", point), "--point")


def test_merge_of_nothing(kvmeter, tmp_path):
    refused(kvmeter("merge", "out.h5", "no/such"), "no/such", "journal")
    refused(kvmeter("merge", "out.h5"), "journal")
    assert list(tmp_path.iterdir()) == []
