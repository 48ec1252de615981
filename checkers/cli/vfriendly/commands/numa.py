# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly numa: nodes, pages and policies."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from vfriendly import balancing, escaping, hosting, numa, probing, sampling
from vfriendly.errors import Refused

# Pages of 4 KiB to move each second, 10 MiB: copying and the flushes of TLBs take less than 1 % of
# a CPU.
RATE = 2560
# Seconds without a move after which balancing ends. The kernel samples a page again after 1 to 60
# seconds, so a process that was idle for long may need more.
QUIET_S = 30
# Interval in seconds at which the rings of samples are emptied. Moves are chosen once a second.
POLL_S = 0.1
# With --hold, the kernel's balancing is switched off only after the number of hot shared pages has
# grown at most by the factor SETTLED in SETTLED_S seconds: pages that become hot later are not
# moved any more.
SETTLED_S, SETTLED = 5, 1.05

# Of `place`. The kernel samples 256 MiB after each second that a thread has run.
SAMPLED_S = 20

SENTENCE = "Shows NUMA nodes and pages by node, suggests a placement, and moves pages to where they are used."


def options(parser: argparse.ArgumentParser) -> None:
    inner = parser.add_subparsers(metavar="WHAT", required=True)
    show = inner.add_parser("show", help="shows the machine's nodes, and a process's pages by node")
    show.add_argument("pid", nargs="?", metavar="PID", help="process to show [none]")
    show.set_defaults(do=_show)
    classify = inner.add_parser(
        "classify", help="suggests a placement from the number of accesses to each node",
        description="Each line of FILE has the name of a program and its number of accesses to each node, "
                    "measured with first touch, and load=PERCENT of the interconnect's busiest link if that is known.")
    classify.add_argument("file", metavar="FILE")
    classify.add_argument("--pages", action="store_true",
                          help="the numbers count pages, which are less reliable than accesses")
    classify.set_defaults(do=_classify)
    probe = inner.add_parser(
        "probe", help="measures which CPUs are close to each other, such as those of a socket",
        description="Passes a cache line between each two CPUs and prints the groups that the times show, or that "
                    "they are unknown. Needs an idle machine with pinned vCPUs.")
    source = probe.add_mutually_exclusive_group()
    source.add_argument("--matrix", metavar="FILE", help="use recorded times: a line for each CPU, in ns")
    source.add_argument("--save", metavar="FILE", help="write the measured times to a file for --matrix")
    probe.add_argument("--library", metavar="FILE", help=f"path of {probing.LIBRARY} [that of the build]")
    probe.set_defaults(do=_probe)
    balance = inner.add_parser(
        "balance", help="moves a process's pages to the nodes that use them, and spreads those that several use",
        description="Samples the page faults of the kernel's automatic NUMA balancing, moves hot pages to the node "
                    "that uses them alone, and spreads those that several nodes use. "
                    "Ends after some time without a move.")
    balance.add_argument("pid", metavar="PID", help="process to balance")
    balance.add_argument("--rate", type=_number, default=RATE, metavar="N",
                         help="maximum of pages to move per second [%(default)s]")
    balance.add_argument("--quiet", type=_number, default=QUIET_S, metavar="S",
                         help="end after this many seconds without a move [%(default)s]")
    balance.add_argument("--hold", action="store_true",
                         help="when the pages are spread evenly, end and set kernel.numa_balancing to 0 for the whole "
                              "machine, so that the kernel does not move them back")
    balance.add_argument("--seconds", type=_number, metavar="S", help="end after this time at the latest")
    balance.set_defaults(do=_balance)
    place = inner.add_parser(
        "place", help="brings a process's memory to the host's nodes that use it, in a guest that sees one node",
        description="Samples which vCPUs use which memory, and copies it, in blocks of 2 MiB and while the process "
                    "goes on, on a vCPU of the group that uses it: the host places memory that is new to it where that "
                    "vCPU runs. Memory that several groups use is spread. Takes as much free memory as it copies, "
                    "until it ends. Needs root, Linux 6.1 or later and pinned vCPUs.")
    place.add_argument("pid", metavar="PID", help="process to place")
    place.add_argument("--host", action="store_true", required=True,
                       help="by the host's nodes, which this guest does not see")
    place.add_argument("--groups", metavar="CPUS/CPUS",
                       help="the vCPUs of each node of the host, such as 0-3/4-7 [those that `probe` finds]")
    place.add_argument("--library", metavar="FILE", help=f"path of {probing.LIBRARY} [that of the build]")
    place.add_argument("--seconds", type=_number, default=SAMPLED_S, metavar="S",
                       help="length of sampling [%(default)s]")
    place.set_defaults(do=_place)


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 1")
    return int(text)


def run(options: argparse.Namespace) -> int:
    lines: Iterable[str] = options.do(options)
    for line in lines:
        print(escaping.terminal(line), flush=True)
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
    """Shows progress on a terminal, in one line: measuring 100 CPUs takes half a minute."""
    if sys.stderr.isatty() and (done % 20 == 0 or done + 1 == pairs):
        end = "\r" if done + 1 < pairs else "\r\033[K"
        print(f"measured {done} of {pairs} pairs of CPUs", end=end, file=sys.stderr, flush=True)


