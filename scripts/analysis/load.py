# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads a result file into an xarray.Dataset with names in place of codes."""

from pathlib import Path

import numpy as np
import xarray as xr


def load(path: str | Path) -> xr.Dataset:
    """The whole file in memory. Choices become strings, missing ones empty strings."""
    with xr.open_dataset(path) as file:
        return decode_choices(file.load())


def decode_choices(data: xr.Dataset) -> xr.Dataset:
    """Replaces the codes of every variable that has ``flag_meanings`` by those names."""
    named = {}
    for name, variable in data.variables.items():
        if "flag_meanings" in variable.attrs:
            attributes = {k: v for k, v in variable.attrs.items() if not k.startswith("flag_")}
            named[name] = (variable.dims, names_of(variable), attributes)
    return data.assign(named)


def names_of(variable: xr.Variable) -> np.ndarray:
    meanings = variable.attrs["flag_meanings"].split()
    codes = np.atleast_1d(variable.attrs["flag_values"])
    by_code = dict(zip(codes.tolist(), meanings, strict=True))
    return np.array([by_code.get(code, "") for code in variable.values.tolist()], dtype=str)


def keys(data: xr.Dataset) -> list[str]:
    """The point keys: what was asked for."""
    return [str(name) for name in data.data_vars if data[name].attrs.get("role") == "key"]


def varying(data: xr.Dataset) -> list[str]:
    """The point keys that differ among the points. Where K and V are always stored alike, k_element
    speaks for both; where they are not, both are there if one of them differs."""
    names = {name for name in keys(data) if len(set(data[name].values.tolist())) > 1}
    if names & {"k_element", "v_element"}:
        names |= {"k_element", "v_element"}
        if same_elements(data):
            names.remove("v_element")
    return [name for name in keys(data) if name in names]


def same_elements(data: xr.Dataset) -> bool:
    return bool((data["k_element"] == data["v_element"]).all())


def samples(data: xr.Dataset, *names: str) -> xr.Dataset:
    """The per-sample variables, with the named per-point variables joined to each sample."""
    of_sample = [name for name in data.data_vars if data[name].dims == ("sample",)]
    joined = data[of_sample]
    points = data["sample_point"].values
    for name in names:
        joined[name] = ("sample", data[name].values[points], data[name].attrs)
    return joined


def select(data: xr.Dataset, mask: xr.DataArray | np.ndarray) -> xr.Dataset:
    """The points that ``mask`` is true for, with their samples."""
    chosen = np.flatnonzero(np.asarray(mask))
    new_index = np.full(data.sizes["point"], -1)
    new_index[chosen] = np.arange(chosen.size)
    of_samples = new_index[data["sample_point"].values]
    reduced = data.isel(point=chosen, sample=np.flatnonzero(of_samples >= 0))
    reduced["sample_point"] = ("sample", of_samples[of_samples >= 0])
    return reduced.assign_coords(point=np.arange(chosen.size))


def measured(data: xr.Dataset) -> xr.Dataset:
    """Only the points whose status is ok."""
    return select(data, data["status"] == "ok")
