# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly numa: nodes, pages and policies."""

import argparse
import sys
from pathlib import Path

from vfriendly import numa, probing
from vfriendly.errors import Refused

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
    probe = inner.add_parser(
        "probe", help="groups of CPUs that are close to each other, as sockets are, by measurement",
        description="Passes a cache line between each two CPUs and tells groups from the times, or that they are "
                    "unknown. For an idle machine whose vCPUs stay where they are.")
    source = probe.add_mutually_exclusive_group()
    source.add_argument("--matrix", metavar="FILE", help="judge recorded times: a line for each CPU, in ns")
    source.add_argument("--save", metavar="FILE", help="keep the measured times in a file for --matrix")
    probe.add_argument("--library", metavar="FILE", help=f"{probing.LIBRARY}, if it is elsewhere")
    probe.set_defaults(do=_probe)


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


def _probe(options: argparse.Namespace) -> list[str]:
    distances = probing.read(options.matrix) if options.matrix else probing.measure(options.library, _progress)
    if options.save:
        try:
            Path(options.save).write_text("\n".join(probing.matrix(distances)) + "\n", encoding="utf-8")
        except OSError as error:
            raise Refused(f"{options.save}: cannot be written: {error.strerror}") from None
    verdict = probing.judged(distances)
    if not verdict.groups:
        return [f"unknown: {verdict.words}"]
    count = len(verdict.groups)
    lines = [f"{count} group{'s' if count > 1 else ''}: {verdict.words}"]
    return lines + [f"group {n}: CPUs {numa.ranges(group)}" for n, group in enumerate(verdict.groups)]


def _progress(done: int, pairs: int) -> None:
    """One line, rewritten, on a terminal: 100 CPUs take half a minute."""
    if sys.stderr.isatty() and (done % 20 == 0 or done + 1 == pairs):
        end = "\r" if done + 1 < pairs else "\r\033[K"
        print(f"measured {done} of {pairs} pairs of CPUs", end=end, file=sys.stderr, flush=True)
