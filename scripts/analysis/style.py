# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""How figures look: colours that colour-blind people can tell apart, size, type, file formats."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only

import matplotlib.pyplot as plt  # noqa: E402
import xarray as xr  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

# Okabe and Ito's palette; black is kept for formulas and reference lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", ":", "-.")
WIDTH_INCHES = 8.0

plt.rcParams.update(
    {
        "figure.dpi": 150,
        "font.size": 10.5,
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E4E4E4",
        "grid.linewidth": 0.8,
        "axes.axisbelow": True,
        "axes.edgecolor": "#666666",
        "legend.frameon": False,
        "legend.fontsize": 9.5,
        "svg.hashsalt": "kvmeter",  # the same data make the same file
    }
)


def subject(data: xr.Dataset) -> str:
    """What was measured and where: "smollm2-135m on A Processor"."""
    models = sorted(set(data["model"].values.tolist()))
    model = Path(models[0]).name if len(models) == 1 else f"{len(models)} models"
    machines = [data.attrs.get("cpu", "")]
    if "backend" in data and "cuda" in data["backend"].values:
        machines.append(data.attrs.get("gpu", ""))
    machine = ", ".join(" ".join(name.split()) for name in machines if name)
    return f"{model} on {machine.replace(chr(10), ', ')}" if machine else model


def title(figure: Figure, text: str, data: xr.Dataset) -> None:
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.16 / height, text, size=13, weight="bold", va="top")
    figure.text(0.02, 1 - 0.42 / height, subject(data), size=10, color="#555555", va="top")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes NAME.png and NAME.svg and closes the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0])
    figure.savefig(paths[1], metadata={"Date": None})
    plt.close(figure)
    return paths
