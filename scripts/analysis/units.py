# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Quantities as people read them; the C++ twin is harness/core/units.cpp."""

import math

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
SECOND_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def three_digits(value: float) -> str:
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:,.{digits}f}"


def format_bytes(value: float) -> str:
    """1.25 GiB; exact below 1 KiB."""
    if math.isnan(value):
        return "-"
    if abs(value) < 1024:
        return f"{value:.0f} B"
    power = min(int(math.log(abs(value), 1024)), len(BYTE_UNITS) - 1)
    return f"{three_digits(value / 1024**power)} {BYTE_UNITS[power]}"


def second_unit(value: float) -> tuple[str, float]:
    """The unit, and its size in seconds, in which ``value`` is at least one."""
    for name, size in SECOND_UNITS:
        if abs(value) >= size:
            return name, size
    return SECOND_UNITS[-1] if value else SECOND_UNITS[0]


def format_seconds(value: float) -> str:
    """1.23 ms."""
    if math.isnan(value):
        return "-"
    name, size = second_unit(value)
    return f"{three_digits(value / size)} {name}"


def format_number(value: float) -> str:
    return "-" if math.isnan(value) else three_digits(value)


def format_small(value: float) -> str:
    """1.3e-06."""
    return "-" if math.isnan(value) else f"{value:.1e}"


def format_percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.0f} %"
