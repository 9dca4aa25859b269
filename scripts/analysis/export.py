# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Result files as CSV: points.csv and samples.csv, missing values as empty fields."""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr


def frame(data: xr.Dataset, dimension: str) -> pd.DataFrame:
    """The variables along one dimension; whole numbers stay whole where some are missing."""
    columns = {}
    for name, variable in data.data_vars.items():
        if variable.dims != (dimension,):
            continue
        stored = np.dtype(variable.encoding.get("dtype", variable.dtype))
        column = pd.Series(variable.values)
        columns[name] = column.astype("Int64") if stored.kind == "i" else column
    return pd.DataFrame(columns, index=data[dimension].to_index())


def export(data: xr.Dataset, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for dimension in ("point", "sample"):
        paths.append(folder / f"{dimension}s.csv")
        frame(data, dimension).to_csv(paths[-1])
    return paths
