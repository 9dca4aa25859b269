# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Bytes of the cache, measured, beside the bytes of the formula."""

import math

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from analysis import style
from analysis.load import measured, same_elements, varying
from analysis.units import format_bytes

FORMULA = "cache_formula_bytes"
MEASURED = ("cache_live_bytes", "cache_allocated_bytes")
WORDS = {
    FORMULA: "formula",
    "cache_live_bytes": "live (rows that hold tokens)",
    "cache_allocated_bytes": "allocated",
}
MOST_ROWS = 32  # beyond that one row per point is no longer legible


def with_cache(data: xr.Dataset) -> xr.Dataset:
    """The measured points that keep anything, one of each configuration, smallest first."""
    points = measured(data)
    present = (points[FORMULA] > 0) & (points["cache_allocated_bytes"] > 0)
    points = points.isel(point=np.flatnonzero(present))
    _, first = np.unique([row_label(points, i) for i in range(points.sizes["point"])], True)
    order = sorted(first.tolist(), key=lambda i: float(points[FORMULA][i]))
    return points.isel(point=order)


def row_label(points: xr.Dataset, index: int) -> str:
    """ "contiguous, f16, batch 4, 704 tokens" and whatever else differs."""
    point = points.isel(point=index)
    elements = [point["k_element"].item()]
    if not same_elements(points):
        elements.append(point["v_element"].item())
    tokens = int(point["prompt_tokens"]) + int(point["new_tokens"])
    said = {"cache", "k_element", "v_element", "batch", "prompt_tokens", "new_tokens", "repeat"}
    more = [f"{name} {point[name].item()}" for name in varying(points) if name not in said]
    words = [point["cache"].item(), "/".join(elements), f"batch {int(point['batch'])}"]
    return ", ".join([*words, f"{tokens:,} tokens", *more])


def round_bytes(value: float) -> str:
    """16 MiB rather than 16.0 MiB."""
    number, unit = format_bytes(value).split(" ")
    return f"{float(number.replace(',', '')):g} {unit}"


def byte_axis(axis, greatest: float, log: bool) -> None:
    """Ticks at round numbers of the binary units."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: round_bytes(value)))
    if not log:
        axis.set_major_locator(MultipleLocator(2.0 ** round(math.log2(greatest / 5))))


def draw_rows(axes: Axes, points: xr.Dataset) -> None:
    """One row per point: a bar for the formula, dots for what was measured."""
    rows = np.arange(points.sizes["point"])
    formula = points[FORMULA].values
    live, allocated = (points[name].values for name in MEASURED)
    axes.hlines(rows, np.fmin(formula, live), np.fmax(formula, allocated), color="#BBBBBB", lw=1.5)
    axes.plot(formula, rows, "|", color="black", ms=16, mew=2, label=WORDS[FORMULA])
    axes.plot(live, rows, "o", color=style.COLOURS[0], ms=6, label=WORDS[MEASURED[0]])
    axes.plot(
        allocated,
        rows,
        "s",
        color=style.COLOURS[1],
        ms=8,
        mfc="none",
        mew=1.8,
        label=WORDS[MEASURED[1]],
    )
    log = formula.max() > 20 * formula.min()
    if log:
        axes.set_xscale("log", base=2)
    else:
        axes.set_xlim(left=0)
    byte_axis(axes.xaxis, allocated.max(), log)
    axes.set_yticks(rows, [row_label(points, i) for i in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("bytes of the cache")
    ratios = axes.secondary_yaxis("right")
    ratios.set_yticks(rows, [f"{ratio:.3f}" for ratio in allocated / formula])
    ratios.tick_params(length=0)
    ratios.spines["right"].set_visible(False)
    ratios.set_ylabel("allocated / formula")


def draw_scatter(axes: Axes, points: xr.Dataset) -> None:
    """Many points: measured over formula; on the diagonal they agree."""
    formula = points[FORMULA].values
    limits = [formula.min(), formula.max()]
    axes.plot(limits, limits, color="black", lw=1, label="equal to the formula")
    for name, marker, colour in zip(MEASURED, "os", style.COLOURS, strict=False):
        axes.plot(formula, points[name], marker, color=colour, mfc="none", ms=6, label=WORDS[name])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    byte_axis(axes.xaxis, formula.max(), True)
    byte_axis(axes.yaxis, formula.max(), True)
    axes.set_xlabel("bytes by the formula")
    axes.set_ylabel("bytes measured")


def draw(data: xr.Dataset) -> Figure | None:
    """The figure, or None if no point has a cache."""
    points = with_cache(data)
    count = points.sizes["point"]
    if count == 0:
        return None
    in_rows = count <= MOST_ROWS
    height = 2.3 + 0.36 * count if in_rows else 6.0
    figure, axes = plt.subplots(figsize=(style.WIDTH_INCHES * 1.15, height))
    (draw_rows if in_rows else draw_scatter)(axes, points)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.95 / height))
    figure.legend(
        *axes.get_legend_handles_labels(),
        ncols=3,
        loc="upper left",
        bbox_to_anchor=(0.01, 1 - 0.62 / height),
    )
    style.title(figure, "Cache bytes, measured and by the formula", data)
    return figure
