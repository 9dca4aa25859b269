# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""The main results as an aligned table in units that people read."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from analysis.load import varying
from analysis.units import (
    format_bytes,
    format_number,
    format_percent,
    format_seconds,
    format_small,
)

COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("ttft_s", "TTFT", format_seconds),
    ("itl_s", "per token", format_seconds),
    ("prefill_tokens_per_s", "prefill tok/s", format_number),
    ("decode_tokens_per_s", "decode tok/s", format_number),
    ("read_bandwidth_fraction", "of bandwidth", format_percent),
    ("cache_formula_bytes", "formula", format_bytes),
    ("cache_live_bytes", "live", format_bytes),
    ("cache_allocated_bytes", "allocated", format_bytes),
    ("peak_rss_bytes", "peak RSS", format_bytes),
    ("perplexity", "perplexity", format_number),
    ("kl_mean", "KL", format_small),
    ("top1_agreement", "top-1", format_percent),
    ("n_samples", "samples", lambda value: "-" if np.isnan(value) else f"{value:.0f}"),
)
OPTIONAL = ("perplexity", "kl_mean", "top1_agreement")  # of points with a text
SHORT = {"prompt_tokens": "prompt", "new_tokens": "new"}


def aligned(head: list[str], rows: list[list[str]], n_left: int) -> str:
    """Columns of equal width; the first ``n_left`` are flush left, the others flush right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if i < n_left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def is_shown(data: xr.Dataset, name: str) -> bool:
    return name in data and (name not in OPTIONAL or bool(data[name].notnull().any()))


def table(data: xr.Dataset) -> str:
    """What differs among the points, how each ended, and its main results."""
    names = varying(data) or ["model"]
    element = {"k_element": "element" if "v_element" not in names else "k_element"}
    head = [(SHORT | element).get(name, name) for name in names] + ["status"]
    present = [column for column in COLUMNS if is_shown(data, column[0])]
    rows = []
    for index in range(data.sizes["point"]):
        point = data.isel(point=index)
        row = [str(point[name].item()) for name in [*names, "status"]]
        rows.append(row + [show(float(point[name])) for name, _, show in present])
    return aligned(head + [word for _, word, _ in present], rows, len(head))


def failures(data: xr.Dataset) -> list[str]:
    """One line per point that has no numbers, with the reason."""
    names = varying(data) or ["model"]
    lines = []
    for index in np.flatnonzero(data["status"].values != "ok"):
        point = data.isel(point=index)
        what = " ".join(f"{name}={point[name].item()}" for name in names)
        lines.append(f"{point['status'].item()}: {what}: {point['message'].item()}")
    return lines


def report(data: xr.Dataset) -> str:
    return "\n".join([table(data), *failures(data)])
