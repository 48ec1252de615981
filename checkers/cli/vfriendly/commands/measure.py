# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly measure: what a program waits for, and at which lines."""

import argparse
import os
import re
from collections.abc import Iterator, Sequence

from vfriendly import escaping, programs, remedies
from vfriendly.commands import _common
from vfriendly.errors import CLEAN, Refused
from vfriendly.measuring import (
    calibrating,
    collecting,
    comparing,
    model,
    perfetto,
    pprof,
    profile,
    sites,
    table,
    vmm,
)

SENTENCE = "Measures what a program loses to waits, wake-ups, shootdowns and page faults, and at which lines."
EXAMPLE = (1, "-- ./prog", "where the time goes, and what to change first")
TAKES_COMMAND = True
EPILOG = "exit status: 0 measured, also if the command fails; 2 wrong usage or nothing can be measured; 130 interrupted"
INTERRUPTED = 130
MOST_PID = 1 << 22  # the kernel's
_EXPORTS = {"pprof": pprof.encode, "perfetto": perfetto.encode}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*",
                        metavar="compare BASE NEW | model PROFILE | pprof PROFILE FILE | perfetto PROFILE FILE",
                        help="compare profiles; several of each, with commas between, have intervals. Or model what "
                             "the wake-ups and shootdowns of a profile cost on other machines. Or write it for pprof "
                             "or for Perfetto")
    parser.add_argument("--overhead", choices=comparing.SCENARIOS,
                        help="with compare: BASE is native and NEW virtual; UC: alone, OC: two virtual machines on the "
                             "CPUs of one, OC2: the same, beside two native copies")
    parser.add_argument("--host", metavar="FILE,FILE",
                        help="with --overhead: for each virtual run, /proc/PID/stat of the VMM or the CPU time of its "
                             "control group before and after it, or a report of perf kvm stat, recorded on the host")
    parser.add_argument("--vcpus", default="4,16,64", metavar="N,N", help="with model: numbers of vCPUs [%(default)s]")
    parser.add_argument("--nodes", type=int, default=1, metavar="K", help="with model: NUMA nodes [%(default)s]")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-p", "--pid", type=int, metavar="PID", help="measure a running process and its children")
    what.add_argument("--system", action="store_true", help="measure all processes")
    parser.add_argument("--remedies", metavar="A+B", help="start the command with these, as vfriendly run does")
    parser.add_argument("--sites", action="store_true",
                        help="also what the runtime and the preloaded libraries count at each place that waits")
    parser.add_argument("--blocks", action="store_true",
                        help="also the blocks of memory that a command after -- allocates, by place: how many, and "
                             "what becomes of them")
    parser.add_argument("--seconds", type=float, default=0, metavar="N", help="end after this time [when it ends]")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the profile, for report, scan and compare")
    parser.add_argument("-n", "--places", type=int, default=10, metavar="N", help="places to list [%(default)s]")
    parser.add_argument("--without-bpf", action="store_true", help="use what an ordinary user may use")
    parser.add_argument("--without-perf", action="store_true", help="use neither BPF nor perf events")
    parser.add_argument("--quiet", "-q", action="store_true", help="do not show progress")


def _compare(names: Sequence[str], options: argparse.Namespace) -> Iterator[str]:
    base, new = (comparing.load(name) for name in names)
    hosts = [vmm.read(name) for name in options.host.split(",")] if options.host else []
    if hosts and not options.overhead:
        raise Refused("--host needs --overhead")
    yield from comparing.lines(base, new)
    if options.overhead:
        yield ""
        yield from comparing.overhead(base, new, options.overhead, hosts)


def _model(name: str, options: argparse.Namespace) -> Iterator[str]:
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", options.vcpus) or options.nodes < 1:
        raise Refused(f"--vcpus {options.vcpus} --nodes {options.nodes}: give numbers above 0, of vCPUs with commas")
    measured = profile.read(name)
    vcpus = sorted({int(n) for n in options.vcpus.split(",")})
    yield from model.lines(measured, calibrating.costs(), vcpus, options.nodes, options.places)


def _of_profiles(options: argparse.Namespace) -> int:
    verb, *names = options.words
    if verb == "compare" and len(names) == 2:
        found = _compare(names, options)
    elif verb == "model" and len(names) == 1:
        found = _model(names[0], options)
    elif verb in _EXPORTS and len(names) == 2:
        _common.check_folder(names[1])
        _common.put(_EXPORTS[verb](profile.read(names[0])), names[1])
        found = iter(())
    else:
        raise Refused(f"measure {' '.join(options.words)}: put a command after --, or compare BASE NEW, "
                      "or model PROFILE, or pprof PROFILE FILE, or perfetto PROFILE FILE")
    for line in found:
        print(escaping.terminal(line))
    return CLEAN


def run(options: argparse.Namespace) -> int:
    if options.words:
        return _of_profiles(options)
    if options.host:
        raise Refused("--host is for compare with --overhead")
    if bool(options.command) == bool(options.pid is not None or options.system):
        raise Refused("give one of -p PID, --system, and a command after --")
    if options.pid is not None and not 0 < options.pid <= MOST_PID:
        raise Refused(f"-p {options.pid}: is no number of a process")
    if not 0 <= options.seconds < _common.LONGEST or options.places < 0:
        raise Refused("--seconds and -n must be positive numbers")
    _common.check_folder(options.output)
    command, environment = options.command, dict(os.environ)
    if options.command:
        program = programs.find(options.command)
        if options.remedies:
            remedy = remedies.usable(options.remedies, program)
            command, environment = remedy.command(command), remedy.environment(environment)
    elif options.sites or options.blocks:
        raise Refused(f"--{'sites' if options.sites else 'blocks'} needs a command after --: a program is asked to "
                      "count when it starts")
    own = sites.Sites(environment) if options.sites else None
    environment = own.environment(environment) if own else environment
    target = collecting.Target(command, options.pid or 0, options.system, options.seconds, environment, own,
                               options.blocks)
    show = _common.Progress(options.quiet)
    allowed = "proc" if options.without_perf else "events" if options.without_bpf else "bpf"
    done = collecting.collect(target, show.at, allowed)
    show.end()
    if options.output:
        _common.put(done.profile.to_json(), options.output)
    for line in table.lines(done.profile, options.places):
        print(escaping.terminal(line))
    if done.status:
        escaping.say(f"the command ended with status {done.status}")
    return INTERRUPTED if done.interrupted else CLEAN
