# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""The small random checkpoints that make_expected.py makes: one per family and feature."""

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": None,
}
GPT2 = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "layer_norm_epsilon": 1e-05,
    "bos_token_id": None,
    "eos_token_id": None,
}

# Per family: the config.json; [batch, prompt, new]; how the weights are stored; and `without`, the
# keys that switch its feature off, to prove that the expected values depend on it.
FAMILIES = {
    "llama-gqa": {
        "config": LLAMA
        | {
            "vocab_size": 67,
            "hidden_size": 32,
            "intermediate_size": 56,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 64,
            "rms_norm_eps": 1e-06,
            "rope_theta": 10000.0,
            "rope_scaling": None,
        },
        "sizes": (3, 19, 12),
        "without": {"rope_theta": 100.0},
    },
    "llama-mqa-tied": {
        "config": LLAMA
        | {
            "vocab_size": 61,
            "hidden_size": 36,
            "intermediate_size": 52,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "max_position_embeddings": 64,
            "rms_norm_eps": 1e-05,
            "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
            "tie_word_embeddings": True,
        },
        "sizes": (2, 17, 10),
        "element": "float16",
        "without": {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}},
    },
    "llama3-rope-scaled": {
        "config": LLAMA
        | {
            "vocab_size": 71,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 256,
            "rms_norm_eps": 1e-05,
            "rope_theta": 10000.0,
            # Wavelengths 6.3, 20, 63, ...: one kept, one in between, the rest divided by 8.
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 32,
            },
        },
        "sizes": (1, 40, 12),
        "without": {"rope_scaling": None},
    },
    "mistral-sliding": {
        "config": {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "hidden_act": "silu",
            "vocab_size": 64,
            "hidden_size": 48,
            "intermediate_size": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 6,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "max_position_embeddings": 128,
            "rms_norm_eps": 1e-05,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
            "sliding_window": 12,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": None,
        },
        "sizes": (2, 30, 12),
        "shards": 2,
        "without": {"sliding_window": None},
    },
    "qwen2-bias-tied": {
        # sliding_window is there but switched off, as in the real files.
        "config": {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "hidden_act": "silu",
            "vocab_size": 73,
            "hidden_size": 40,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 5,
            "num_key_value_heads": 1,
            "max_position_embeddings": 64,
            "max_window_layers": 2,
            "rms_norm_eps": 1e-06,
            "rope_theta": 1000000.0,
            "sliding_window": 4,
            "use_sliding_window": False,
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": None,
        },
        "sizes": (2, 21, 10),
        "without": {"use_sliding_window": True, "max_window_layers": 0},
    },
    "qwen3-qknorm": {
        "config": {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "hidden_act": "silu",
            "attention_bias": False,
            "vocab_size": 67,
            "hidden_size": 40,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "max_position_embeddings": 64,
            "max_window_layers": 2,
            "rms_norm_eps": 1e-06,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
            "sliding_window": None,
            "use_sliding_window": False,
            "tie_word_embeddings": False,
            "bos_token_id": None,
            "eos_token_id": None,
        },
        "sizes": (2, 18, 10),
        "element": "bfloat16",
        # A large epsilon shrinks what the q/k norms give.
        "without": {"rms_norm_eps": 1.0},
    },
    "gpt2-mha": {
        "config": GPT2
        | {
            "vocab_size": 61,
            "n_embd": 32,
            "n_head": 4,
            "n_layer": 2,
            "n_positions": 48,
            "n_inner": None,
        },
        "sizes": (2, 23, 12),
        "without": {"activation_function": "relu"},
    },
    "gpt2-hub-names": {
        # As the Hub keeps gpt2: names without `transformer.`, and the causal masks as tensors.
        "config": GPT2
        | {
            "vocab_size": 53,
            "n_embd": 24,
            "n_head": 3,
            "n_layer": 2,
            "n_positions": 32,
            "n_inner": 40,
        },
        "sizes": (1, 13, 8),
        "hub_names": True,
        "without": {"activation_function": "relu"},
    },
}
