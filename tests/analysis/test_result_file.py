# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Result files open with everything that users open such files with."""

import math
import subprocess
import warnings
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

N_POINTS = 9
N_SAMPLES = 8 * 192


def run(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("options", [{}, {"engine": "h5netcdf"}, {"engine": "netcdf4"}])
def test_xarray(result_file: Path, options: dict) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(result_file, **options) as data:
            data.load()
    assert dict(data.sizes) == {"point": N_POINTS, "sample": N_SAMPLES}
    assert data["itl_s"].attrs["units"] == "s"
    assert data["itl_s"].dtype == np.float64
    assert data["cache"].attrs["flag_meanings"] == "none contiguous"
    assert data["model"].values[0] == "smollm2-135m"
    assert data.attrs["peak_read_bandwidth"] == 25.4e9


def test_xarray_shows_missing_values_as_missing(result_file: Path) -> None:
    with xr.open_dataset(result_file) as data:
        last = data.isel(point=-1).load()
    for name in ("itl_s", "cache_live_bytes", "kv_projections", "stop_reason"):
        assert math.isnan(last[name]), name
    assert last["order"] == N_POINTS - 1


def test_netcdf4(result_file: Path) -> None:
    with netCDF4.Dataset(result_file) as data:
        assert data.data_model == "NETCDF4"
        assert data.dimensions["point"].size == N_POINTS
        assert data["cache_live_bytes"].units == "byte"
        assert data["cache_live_bytes"].dimensions == ("point",)
        assert data["cache_live_bytes"][:].mask.tolist() == [False] * 8 + [True]
        assert data["message"][-1] == "this program was built without CUDA"
        assert data["sample_time_s"].dimensions == ("sample",)


def test_h5py(result_file: Path) -> None:
    with h5py.File(result_file) as data:
        assert data["itl_s"].dims[0][0].name == "/point"
        assert data["sample_time_s"].dims[0][0].name == "/sample"
        assert data["model"].asstr()[0] == "smollm2-135m"
        assert data["cache"].dtype == np.int8
        assert data["cache"][:].tolist() == [0] * 4 + [1] * 5
        assert list(data)[:2] != []  # creation order can be walked
        assert all(variable.dtype != np.float16 for variable in data.values())


def test_ncdump(result_file: Path) -> None:
    text = run("ncdump", "-h", result_file)
    assert 'itl_s:units = "s"' in text
    assert 'cache_live_bytes:units = "byte"' in text
    assert "itl_s:_FillValue = NaN" in text
    assert 'cache:flag_meanings = "none contiguous"' in text
    assert run("ncdump", "-v", "n_generated", result_file).count("_ ;") == 1


def test_h5dump(result_file: Path) -> None:
    text = run("h5dump", "-H", result_file)
    assert 'DATASET "itl_s"' in text
    assert 'DATASET "sample_time_s"' in text


def test_every_number_has_units_and_every_variable_a_name(result_file: Path) -> None:
    with xr.open_dataset(result_file, decode_cf=False) as data:
        for name, variable in data.variables.items():
            assert variable.attrs["long_name"], name
            number = variable.dtype.kind in "if" and "flag_values" not in variable.attrs
            if number and variable.dtype.itemsize == 8:
                assert variable.attrs["units"], name


def test_a_file_without_points(empty_file: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(empty_file) as data:
            assert dict(data.sizes) == {"point": 0, "sample": 0}
    with netCDF4.Dataset(empty_file) as data:
        assert data.dimensions["point"].size == 0
    assert "point = UNLIMITED ; // (0 currently)" in run("ncdump", "-h", empty_file)
