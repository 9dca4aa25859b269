# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""tests/fixtures: complete, consistent, small, and what scripts/make_expected.py describes."""

import json

import numpy as np
import pytest
from checkpoints.families import FAMILIES
from safetensors.numpy import load_file

MOST_BYTES = 1_500_000


def folder_of(root, name):
    return root / "tests" / "fixtures" / name


def expected_of(root, name):
    return load_file(folder_of(root, name) / "expected.safetensors")


def stored_elements(folder) -> set[str]:
    """From the headers: safetensors for numpy does not read bf16."""
    elements = set()
    for path in folder.glob("model*.safetensors"):
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        elements |= {v["dtype"] for k, v in header.items() if k != "__metadata__"}
    return elements


def test_all_families_are_there_and_small(root):
    fixtures = root / "tests" / "fixtures"
    assert {path.name for path in fixtures.iterdir() if path.is_dir()} == set(FAMILIES)
    sizes = [path.stat().st_size for path in fixtures.rglob("*") if path.is_file()]
    assert sum(sizes) < MOST_BYTES


@pytest.mark.parametrize("name", FAMILIES)
def test_config_is_current(root, name):
    config = json.loads((folder_of(root, name) / "config.json").read_text())
    element = FAMILIES[name].get("element", "float32")
    assert config == FAMILIES[name]["config"] | {"dtype": element}
    wanted = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[element]
    stored = stored_elements(folder_of(root, name))
    assert wanted in stored
    assert len(stored) == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_shapes_and_ids(root, name):
    tensors = expected_of(root, name)
    batch, n_prompt, n_new = FAMILIES[name]["sizes"]
    vocab_size = FAMILIES[name]["config"]["vocab_size"]
    assert {key: (value.shape, str(value.dtype)) for key, value in tensors.items()} == {
        "input_ids": ((batch, n_prompt), "int64"),
        "logits": ((batch, n_prompt, vocab_size), "float32"),
        "generated": ((batch, n_new), "int64"),
        "step_logits": ((batch, n_new, vocab_size), "float32"),
        "nll": ((batch, n_prompt - 1), "float32"),
    }
    for key in ("input_ids", "generated"):
        assert tensors[key].min() >= 0
        assert tensors[key].max() < vocab_size


@pytest.mark.parametrize("name", FAMILIES)
def test_generated_is_greedy_and_clear(root, name):
    tensors = expected_of(root, name)
    steps = tensors["step_logits"]
    np.testing.assert_array_equal(tensors["generated"], steps.argmax(axis=-1))
    np.testing.assert_array_equal(steps[:, 0], tensors["logits"][:, -1])
    ordered = np.sort(steps, axis=-1)
    assert (ordered[..., -1] - ordered[..., -2]).min() > 1e-3 * np.abs(steps).max()


@pytest.mark.parametrize("name", FAMILIES)
def test_nll_follows_from_logits(root, name):
    tensors = expected_of(root, name)
    logits = tensors["logits"][:, :-1].astype(np.float64)
    targets = tensors["input_ids"][:, 1:, None]
    chosen = np.take_along_axis(logits, targets, axis=-1)[..., 0]
    nll = np.log(np.exp(logits).sum(axis=-1)) - chosen
    np.testing.assert_allclose(tensors["nll"], nll, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in FAMILIES if FAMILIES[n].get("shards")])
def test_shards_hold_what_the_index_says(root, name):
    folder = folder_of(root, name)
    assert not (folder / "model.safetensors").exists()
    weight_map = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    found = {}
    for path in folder.glob("model-*.safetensors"):
        found |= dict.fromkeys(load_file(path), path.name)
    assert found == weight_map
    assert len(set(found.values())) == FAMILIES[name]["shards"]


def test_prompts_reach_past_the_features():
    sliding = FAMILIES["mistral-sliding"]
    assert sliding["sizes"][1] > 2 * sliding["config"]["sliding_window"]
    scaled = FAMILIES["llama3-rope-scaled"]
    original = scaled["config"]["rope_scaling"]["original_max_position_embeddings"]
    assert scaled["sizes"][1] > original


def test_both_spellings_of_rope_are_there():
    keys = set().union(*(family["config"] for family in FAMILIES.values()))
    assert {"rope_theta", "rope_scaling", "rope_parameters"} <= keys
