# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""workloads/models: every shape has the parameter count that its model is known to have."""

import json

import pytest

PARAMETERS = {
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-2-13b": 13_015_864_320,
    "llama-2-7b": 6_738_415_616,
    "llama-3-70b": 70_553_706_496,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b-v0.1": 7_241_732_096,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-7b": 7_615_616_512,
    "qwen3-0.6b": 596_049_920,
    "qwen3-8b": 8_190_735_360,
    "reference-1.1b": 1_104_218_112,
    "shape-d128": 28_451_072,
    "shape-d256": 53_616_896,
    "shape-d64": 15_868_160,
    "smollm2-135m": 134_515_008,
    "smollm2-360m": 361_821_120,
    "tiny": 106_816,
    "tinyllama-1.1b": 1_100_048_384,
}
POSITIONS = {  # positions, rope theta, tokens of the sliding window
    "llama-2-13b": (4096, 1e4, None),
    "llama-2-7b": (4096, 1e4, None),
    "llama-3-70b": (8192, 5e5, None),
    "llama-3-8b": (8192, 5e5, None),
    "llama-3.1-8b": (131072, 5e5, None),
    "llama-3.2-1b": (131072, 5e5, None),
    "llama-3.2-3b": (131072, 5e5, None),
    "mistral-7b-v0.1": (32768, 1e4, 4096),
    "qwen2.5-0.5b": (32768, 1e6, None),
    "qwen2.5-7b": (131072, 1e6, None),
    "qwen3-0.6b": (40960, 1e6, None),
    "qwen3-8b": (40960, 1e6, None),
    "reference-1.1b": (131072, 1e4, None),
    "shape-d128": (32768, 1e4, None),
    "shape-d256": (32768, 1e4, None),
    "shape-d64": (32768, 1e4, None),
    "smollm2-135m": (8192, 1e5, None),
    "smollm2-360m": (8192, 1e5, None),
    "tiny": (2048, 1e4, None),
    "tinyllama-1.1b": (2048, 1e4, None),
}


def gpt2_parameters(config: dict) -> int:
    hidden = config["n_embd"]
    ffn = config["n_inner"] or 4 * hidden
    attention = hidden * 3 * hidden + 3 * hidden + hidden * hidden + hidden
    mlp = hidden * ffn + ffn + ffn * hidden + hidden
    layer = attention + mlp + 4 * hidden
    embeddings = (config["vocab_size"] + config["n_positions"]) * hidden
    return embeddings + config["n_layer"] * layer + 2 * hidden


def rope_model_parameters(config: dict) -> int:
    hidden, n_heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = config.get("head_dim", hidden // n_heads)
    q_rows, kv_rows = n_heads * head_dim, config["num_key_value_heads"] * head_dim
    attention = hidden * (2 * q_rows + 2 * kv_rows)
    if config["model_type"] == "qwen2":
        attention += q_rows + 2 * kv_rows
    if config["model_type"] == "qwen3":
        attention += 2 * head_dim
    layer = attention + 3 * hidden * config["intermediate_size"] + 2 * hidden
    tables = 1 if config["tie_word_embeddings"] else 2
    tables *= config["vocab_size"] * hidden
    return tables + config["num_hidden_layers"] * layer + hidden


def load(root, name: str) -> dict:
    return json.loads((root / "workloads" / "models" / f"{name}.json").read_text())


def test_every_file_is_known(root):
    found = {path.stem for path in (root / "workloads" / "models").glob("*.json")}
    assert found == set(PARAMETERS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_count(root, name):
    config = load(root, name)
    count = gpt2_parameters if config["model_type"] == "gpt2" else rope_model_parameters
    assert count(config) == PARAMETERS[name]


@pytest.mark.parametrize("name", POSITIONS)
def test_positions(root, name):
    config = load(root, name)
    positions, theta, window = POSITIONS[name]
    assert config["max_position_embeddings"] == positions
    assert config["rope_theta"] == theta
    assert config.get("sliding_window") == window


@pytest.mark.parametrize("name", POSITIONS)
def test_heads_divide(root, name):
    config = load(root, name)
    assert config["num_attention_heads"] % config["num_key_value_heads"] == 0
    assert config.get("head_dim", 2) % 2 == 0


@pytest.mark.parametrize(
    ("name", "factor"), [("llama-3.1-8b", 8.0), ("llama-3.2-1b", 32.0), ("llama-3.2-3b", 32.0)]
)
def test_rope_scaling(root, name, factor):
    assert load(root, name)["rope_scaling"] == {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }


@pytest.mark.parametrize("name", POSITIONS)
def test_epsilon(root, name):
    wanted = 1e-6 if name.startswith("qwen") else 1e-5
    assert load(root, name)["rms_norm_eps"] == wanted
