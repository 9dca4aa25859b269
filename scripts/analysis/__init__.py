# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Reads result files, draws figures of them, prints tables and exports CSV.

    PYTHONPATH=scripts python -m analysis quickstart OUT.h5 --output DIR

In a notebook: ``from analysis.load import load; points = load("OUT.h5")``.
"""
