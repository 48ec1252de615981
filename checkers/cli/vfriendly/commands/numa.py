# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly numa: nodes, pages and policies."""

import argparse

from vfriendly import numa

SENTENCE = "Shows nodes and pages by node, and names the placement that suits a program."


def options(parser: argparse.ArgumentParser) -> None:
    inner = parser.add_subparsers(metavar="WHAT", required=True)
    show = inner.add_parser("show", help="the machine's nodes, and a process's pages by node")
    show.add_argument("pid", nargs="?", metavar="PID", help="a process")
    show.set_defaults(do=_show)
    classify = inner.add_parser(
        "classify", help="which placement suits, by counts of accesses for each node",
        description="FILE has lines of a name and a count of accesses for each node, measured with first touch.")
    classify.add_argument("file", metavar="FILE")
    classify.add_argument("--pages", action="store_true",
                          help="the counts are of pages, which says less than accesses do")
    classify.set_defaults(do=_classify)


def run(options: argparse.Namespace) -> int:
    for line in options.do(options):
        print(line)
    return 0


def _show(options: argparse.Namespace) -> list[str]:
    lines = numa.machine()
    if options.pid:
        pages = numa.pages_of(options.pid)
        lines += [f"process {options.pid}: node {node}: {kb // 1024} MB" for node, kb in sorted(pages.items())]
    return lines


def _classify(options: argparse.Namespace) -> list[str]:
    what = "pages, not of accesses," if options.pages else "accesses"
    return [numa.judged(run, what) for run in numa.read_runs(options.file)]
