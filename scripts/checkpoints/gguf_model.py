# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Read a Llama-type GGUF file as a Hugging Face checkpoint: weights, config, tokenizer."""

from pathlib import Path

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from checkpoints.safetensors_file import Tensor

OUTSIDE_LAYERS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL_TOKEN = 3


def hugging_face_name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem in OUTSIDE_LAYERS:
        return f"{OUTSIDE_LAYERS[stem]}.weight"
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{IN_LAYER[part]}.weight"


def undo_rope_permutation(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """GGUF keeps the two partners of a rotation side by side; Hugging Face half a head apart."""
    n_rows, n_columns = weight.shape
    pairs = weight.reshape(n_heads, n_rows // n_heads // 2, 2, n_columns)
    return pairs.swapaxes(1, 2).reshape(n_rows, n_columns)


class GgufModel:
    """A Llama-type model with tied embeddings and a byte-level BPE vocabulary in one GGUF file."""

    def __init__(self, path: Path):
        self._reader = gguf.GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def _field(self, name: str):
        return self._reader.fields[name].contents()

    def _n_heads(self, tensor_name: str) -> int | None:
        if tensor_name.endswith("attn_q.weight"):
            return self._field("llama.attention.head_count")
        if tensor_name.endswith("attn_k.weight"):
            return self._field("llama.attention.head_count_kv")
        return None

    def _weight(self, name: str) -> np.ndarray:
        source = self._tensors[name]
        values = gguf.quants.dequantize(source.data, source.tensor_type)
        n_heads = self._n_heads(name)
        return values if n_heads is None else undo_rope_permutation(values, n_heads)

    def weights(self, element: str) -> dict[str, Tensor]:
        """All weights by Hugging Face name, de-quantised when they are asked for."""
        return {
            hugging_face_name(name): Tensor(
                element,
                tuple(int(n) for n in reversed(tensor.shape)),
                lambda name=name: self._weight(name),
            )
            for name, tensor in self._tensors.items()
        }

    def config(self, dtype: str) -> dict:
        """What goes into config.json."""
        hidden_size = self._field("llama.embedding_length")
        n_heads = self._field("llama.attention.head_count")
        # GGUF holds epsilon as float32: seven digits give back 1e-05.
        epsilon = float(f"{self._field('llama.attention.layer_norm_rms_epsilon'):.7g}")
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "dtype": dtype,
            "vocab_size": self._field("llama.vocab_size"),
            "hidden_size": hidden_size,
            "intermediate_size": self._field("llama.feed_forward_length"),
            "num_hidden_layers": self._field("llama.block_count"),
            "num_attention_heads": n_heads,
            "num_key_value_heads": self._field("llama.attention.head_count_kv"),
            "head_dim": hidden_size // n_heads,
            "hidden_act": "silu",
            "max_position_embeddings": self._field("llama.context_length"),
            "rms_norm_eps": epsilon,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": self._field("llama.rope.freq_base"),
            },
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": True,
            "bos_token_id": self._field("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self._field("tokenizer.ggml.eos_token_id"),
            "pad_token_id": self._field("tokenizer.ggml.padding_token_id"),
        }

    def tokenizer(self) -> Tokenizer:
        """Byte-level BPE; each digit is split off first, which the GGUF only says by a name."""
        splitting = self._field("tokenizer.ggml.pre")
        if splitting != "smollm":
            raise ValueError(f"unknown pre-tokenizer '{splitting}'; only 'smollm' is known")
        tokens = self._field("tokenizer.ggml.tokens")
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        vocabulary = {token: i for i, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        kinds = self._field("tokenizer.ggml.token_type")
        control = [t for t, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
        tokenizer.add_special_tokens([AddedToken(t, special=True) for t in control])
        return tokenizer
