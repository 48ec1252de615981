#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds kernels with a series of runtime/kernel and tests them: run.py BUILD [NAME] [options].

The tests of a series are the folder of its name beside this file, with a run_test.py, which has
  SENTENCE                     what it measures
  WORKLOADS, CHECKS            name -> what it is, of what --only may choose
  CONFIG                       a file with the options of Linux that the series adds
  QEMU                         the guest of --qemu, if it has one
  NODES                        L1's, if it has several
  main(rig, options, report)   -> exit status

It exits 0 if all was measured, whether or not the aims are met, 1 if something could not be
built or run, or a kernel complained, or a check failed, and 2 on a usage error.
"""

import argparse
import concurrent.futures
import importlib.util
import os
import sys
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
RIGS = os.path.dirname(HERE)
ROOT = os.path.dirname(os.path.dirname(RIGS))
# Replaces this folder, in which `import kernel` would not find the package.
sys.path[0] = RIGS
sys.path.insert(1, os.path.join(RIGS, "bench"))

import bench  # noqa: E402
import measure  # noqa: E402
from bench import Usage  # noqa: E402
from guest import Broken, emulator  # noqa: E402
from kernel import build, qemu, rig, selftests, source  # noqa: E402

SERIES = os.path.join(ROOT, "runtime", "kernel")
QEMU_SERIES = os.path.join(SERIES, "qemu", "7.2")  # Debian 12's


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(message)


def names():
    return sorted(e for e in os.listdir(HERE)
                  if os.path.exists(os.path.join(HERE, e, "run_test.py")))


def runnable(options):
    """Returns the series of this version that have what is to be run."""
    if options.applies:
        return names()
    found = {name: load(name) for name in names() if os.path.isdir(os.path.join(SERIES, name, options.version))}
    return [name for name, module in found.items()
            if not (options.qemu and not module.QEMU) and not (options.checks and not module.CHECKS)]


def load(name):
    folder = os.path.join(HERE, name)
    sys.path.insert(2, folder)  # it has more files of its own
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "run_test.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def about(name):
    """Returns what --only may choose of a series."""
    module = load(name)
    lines = [f"{name}: {module.SENTENCE}"]
    for title, known in (("workloads", module.WORKLOADS), ("checks", module.CHECKS)):
        lines += [f"  {title}:", *(f"    {one:15} {what}" for one, what in known.items())]
    return "\n".join(lines)


def parser():
    found = Parser(prog="./dev kernel-test", description="Tests kernels with a series of "
                   "runtime/kernel in nested virtual machines.",
                   formatter_class=argparse.RawDescriptionHelpFormatter,
                   epilog="\n".join(map(about, names())))
    found.add_argument("build", help=argparse.SUPPRESS)
    found.add_argument("name", nargs="?", help=f"which series, of {', '.join(names())} [all]")
    found.add_argument("--version", default=source.VERSIONS[0], help="of Linux, "
                       f"{' or '.join(source.VERSIONS)} [%(default)s]")
    found.add_argument("--compiler", default="gcc", help=f"{' or '.join(build.COMPILERS)} [%(default)s]")
    found.add_argument("--hz", type=int, default=250, help=f"of the guest, L2: "
                       f"{', '.join(map(str, build.HZ))} [%(default)s]")
    found.add_argument("--host-hz", type=int, help="of its host, L1 [as the guest's]")
    found.add_argument("--host-cpus", type=int, default=rig.L1_CPUS, help="1: L1's clock counts instructions, "
                       "so that other work here makes no difference [%(default)s]")
    found.add_argument("--host-nohz-full", action="store_true", help="L1 stops its ticks where it can")
    found.add_argument("--reps", type=int, default=3, help="guests for each cell, off and on [%(default)s]")
    found.add_argument("--seconds", type=float, help="length of a run [3; of a check its own]")
    found.add_argument("--only", metavar="NAME,...", help="these workloads, or checks")
    found.add_argument("--periodic", action="store_true", help="count exits with a periodic timer, too")
    found.add_argument("--checks", action="store_true", help="whether it is right, not what it costs")
    found.add_argument("--selftests", action="store_true", help="KVM's own, in a host with the series "
                       "and in one without; --only: these")
    found.add_argument("--qemu", action="store_true", help="the series with QEMU, with runtime/kernel/qemu, as the guest's "
                       "VMM: whether it offers, saves and restores what the guest uses")
    found.add_argument("--patches", metavar="DIR", help="another series than runtime/kernel/NAME/VERSION; "
                       f"'{source.NONE.name}': no patch")
    found.add_argument("--also", metavar="PATCH", help="a patch more, on top of the series")
    found.add_argument("--build-only", action="store_true", help="build the kernels and stop")
    found.add_argument("--objects", action="store_true", help="compile the files that the series touches, "
                       "and stop")
    found.add_argument("--applies", action="store_true", help="only check that the series of all versions "
                       "apply; unpacks no whole tree")
    found.add_argument("--tree", metavar="DIR", help="with --applies: what of the series for --version stands in the way of "
                       "applying it to another tree of Linux, file by file")
    found.add_argument("--out", metavar="DIR", help="where NAME.json goes [BUILD/kernel-test]")
    return found


def among(value, known, option):
    if value not in known:
        raise Usage(f"{option} is {', '.join(map(str, known[:-1]))} or {known[-1]}, not {value}")


def checked(options):
    """Checks the options and returns the modules to run."""
    if options.name and options.name not in names():
        raise Usage(f"no series '{options.name}', there are: {', '.join(names())}")
    among(options.version, source.VERSIONS, "--version")
    among(options.compiler, list(build.COMPILERS), "--compiler")
    among(options.hz, build.HZ, "--hz")
    options.host_hz = options.host_hz or options.hz
    among(options.host_hz, build.HZ, "--host-hz")
    if not 1 <= options.host_cpus <= rig.L1_CPUS:
        raise Usage(f"--host-cpus is 1 or {rig.L1_CPUS}, not {options.host_cpus}")
    if options.host_nohz_full and options.host_cpus == 1:
        raise Usage("--host-nohz-full is of a second CPU, as the first always ticks")
    if options.reps < 1:
        raise Usage("--reps is 1 at least")
    if options.seconds is not None and not 0.1 <= options.seconds <= 3600:
        raise Usage("--seconds is 0.1 to 3600")
    if options.tree and not options.applies:
        raise Usage("--tree is of --applies")
    if options.patches == source.NONE.name:
        for option in ("objects", "selftests", "qemu", "also"):
            if getattr(options, option):
                raise Usage(f"--{option} is about a series, not about '{source.NONE.name}'")
    modules = {name: load(name) for name in ([options.name] if options.name else runnable(options))}
    if not (options.selftests or options.objects or options.applies):
        for name, module in modules.items():
            if options.qemu and not module.QEMU:
                raise Usage(f"{name} has no guest for --qemu")
            if options.checks and not module.CHECKS:
                raise Usage(f"{name} has no checks: --selftests are its own")
            chosen(module, options)
    return modules


def chosen(module, options):
    """Returns the workloads or checks to run."""
    known = module.CHECKS if options.checks else module.WORKLOADS
    if options.only:
        return bench.choice(options.only, known, "check" if options.checks else "workload")
    return [name for name, what in known.items() if not getattr(what, "by_name", False)]


def series(options, name):
    if options.patches == source.NONE.name:
        return source.NONE
    folder = options.patches or os.path.join(SERIES, name, options.version)
    if not os.path.isdir(folder):
        raise Usage(f"there is no folder {os.path.relpath(folder)}")
    if options.also and not os.path.isfile(options.also):
        raise Usage(f"there is no patch {options.also}")
    try:
        found = source.series(name, folder)
    except Broken as error:
        raise Usage(error)
    found.patches += [options.also] if options.also else []
    return found


def ways(tree, version, chosen_series):
    """Prints what of each series does not apply to a tree."""
    if not os.path.exists(os.path.join(tree, "Makefile")):
        raise Usage(f"there is no tree of Linux in {tree}")
    print(f"series for {version} on Linux {source.release(tree)}: hunks that do not apply, and all of that file")
    bench.table(["series", "patch", "file", "hunks", ""], [
        [name, patch[:4], file, f"{rejected} of {hunks}", ""] for name in chosen_series
        if os.path.isdir(os.path.join(SERIES, name, version))
        for patch, file, rejected, hunks in source.in_the_way(tree, source.series(name, os.path.join(SERIES, name, version)))])
    return 0


def applies(chosen_series):
    say = lambda text: print(f"kernel-test: {text}", flush=True)
    # One after the other, as apt has a lock; the archives are then unpacked side by side, each by
    # one process for 10 to 30 s.
    for version in source.VERSIONS:
        source.installed_archive(version)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = [pool.submit(emulator.applies, source.series("qemu", QEMU_SERIES), say)]
        for version in source.VERSIONS:
            jobs.append(pool.submit(source.applies, version, [
                source.series(name, os.path.join(SERIES, name, version)) for name in chosen_series
                if os.path.isdir(os.path.join(SERIES, name, version))], say))
        for job in jobs:
            job.result()
    return 0


def kinds(options):
    """Returns the kinds of the guest's kernel and of its host's."""
    return (build.Kind(options.version, options.compiler, options.hz),
            build.Kind(options.version, options.compiler, options.host_hz, options.host_nohz_full))


def new_report(tree, name, kind, options):
    """Returns a report and its folder. Results that are not comparable get different names."""
    if options.version != source.VERSIONS[0]:
        name += f"-{options.version}"
    name += kind
    if options.host_cpus == 1:
        name += "-virtual"
    if options.also:
        name += "-" + os.path.splitext(os.path.basename(options.also))[0]
    out = os.path.abspath(options.out or os.path.join(tree, "kernel-test"))
    os.makedirs(out, exist_ok=True)
    return bench.Report(name, SimpleNamespace(source=ROOT), out, {
        k: v for k, v in vars(options).items() if k not in ("build", "out")}), out


def test(tree, name, module, options):
    patches = series(options, name)
    progress = measure.Progress(f"kernel-test {name}")
    say = lambda text: print(f"kernel-test {name}: {text}", flush=True)
    if options.selftests:
        report, out = new_report(tree, name, "-selftests", options)
        return selftests.main(tree, kinds(options)[1], patches, [module.CONFIG], options.only, report, out,
                              progress, say, options.host_cpus)
    if options.objects:
        build.objects(tree, kinds(options)[0], patches, [module.CONFIG], progress, say)
        return 0

    def kernels(bare=None, **changed):
        """Returns the guest's and the host's kernel. changed replaces options of the command
        line; bare is "guest" or "host", the one without the series."""
        both = kinds(argparse.Namespace(**{**vars(options), **changed}))
        return [build.kernel(tree, kind, each, [module.CONFIG] if each.patches else [], progress, say)
                for kind, each in zip(both, (source.NONE if who == bare else patches
                                             for who in ("guest", "host")))]

    guest, host = kernels()
    say(f"guest {guest.name}; host {host.name}")
    if options.build_only:
        print(guest.image)
        return 0
    report, out = new_report(tree, name, "-qemu" if options.qemu else "-checks" if options.checks else "", options)
    report.content.update(
        kernel=guest.name, host_kernel=host.name, series={
            "name": patches.name, "digest": patches.digest(),
            "patches": [os.path.basename(p) for p in patches.patches]})
    machine = rig.Rig(tree, name, kernels, out, progress, say, patched=bool(patches.patches),
                      host_cpus=options.host_cpus, host_nohz_full=options.host_nohz_full,
                      nodes=getattr(module, "NODES", 1))
    machine.compile(os.path.join(HERE, name, "Inputs"))
    if options.qemu:
        return qemu.main(machine, module.QEMU, emulator.vmm(tree, source.series("qemu", QEMU_SERIES), say), report)
    options.chosen = chosen(module, options)
    return module.main(machine, options, report)


def main():
    try:
        options = parser().parse_args()
        modules = checked(options)
        if options.applies:
            return ways(options.tree, options.version, modules) if options.tree else applies(modules)
        tree = os.path.abspath(options.build)
        for name in modules:
            series(options, name)  # before the first is built
        return max(test(tree, name, module, options) for name, module in modules.items())
    except Usage as error:
        print(f"kernel-test: {error}", file=sys.stderr)
        return 2
    except (Broken, bench.Broken) as error:
        print(f"kernel-test: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    bench.exit_with(main)
