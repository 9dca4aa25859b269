# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of a result file, as PNG and SVG."""

from pathlib import Path

import xarray as xr

from analysis import cache_bytes, style, time_per_token

FIGURES = {"time_per_token": time_per_token.draw, "cache_bytes": cache_bytes.draw}


def draw_all(data: xr.Dataset, folder: Path) -> list[Path]:
    """Draws every figure that the data have something for; returns the files."""
    paths: list[Path] = []
    for name, draw in FIGURES.items():
        figure = draw(data)
        if figure is not None:
            paths += style.save(figure, folder, name)
    return paths
