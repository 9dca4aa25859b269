# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Time per token over context: from the raw decode samples, one line per configuration."""

import math
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from analysis import style
from analysis.load import measured, samples, varying
from analysis.units import second_unit

PANELS = ("model", "batch")  # one panel for each combination
POOLED = ("prompt_tokens", "new_tokens", "repeat")  # seen through the context, or repetitions
MOST_BUCKETS = 24
MOST_PANELS = 6


@dataclass
class Line:
    """Medians and quartiles of the step time, per bucket of context."""

    context: np.ndarray
    median_s: np.ndarray
    low_s: np.ndarray
    high_s: np.ndarray


def buckets(context: np.ndarray, time_s: np.ndarray, edges: np.ndarray) -> Line:
    bucket = np.digitize(context, edges)
    rows = []
    for index in np.unique(bucket):
        times = time_s[bucket == index]
        quartiles = np.percentile(times, [50, 25, 75])
        rows.append((np.median(context[bucket == index]), *quartiles))
    return Line(*np.array(rows).T)


def bucket_edges(context: np.ndarray) -> np.ndarray:
    """Edges of equal ratio where contexts span more than a factor of 8, else of equal distance."""
    low, high = float(context.min()), float(context.max())
    count = min(MOST_BUCKETS, len(np.unique(context)))
    if high > 8 * low:
        return np.geomspace(low, high, count + 1)[1:-1]
    return np.linspace(low, high, count + 1)[1:-1]


def decode_samples(data: xr.Dataset) -> xr.Dataset:
    points = measured(data)
    names = varying(points)
    table = samples(points, *dict.fromkeys(["cache", *PANELS, *names]))
    keep = (table["sample_phase"] == "decode") & (table["sample_is_warmup"] == "false")
    keep &= np.isfinite(table["sample_time_s"])
    return table.isel(sample=np.flatnonzero(keep)).assign_attrs(names=names)


def groups(table: xr.Dataset, names: list[str]) -> dict[tuple, np.ndarray]:
    """Which samples belong to each combination of the named keys, in order of appearance."""
    columns = [table[name].values.tolist() for name in names]
    found: dict[tuple, list[int]] = {}
    for index, values in enumerate(zip(*columns, strict=True)):
        found.setdefault(values, []).append(index)
    return {values: np.array(indices) for values, indices in found.items()}


def label(name: str, value: object) -> str:
    if name == "cache":
        return "no cache" if value == "none" else f"{value} cache"
    if name in ("k_element", "attention", "backend", "kv_heads", "weights"):
        return str(value)
    return f"{name} {value}"


def draw_lines(axes: Axes, table: xr.Dataset, names: list[str], unit_s: float) -> None:
    context = table["sample_context_len"].values
    time_s = table["sample_time_s"].values / unit_s
    edges = bucket_edges(context)
    caches = list(dict.fromkeys(table["cache"].values.tolist()))
    others: list[tuple] = []
    for values, rows in groups(table, ["cache", *names]).items():
        if values[1:] not in others:
            others.append(values[1:])
        variant = others.index(values[1:])
        colour = style.COLOURS[caches.index(values[0]) % len(style.COLOURS)]
        line = buckets(context[rows], time_s[rows], edges)
        text = ", ".join(
            label(name, value) for name, value in zip(["cache", *names], values, strict=True)
        )
        axes.plot(
            line.context,
            line.median_s,
            color=colour,
            label=text,
            linestyle=style.LINES[variant % len(style.LINES)],
            marker=style.MARKERS[variant % len(style.MARKERS)],
            markersize=4,
            markerfacecolor=colour if variant == 0 else "white",
        )
        axes.fill_between(line.context, line.low_s, line.high_s, color=colour, alpha=0.15, lw=0)


def scale_axes(axes: Axes, table: xr.Dataset) -> None:
    context = table["sample_context_len"].values
    if context.max() > 8 * context.min():
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    time_s = table["sample_time_s"].values
    low, high = np.percentile(time_s, [1, 99])
    if high > 30 * low:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0)


def panel_title(values: tuple, names: list[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


def draw(data: xr.Dataset) -> Figure | None:
    """The figure, or None if there is no decode sample to draw."""
    table = decode_samples(data)
    if table.sizes["sample"] == 0:
        return None
    names = table.attrs["names"]
    panel_names = [name for name in PANELS if name in names]
    line_names = [name for name in names if name not in (*PANELS, *POOLED, "cache")]
    all_panels = sorted(groups(table, panel_names).items()) if panel_names else []
    panels = all_panels[:MOST_PANELS] or [((), np.arange(table.sizes["sample"]))]
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    unit, unit_s = second_unit(float(np.median(table["sample_time_s"])))
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(style.WIDTH_INCHES * (1 if columns == 1 else 1.4), 0.9 + 4.0 * rows),
        squeeze=False,
    )
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (values, indices) in zip(grid.flat, panels, strict=False):
        part = table.isel(sample=indices)
        draw_lines(axes, part, line_names, unit_s)
        scale_axes(axes, part)
        axes.set_title(panel_title(values, panel_names), loc="left")
        axes.set_xlabel("context (tokens)")
        axes.set_ylabel(f"time per token ({unit})")
        axes.legend()
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.62 / height))
    left_out = len(all_panels) - len(panels)
    more = f" ({left_out} more panels left out)" if left_out > 0 else ""
    style.title(figure, f"Time per token over context{more}", data)
    return figure
