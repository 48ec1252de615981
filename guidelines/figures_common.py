# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the renderers of all tables use."""
import json
import sys


def fail(why):
    print(f"figures: {why}", file=sys.stderr)
    sys.exit(2)


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def read(path):
    """Returns the report of a benchmark run whose figures a page may show."""
    try:
        with open(path) as file:
            report = json.load(file)
        name = report["name"]
    except (OSError, ValueError, KeyError) as error:
        fail(f"{path}: {error}: run ./dev bench first")
    if report["dirty"] or report["parameters"].get("smoke"):
        fail(f"{path}: measured on changed sources or as a smoke test: commit, then run ./dev bench {name}")
    return report
