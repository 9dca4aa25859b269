# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""`kvmeter size`: sizes that others printed, exact large ones, and what adds up."""

import csv
import json
import os
import random
from pathlib import Path

import pytest
import xarray as xr
from conftest import ROOT
from test_bad_input import refused

SHARED = Path(os.environ.get("KVMETER_SHARED", ROOT.parent / "shared"))
SHAPE = ("--n-layers", "2", "--n-kv-heads", "2", "--head-dim", "64")


@pytest.fixture
def size(kvmeter):
    """The JSON that `kvmeter size` prints for these arguments."""

    def run(*arguments) -> dict:
        result = kvmeter("size", *arguments, "--json")
        assert result.returncode == 0, result.stderr
        assert result.stderr == ""
        return json.loads(result.stdout)

    return run


def shape(layers: int, heads: int, dim: int) -> list[str]:
    return ["--n-layers", str(layers), "--n-kv-heads", str(heads), "--head-dim", str(dim)]


# Layers, KV heads, head_dim, tokens, K and V element, MiB that programs of the llama.cpp family
# print for models of that shape.
PRINTED = [
    (40, 40, 128, 512, "f16", "f16", 400),
    (60, 52, 128, 512, "f32", "f32", 1560),
    (28, 8, 128, 1024, "int8", "int8", 59.5),
    (48, 4, 128, 64000, "int8", "int4", 2437.5),
    (94, 4, 128, 32768, "int4", "int4", 1692),
    (61, 2, 128, 5120, "int8", "int8", 162.03),
]


def printed_elsewhere() -> list[tuple]:
    file = SHARED / "cases" / "kv_sizes.csv"
    if not file.exists():
        return []
    numbers = ("n_layers", "n_kv_heads", "head_dim", "tokens")
    with file.open() as text:
        return [
            (
                *(int(row[name]) for name in numbers),
                row["k_element"],
                row["v_element"],
                float(row["printed_mib"]),
            )
            for row in csv.DictReader(text)
        ]


@pytest.mark.parametrize(
    ("layers", "heads", "dim", "tokens", "k", "v", "mib"), PRINTED + printed_elsewhere()
)
def test_sizes_that_others_printed(size, layers, heads, dim, tokens, k, v, mib):
    elements = ("--k-element", k, "--v-element", v)
    data = size(*shape(layers, heads, dim), "--tokens", tokens, *elements)
    assert data["live_bytes"] / 2**20 == pytest.approx(mib, abs=0.005)


@pytest.mark.parametrize(
    ("arguments", "formula_bytes", "bytes_per_token"),
    [
        (["--model", "llama-3-70b", "--tokens", 4096], 5 * 2**28, 327_680),
        (["--model", "llama-3-70b", "--tokens", 32768], 10 * 2**30, 327_680),
        (["--model", "llama-3-70b", "--kv-heads", "mha", "--tokens", 32768], 80 * 2**30, 2_621_440),
        ([*shape(1, 1, 1), "--tokens", 2**30, "--cache-element", "f16"], 2**32, 4),
        ([*shape(1, 1, 3), "--tokens", 2**30 - 1], 12 * (2**30 - 1), 12),
        (
            [*shape(126, 128, 128), "--tokens", 1_000_003, "--cache-element", "f32"],
            2 * 126 * 128 * 128 * 1_000_003 * 4,
            2 * 126 * 128 * 128 * 4,
        ),
    ],
)
def test_large_sizes_are_exact(size, arguments, formula_bytes, bytes_per_token):
    data = size(*arguments)
    assert data["formula_bytes"] == formula_bytes
    assert data["live_bytes"] == formula_bytes
    assert data["allocated_bytes"] >= formula_bytes
    assert data["bytes_per_token"] == bytes_per_token


CACHES = [
    ["--cache", "none"],
    ["--cache", "contiguous", "--batch", "3"],
    ["--cache", "growing"],
    ["--cache", "growing", "--prefill-chunk", "5", "--batch", "2"],
    ["--cache", "growing", "--prefill-chunk", "16", "--offload-layers", "1"],
    ["--cache", "paged", "--block-tokens", "16", "--batch", "2"],
    ["--cache", "paged", "--shared-prefix-tokens", "20", "--batch", "4"],
    ["--cache", "ring", "--window-tokens", "8"],
    ["--cache", "ring", "--window-tokens", "8", "--sink-tokens", "4", "--block-tokens", "4"],
    ["--cache", "virtual"],
    ["--cache", "contiguous", "--offload-layers", "1"],
    ["--k-element", "int8", "--v-element", "int4"],
    ["--cache-element", "int8_row", "--cache", "paged"],
    ["--cache-element", "int4", "--cache", "paged", "--block-tokens", "7", "--batch", "2"],
]