def _balance(options: argparse.Namespace) -> Iterator[str]:
    process = numa.process(options.pid)
    nodes, node_of = numa.nodes_for(process)
    balancer = balancing.Balancer(nodes)
    if options.hold:
        numa.may_hold()
    hot: list[int] = []  # the number of hot shared pages after each second
    try:
        faults = sampling.Faults(process)
        sampling.move_pages(process, [0], None)  # Asked before anything is moved: may we?
    except ProcessLookupError:
        raise Refused(f"process {process} is gone") from None
    moved = home = 0
    began = quiet_since = time.monotonic()
    try:
        while True:
            second = time.monotonic() + 1
            while time.monotonic() < second:
                time.sleep(POLL_S)
                for page, cpu in faults.read():
                    if cpu in node_of:
                        balancer.sample(page, node_of[cpu])
            faults.follow()
            pages, owned = balancer.shared(), balancer.astray()
            where = sampling.places(process, pages) if pages else {}
            moves = balancer.moves(where, options.rate)
            done = sampling.move(process, moves)
            balancer.done(moves, done)
            homes = balancer.homes(sampling.places(process, owned) if owned else {}, options.rate - len(done))
            at_home = sampling.move(process, homes)
            balancer.sent_home(homes)
            now = time.monotonic()
            if at_home:
                home += len(at_home)
                quiet_since = now
                yield f"{now - began:.0f} s: {len(at_home)} pages to the node that uses them"
            if done:
                moved += len(done)
                quiet_since = now
                before, after = balancer.imbalance(where), balancer.imbalance(where | done)
                yield (f"{now - began:.0f} s: {len(where)} hot shared pages, imbalance {before:.1f} % -> "
                       f"{after:.1f} %, moved {len(done)}")
            ended = ""
            hot.append(len(where))
            if options.hold and moved and not at_home and balancer.is_even(where | done) and (
                    len(hot) > SETTLED_S and hot[-1] <= SETTLED * hot[-1 - SETTLED_S]):
                numa.hold()
                ended = "; kernel.numa_balancing is 0 now, so they stay"
            elif now - quiet_since >= options.quiet:
                ended = f"; nothing to do for {options.quiet} s"
            elif options.seconds and now - began >= options.seconds:
                ended = f" in {options.seconds} s"
            if ended:
                left = balancer.imbalance(where | done)
                if home:
                    yield f"{home} pages in all went to the node that uses them"
                yield f"moved {moved} pages{ended}: {len(where)} hot shared pages, imbalance {left:.1f} %"
                if moved and left > numa.thresholds(len(nodes))[0]:
                    yield "the kernel took pages back: run again with --hold to keep them"
                return
    except ProcessLookupError:
        yield f"moved {moved} shared pages and {home} to the node that uses them; process {process} has ended"


def _groups(options: argparse.Namespace) -> probing.Groups:
    if options.groups:
        return hosting.groups(options.groups)
    verdict = probing.judged(probing.measure(options.library, _progress))
    if len(verdict.groups) < 2:
        raise Refused(f"the nodes of the host do not show ({verdict.words or 'one group'}): give --groups")
    return verdict.groups


def _place(options: argparse.Namespace) -> Iterator[str]:
    process = numa.process(options.pid)
    size = hosting.may_place()
    cpus_of = _groups(options)
    uses = hosting.Uses({cpu: number for number, cpus in enumerate(cpus_of) for cpu in cpus}, size)
    try:
        faults = sampling.Faults(process)
        copier = hosting.Copier(process, size)
    except ProcessLookupError:
        raise Refused(f"process {process} is gone") from None
    try:
        with hosting.Sampling():
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                time.sleep(POLL_S)
                for page, cpu in faults.read():
                    uses.sample(page, cpu)
                faults.follow()
        blocks = list(hosting.blocks_of(Path(f"/proc/{process}/maps").read_text(encoding="utf-8"), size))
        chosen, shared = uses.chosen(blocks)
        yield (f"sampled for {options.seconds} s: {len(chosen)} of {len(blocks)} blocks of {size >> 20} MiB in use, "
               f"{shared} of them by several groups")
        room = hosting.free_bytes(Path("/proc/meminfo").read_text(encoding="ascii")) // size
        copied: Counter[int] = Counter()
        failed: Counter[str] = Counter()
        for number, (block, group) in enumerate(chosen.items()):
            why = copier.copy(block, cpus_of[group]) if number < room else "no free memory"
            failed.update([why] if why else [])
            copied.update([] if why else [group])
        yield from (f"CPUs {numa.ranges(cpus)}: {copied[group]} blocks copied" for group, cpus in enumerate(cpus_of))
        yield from (f"not copied: {count}: {why}" for why, count in failed.most_common())
        if not hosting.reports_free_pages():
            yield ("this guest reports no free memory to its host, so only copies in memory that it had not used "
                   "before are placed anew: give it a virtio balloon with free-page reporting")
    except (ProcessLookupError, FileNotFoundError):
        yield f"process {process} has ended"
    finally:
        copier.close()
