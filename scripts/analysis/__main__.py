# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""python -m analysis quickstart|table|plot|export OUT.h5: see --help."""

import argparse
import sys
from pathlib import Path

EXAMPLE = """examples:
  python -m analysis quickstart results/quickstart.h5 --output results/quickstart
  python -m analysis table results/quickstart.h5
  python -m analysis export results/quickstart.h5 --output results/csv
"""
COMMANDS = {
    "quickstart": "print the table, draw the figures",
    "table": "print the main results of each point",
    "plot": "draw the figures as PNG and SVG",
    "export": "write points.csv and samples.csv",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Figures, tables and CSV of kvmeter result files.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what)
        command.add_argument("file", type=Path, metavar="OUT.h5")
        if name != "table":
            command.add_argument(
                "--output", type=Path, metavar="DIR", help="default: OUT beside it"
            )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    from analysis import export, load, plot, report  # slow to import; not for --help

    try:
        data = load.load(options.file)
    except (OSError, ValueError) as error:
        why = "is no HDF5 file" if isinstance(error, ValueError) else f"cannot be read: {error}"
        print(f"{options.file}: {why.splitlines()[0]}", file=sys.stderr)
        return 1
    folder = getattr(options, "output", None) or options.file.with_suffix("")
    if options.command in ("quickstart", "table"):
        print(report.report(data))
    paths = []
    if options.command in ("quickstart", "plot"):
        paths = plot.draw_all(data, folder)
    if options.command == "export":
        paths = export.export(data, folder)
    for path in paths:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
