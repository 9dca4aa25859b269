# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Figures, tables and CSV of the analysis package."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from analysis import cache_bytes, export, load, plot, report, time_per_token, units

ROOT = Path(__file__).resolve().parents[2]


def analysis(*arguments: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "analysis", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT / "scripts")},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def data(result_file: Path) -> xr.Dataset:
    return load.load(result_file)


def test_codes_become_names(data: xr.Dataset) -> None:
    assert data["cache"].values.tolist() == ["none"] * 4 + ["contiguous"] * 5
    assert data["status"].values.tolist() == ["ok"] * 8 + ["unsupported"]
    assert data["stop_reason"].values.tolist() == ["samples"] * 8 + [""]
    assert set(data["sample_phase"].values) == {"prefill", "decode"}


def test_keys_and_what_varies(data: xr.Dataset) -> None:
    assert {"model", "cache", "batch", "ignore_eos"} <= set(load.keys(data))
    assert "itl_s" not in load.keys(data)
    assert load.varying(load.measured(data)) == ["cache", "k_element", "prompt_tokens"]


def test_samples_know_their_point(data: xr.Dataset) -> None:
    samples = load.samples(data, "cache", "prompt_tokens")
    prefill = samples.isel(sample=np.flatnonzero(samples["sample_phase"] == "prefill"))
    assert prefill["sample_context_len"].values.tolist() == prefill["prompt_tokens"].values.tolist()
    assert prefill["cache"].values.tolist() == ["none"] * 4 + ["contiguous"] * 4


def test_selecting_points_keeps_their_samples(data: xr.Dataset) -> None:
    cached = load.select(load.measured(data), (load.measured(data)["cache"] == "contiguous"))
    samples = load.samples(cached, "cache")
    assert set(samples["cache"].values) == {"contiguous"}
    assert cached.sizes == {"point": 4, "sample": 4 * 192}


def test_every_figure_is_drawn(data: xr.Dataset, tmp_path: Path) -> None:
    paths = plot.draw_all(data, tmp_path / "new/folder")
    assert sorted(path.name for path in paths) == [
        "cache_bytes.png",
        "cache_bytes.svg",
        "time_per_token.png",
        "time_per_token.svg",
    ]
    for path in paths:
        start = path.read_bytes()[:200]
        assert start.startswith(b"\x89PNG") if path.suffix == ".png" else b"<?xml" in start
        assert path.stat().st_size > 10_000


def test_time_per_token_shows_medians_of_the_right_samples(data: xr.Dataset) -> None:
    axes = time_per_token.draw(data).axes[0]
    assert axes.get_xlabel() == "context (tokens)"
    assert axes.get_ylabel() == "time per token (ms)"
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == [
        "no cache, f32",
        "no cache, f16",
        "contiguous cache, f32",
        "contiguous cache, f16",
    ]
    longest = lines["no cache, f32"].get_ydata()[-1]
    assert 50 < longest < 60  # 11 ms + 62 us x 700, no warm-up in it
    assert max(lines["contiguous cache, f16"].get_ydata()) < 11


def test_cache_bytes_shows_formula_and_measurement(data: xr.Dataset) -> None:
    axes = cache_bytes.draw(data).axes[0]
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels[0] == "contiguous, f16, batch 1, 224 tokens"
    assert len(labels) == 4  # points without a cache keep nothing
    formula = next(line for line in axes.get_lines() if line.get_label() == "formula")
    assert formula.get_xdata()[0] == 2 * 30 * 3 * 64 * 2 * 224


def test_many_points_are_drawn_as_a_scatter(data: xr.Dataset, monkeypatch) -> None:
    monkeypatch.setattr(cache_bytes, "MOST_ROWS", 2)
    axes = cache_bytes.draw(data).axes[0]
    assert axes.get_xlabel() == "bytes by the formula"


def test_nothing_measured_means_no_figures(data: xr.Dataset, empty_file: Path, tmp_path: Path):
    assert plot.draw_all(load.select(data, data["status"] != "ok"), tmp_path) == []
    assert plot.draw_all(load.load(empty_file), tmp_path) == []


def test_the_table_is_aligned_and_says_why_points_failed(data: xr.Dataset) -> None:
    lines = report.report(data).splitlines()
    assert lines[0].split()[:5] == ["cache", "element", "backend", "prompt", "status"]
    assert {len(line) for line in lines[2:10]} == {len(lines[1])}
    assert "9.31 ms" in lines[6]
    assert "9.84 MiB" in lines[6]
    assert lines[-1].endswith("this program was built without CUDA")
    assert "0.00" not in lines[10]


def test_csv_keeps_missing_values_empty_and_whole_numbers_whole(data, tmp_path: Path) -> None:
    points, samples = export.export(data, tmp_path)
    rows = list(csv.DictReader(points.open()))
    assert rows[0]["cache"] == "none"
    assert rows[4]["cache_live_bytes"] == str(2 * 30 * 3 * 64 * 4 * 223)
    assert rows[-1]["cache_live_bytes"] == ""
    assert rows[-1]["itl_s"] == ""
    rows = list(csv.DictReader(samples.open()))
    assert len(rows) == data.sizes["sample"]
    assert rows[0]["sample_phase"] == "prefill"


def test_quickstart_prints_the_table_and_where_the_figures_are(result_file, tmp_path) -> None:
    done = analysis("quickstart", result_file, "--output", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "per token" in done.stdout.splitlines()[0]
    for path in done.stdout.splitlines()[-4:]:
        assert Path(path).stat().st_size > 0


def test_an_absent_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.h5").write_text("not a result file")
    for name in ("none.h5", "text.h5"):
        done = analysis("table", tmp_path / name)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert name in done.stderr


def test_units() -> None:
    assert units.format_bytes(512) == "512 B"
    assert units.format_bytes(1.25 * 2**30) == "1.25 GiB"
    assert units.format_seconds(0.00123) == "1.23 ms"
    assert units.format_seconds(float("nan")) == "-"
    assert units.format_bytes(float("nan")) == "-"
    assert units.format_number(125250.0) == "125,250"