@pytest.mark.parametrize("cache", CACHES, ids=" ".join)
def test_parts_add_up(size, cache):
    data = size(*SHAPE, "--tokens", 37, *cache)
    live = data["formula_bytes"] + data["scale_bytes"] - data["shared_bytes"]
    allocated = live + data["block_rounding_bytes"] + data["reserve_bytes"]
    further = data["staging_bytes"] + data["table_bytes"] + data["allocator_bytes"]
    assert data["live_bytes"] == live
    assert data["allocated_bytes"] == allocated
    assert data["ledger_bytes"] == allocated + further
    assert data["metadata_bytes"] == data["scale_bytes"] + data["table_bytes"]
    assert data["reserved_bytes"] >= allocated
    assert all(value >= 0 for name, value in data.items() if name.endswith("_bytes"))


@pytest.mark.parametrize("cache", CACHES, ids=" ".join)
def test_a_run_takes_what_size_says(size, kvmeter, tmp_path, cache):
    said = size("--model", "tiny", "--tokens", 37, *cache)
    run = ("--prompt-tokens", 37, "--new-tokens", 1, "--set", "stop.max_seconds=0.05")
    result = kvmeter("run", "--model", "tiny", *run, *cache, "-o", "out.h5")
    assert result.returncode == 0, result.stderr
    parts = "formula live allocated reserved scale shared block_rounding reserve offloaded"
    with xr.open_dataset(tmp_path / "out.h5") as data:
        for part in [*parts.split(), "staging", "table", "allocator", "ledger", "metadata"]:
            assert said[f"{part}_bytes"] == data[f"cache_{part}_bytes"].item(), part
        assert said["peak_bytes"] == data["cache_ledger_peak_bytes"].item()
        assert data["cache_unexplained_bytes"].item() == 0


def test_without_a_cache_nothing_is_kept(size):
    data = size(*SHAPE, "--tokens", 37, "--cache", "none")
    assert data["formula_bytes"] == data["allocated_bytes"] == data["bytes_per_token"] == 0


def test_blocks_are_rounded_up(size):
    data = size(*SHAPE, "--tokens", 37, "--cache", "paged", "--block-tokens", 16)
    row = 2 * 2 * 2 * 64 * 2  # K and V, layers, KV heads, head_dim, bytes
    assert data["formula_bytes"] == 37 * row
    assert data["block_rounding_bytes"] == (48 - 37) * row


@pytest.mark.parametrize("dim", [16, 24, 34, 100])
@pytest.mark.parametrize(("element", "bits"), [("int8", 8), ("int4", 4), ("f16", 16)])
def test_the_formula_counts_no_padding(size, dim, element, bits):
    """Rows of quantised elements are longer where heads are no multiple of a group."""
    data = size(*shape(2, 2, dim), "--tokens", 10, "--cache-element", element)
    assert data["formula_bytes"] == 2 * 2 * 2 * dim * 10 * bits // 8


def test_paged_rounds_up_by_less_than_a_block(size):
    """Whatever the length: at most 15 tokens per sequence and layer with blocks of 16."""
    lengths = random.Random(16)
    for _ in range(12):
        tokens, batch = lengths.randint(1, 40_000), lengths.randint(1, 9)
        data = size(*SHAPE, "--tokens", tokens, "--cache", "paged", "--batch", batch)
        wasted = data["allocated_bytes"] - data["live_bytes"]
        assert wasted == batch * (-tokens % 16) * data["bytes_per_token"]
        assert wasted <= batch * 15 * data["bytes_per_token"]


def test_a_common_beginning_has_one_set_of_scales(size):
    shared = ("--cache", "paged", "--batch", 4, "--shared-prefix-tokens", 32)
    data = size(*SHAPE, "--tokens", 64, *shared, "--cache-element", "int8")
    held = 32 + 4 * 32
    assert data["formula_bytes"] * 34 / 32 * held / (4 * 64) == data["live_bytes"]
    assert data["scale_bytes"] * 17 == data["live_bytes"]


def test_a_common_beginning_is_held_once(size):
    alone = size(*SHAPE, "--tokens", 64, "--cache", "paged", "--batch", 4)
    shared = size(
        *SHAPE, "--tokens", 64, "--cache", "paged", "--batch", 4, "--shared-prefix-tokens", 32
    )
    assert shared["formula_bytes"] == alone["formula_bytes"]
    assert shared["shared_bytes"] == 3 * 32 * alone["bytes_per_token"]


def test_a_pool_has_room_for_a_common_beginning_once(size):
    """As `run` allocates it: block_tokens 16, a prefix of 32 and 32 tokens for each sequence."""
    paged = ("--cache", "paged", "--batch", 4, "--shared-prefix-tokens", 32)
    data = size(*SHAPE, "--tokens", 64, *paged)
    assert data["allocated_bytes"] == (32 + 4 * 32) * data["bytes_per_token"]


def test_a_growing_cache_has_a_peak(size, kvmeter):
    """From 64 tokens to 100 the old and the new memory of one layer of two are there at once."""
    chunks = (*SHAPE, "--tokens", 100, "--cache", "growing", "--prefill-chunk", 16)
    data = size(*chunks)
    layer = data["bytes_per_token"] // 2
    assert data["peak_bytes"] == data["ledger_bytes"] + 64 * layer
    assert "peak" in kvmeter("size", *chunks).stdout
    at_once = size(*chunks[:-2])
    assert at_once["peak_bytes"] == at_once["ledger_bytes"]


