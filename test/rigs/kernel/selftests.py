# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""KVM's own selftests, built from the patched source, in a host with the series and in one
without: what passes without it has to pass with it, and what skips without it must not fail.

Many need Intel's VMX, or more than is emulated: those skip or fail in both.
"""

import os
import re
import subprocess

import bench
from guest import Broken, emulator, initramfs, machine, nested, packages
from kernel import build, rig, source

FOLDER, ARCH = os.path.join("tools", "testing", "selftests", "kvm"), "x86_64"
MEGABYTES = 2048
# The longest that passes takes half of it here; those that copy memory for minutes are
# given up.
LIMIT_S = 120
# Semaphores with a name are files in there.
SCRIPT = """
mkdir /dev/shm
for t in {tests}; do
  echo "begins: $t"
  timeout -s KILL {limit} /$t >/tmp/log 2>&1
  echo "$t: status $?"
  tail -n 3 /tmp/log
done
"""
SKIPS = 4
# glibc loads it when a thread is cancelled, and nothing is linked to it.
UNWINDER = "libgcc_s.so.1"
WORDS = {0: "passes", SKIPS: "skips", 137: f"takes more than {LIMIT_S} s"}
BROKE = "ends the host"


def programs(tree, kind, series, more, only, progress, say):
    """Name -> path of each that compiles; only these, if they are x86's own."""
    packages.install([*build.PACKAGES, *build.COMPILERS[kind.compiler][1]])
    with source.locked(tree):
        make = build.prepared(tree, kind, series, more, progress, say)
        make("installing headers", "headers")
        out = os.path.join(make.objects, "selftests")
        os.makedirs(out, exist_ok=True)
        names = only.split(",") if only else []
        wanted = [os.path.join(out, ARCH, name) for name in names]
        if not all(os.path.exists(os.path.join(make.tree, FOLDER, ARCH, f"{name}.c")) for name in names):
            wanted = []  # a name that there is not, or of a test for all architectures
        say("building KVM's selftests")
        with open(make.log, "a") as log:
            # What does not compile here is missing in both hosts.
            subprocess.run(
                ["make", "-k", "-C", os.path.join(make.tree, FOLDER), make.jobs, f"OUTPUT={out}",
                 f"KHDR_INCLUDES=-isystem {os.path.join(make.objects, 'usr', 'include')}", *wanted],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    found = {}
    for folder, _, files in os.walk(out):
        for name in files:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK) and not os.path.splitext(name)[1]:
                found[name] = path
    if not found:
        raise Broken(f"none of KVM's selftests compiles, see {make.log}")
    return dict(sorted(found.items()))


def unwinder(kind):
    """Path in a host -> path here."""
    done = subprocess.run([build.COMPILERS[kind.compiler][0], f"-print-file-name={UNWINDER}"],
                          capture_output=True, text=True)
    return {f"lib/{UNWINDER}": done.stdout.strip()}


def run(kernel, tests, libraries, out, qemu, busybox, progress, host_cpus):
    """Name -> status, or BROKE. One that ends the host is left out, and the rest go on."""
    virtual = host_cpus == 1
    found, left = {}, dict(tests)
    while left:
        begun, script = None, SCRIPT.format(tests=" ".join(left), limit=LIMIT_S)
        initrd = initramfs.write(os.path.join(out, "selftests.cpio"), busybox, {**left, **libraries},
                                 script, nested.L1)

        def seen(line):
            nonlocal begun
            if line.startswith("begins: "):
                begun = line.split()[1]
                progress.at(f"{kernel.name}: {begun}, {len(found) + 1} of {len(tests)}")
            status = re.fullmatch(r"(\w+): status (\d+)", line)
            if status and status.group(1) in left:
                found[status.group(1)] = int(status.group(2))

        try:
            machine.boot(qemu, kernel.image, initrd, host_cpus, MEGABYTES, name=nested.L1, seen=seen,
                         silence=LIMIT_S * (rig.SLOWER if virtual else 2), words=rig.HOST_WORDS,
                         console=os.path.join(out, "selftests.L1"), virtual=virtual)
        except Broken:
            if begun is None or begun in found:
                raise
            found[begun] = BROKE
        left = {name: path for name, path in left.items() if name not in found}
    return found


def word(status):
    return WORDS.get(status, status if status == BROKE else f"fails with status {status}")


def compared(without, patched):
    """A line for each test that differs, and whether it is worse with the series: passes only
    without, or skips without and fails with it, as a test of the series' own would."""
    for name, status in patched.items():
        if status != without[name]:
            yield (f"{name}: {word(status)}; without the series it {word(without[name])}",
                   without[name] == 0 or without[name] == SKIPS and status != 0)


def own(tree, kind, series, names):
    """Returns True if the series brings all of these: a host without it would skip them."""
    brought = {os.path.basename(path) for path in series.touched()
               if path.startswith(FOLDER) and not os.path.exists(os.path.join(source.folder(tree, kind.version), source.PRISTINE, path))}
    return all(f"{name}.c" in brought for name in names)


def main(tree, kind, series, more, only, report, out, progress, say, host_cpus=rig.L1_CPUS):
    """Prints what differs; the exit status is whether something is worse with the series."""
    built = programs(tree, kind, series, more, only, progress, say)
    tests = {name: built[name] for name in bench.choice(only, built, "selftest")}
    hosts = [build.kernel(tree, kind, series, more, progress, say)]
    if not own(tree, kind, series, tests):
        hosts.insert(0, build.kernel(tree, kind, source.NONE, [], progress, say))
    qemu, busybox = emulator.qemu(tree, say), packages.busybox(os.path.join(tree, "guest"))
    found = [run(host, tests, unwinder(kind), out, qemu, busybox, progress, host_cpus) for host in hosts]
    progress.end()
    without, patched = found if len(found) == 2 else (dict.fromkeys(tests, SKIPS), *found)
    report.content["samples"] += [{"test": name, "without": without[name], "with": patched[name]}
                                  for name in tests]
    for host, each in zip(hosts, found):
        passed = sum(status == 0 for status in each.values())
        print(f"{host.name}: of {len(tests)} selftests {passed} pass")
    differences = list(compared(without, patched))
    for line, worse in differences:
        print(f"{'FAILED: ' if worse else ''}{line}")
    report.write()
    return 1 if any(worse for _, worse in differences) else 0