def test_a_window_bounds_the_ring(size):
    ring = ("--cache", "ring", "--window-tokens", 100)
    for chunk, rows in ((1, 100), (50, 149), (0, 199)):  # 0: as a run chooses, here the window
        data = size(*SHAPE, "--tokens", 30000, *ring, "--prefill-chunk", chunk)
        assert data["live_bytes"] == 100 * data["bytes_per_token"]
        assert data["allocated_bytes"] == rows * data["bytes_per_token"]


def test_layers_are_listed_where_they_differ(size, kvmeter, tmp_path):
    config = json.loads((ROOT / "workloads/models/qwen2.5-0.5b.json").read_text())
    config |= {"use_sliding_window": True, "sliding_window": 32, "max_window_layers": 4}
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 6}))
    arguments = ("--model", tmp_path, "--tokens", 100, "--cache", "ring")
    layers = size(*arguments)["layers"]
    assert [layer["cache_tokens"] for layer in layers] == [100] * 4 + [32] * 2
    text = kvmeter("size", *arguments).stdout
    assert "tokens kept" in text
    assert "layers" not in size(*arguments[:-2])


def test_text_spells_the_formula_out(kvmeter):
    text = kvmeter("size", "--model", "llama-3-8b", "--tokens", 4096, "--batch", 2).stdout
    formula = "2 x 32 layers x 8 KV heads x head_dim 128 x 4,096 tokens x batch 2 x 2 bytes"
    assert f"{formula} = 1,073,741,824 bytes" in text
    for word in ["block rounding", "scales", "tables", "= total", "per token", "131,072"]:
        assert word in text


def test_text_of_unequal_elements(kvmeter):
    elements = ("--k-element", "f16", "--v-element", "int4")
    text = kvmeter("size", *SHAPE, "--tokens", 10, *elements).stdout
    assert "2 layers x 2 KV heads x head_dim 64 x 10 tokens x batch 1 x (2 + 0.5) bytes" in text


BAD = [
    (["--tokens", "8"], ["no whole shape", "--model", "--n-layers"]),
    ([*SHAPE], ["--tokens", "a number from 1"]),
    ([*SHAPE, "--tokens", "0"], ["--tokens 0", "a number from 1"]),
    ([*SHAPE, "--tokens", "many"], ["--tokens many", "a number from 1"]),
    ([*SHAPE, "--tokens", "99999999999999999999"], ["--tokens", "a number from 1"]),
    (["--n-layers", "2", "--head-dim", "8", "--tokens", "8"], ["no whole shape", "--n-kv-heads"]),
    ([*shape(2, 2, 0), "--tokens", "8"], ["--head-dim 0", "a number from 1"]),
    ([*shape(0, 2, 8), "--tokens", "8"], ["--n-layers 0", "a number from 1"]),
    ([*SHAPE, "--model", "tiny", "--tokens", "8"], ["--n-kv-heads", "--kv-heads"]),
    ([*SHAPE, "--kv-heads", "mqa", "--tokens", "8"], ["--kv-heads", "--model"]),
    (["--model", "tinny", "--tokens", "8"], ["tinny", "did you mean 'tiny'?"]),
    (["--model", "tiny", "--kv-heads", "3", "--tokens", "8"], ["kv_heads", "3"]),
    (["--model", "tiny", "--tokens", "8", "--cache", "pagd"], ["pagd", "did you mean 'paged'?"]),
    (["--model", "tiny", "--tokens", "8", "--k-element", "f17"], ["--k-element", "f17", "f16"]),
    (["--model", "tiny", "--tokens", "8", "--batch", "1,2"], ["one value per flag"]),
    (["--model", "tiny", "--tokens", "8", "--batch", "0"], ["--batch", "a number from 1"]),
    (["--model", "tiny", "--tokens", "8", "--offload-layers", "99"], ["offload_layers", "99"]),
    (["--model", "tiny", "--tokens", "8", "--shared-prefix-tokens", "9"], ["shared_prefix", "8"]),
    (["--model", "tiny", "--tokens", "8", "--shared-prefix-tokens", "8"], ["less than the 8"]),
    (
        [*SHAPE, "--tokens", "8", "--cache", "virtual", "--offload-layers", "1"],
        ["virtual with off"],
    ),
    ([*SHAPE, "--tokens", "8", "--cache", "none", "--offload-layers", "1"], ["none with offload"]),
    (["--model", "tiny", "--tokens", "8", "--cache", "ring"], ["ring", "window_tokens"]),
    (["--model", "tiny", "--tokens", "8", "--sink-tokens", "2"], ["sink_tokens", "window_tokens"]),
    (["--model", "tiny", "--tokens", "8", "--blok-tokens", "9"], ["did you mean '--block-tokens'"]),
    ([*SHAPE, "--tokens", str(2**30), "--cache", "paged"], ["67108864 blocks"]),
    ([*shape(1, 64, 512), "--tokens", str(2**26), "--cache", "virtual"], ["pages"]),
    (
        [*shape(4096, 65536, 65536), "--tokens", str(2**30), "--batch", "1048576"],
        ["64 bits"],
    ),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_input(kvmeter, arguments, words):
    refused(kvmeter("size", *arguments), *words)
