# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which policy suits a program: accesses to pages of the own node and of another, in an emulated guest of two nodes.

Each program runs with one thread a node, by first touch, interleaved by libvfnuma, and by first touch with
`vfriendly numa balance`. All its accesses are counted by page and thread once it has been prepared and, with
`balance`, once the pages have been moved; those that a simple cache of 256 KiB a thread serves are left out. Counts
only: the machine is emulated.
"""

import json
import os
import re
import shlex
import subprocess
import sys

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.join(HERE, "..", "..", "..")
sys.path += [os.path.join(TEST, "rigs"), os.path.join(TEST, "numa-placement", "Inputs"), os.path.join(HERE, "..", "programs")]

import guest  # noqa: E402
import recipes  # noqa: E402
import rig as numa_rig  # noqa: E402
from guest import initramfs, machine  # noqa: E402

SENTENCE = "Accesses to the own node and to another by first touch, interleaved and balanced, in a guest of two nodes."
ALONE = False
NAME = "numa-policies"

COUNTED = "-fsanitize-coverage=func,trace-loads,trace-stores"
NODES, MEGABYTES = 2, 1536
OWN_MB = 8
# The last iteration is of no interest: no run comes to its end.
ENDLESS = 1000000
# What is smaller than 64 KiB is not placed. Threads are bound in turn.
PLACED = "LD_PRELOAD=/libvfnuma.so VF_NUMA_PIN=core VF_NUMA_MIN=65536 VF_NUMA="
FIRST_TOUCH, INTERLEAVED, BALANCED = "first touch", "interleaved", "balanced"
POLICIES = {FIRST_TOUCH: "ft", INTERLEAVED: "interleave", BALANCED: "ft"}
# Above it one node serves most accesses: the thesis' limit of a low imbalance, for two nodes.
LOW = 32.1
# Remote accesses, in percent of all, that are no difference between two policies.
NEAR = 2.0
SILENCE_S = 600

OWN = {"own": "each thread fills a half and uses it", "all": "one fills, both use all", "halves": "one fills, each uses a half"}
REAL = {"bt": "NPB's BT in C++, class W", "sp": "NPB's SP in C++, class W", "cg": "NPB's CG in C++, class W",
        "lulesh": "LULESH 2.0, 30 x 30 x 30", "streamcluster": "PARSEC's streamcluster, 16384 points"}
ARGUMENTS = {"lulesh": f"-s 30 -q -i {ENDLESS}", "streamcluster": "10 20 32 65536 16384 1000 none /tmp/out 2"}

SCRIPT = """
export OMP_NUM_THREADS=2 OMP_PLACES=threads OMP_PROC_BIND=close ACCESSES=/tmp/accesses
mount -t debugfs debug /sys/kernel/debug
# Pages of 4 KiB, as in the thesis.
echo never > /sys/kernel/mm/transparent_hugepage/enabled
echo 1000 > /sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
# cell NAME COMMAND...: with the policy in the environment.
cell() {
  name=$1
  shift
  echo 0 > /proc/sys/kernel/numa_balancing
  rm -f $ACCESSES
  "$@" >/tmp/log 2>&1 &
  program=$!
  sleep $WARM
  if [ "$BALANCE" ]; then
    echo 1 > /proc/sys/kernel/numa_balancing
    python3 -B -I -S /command.pyc root numa balance $program --rate 1000 --quiet 15 --seconds $BALANCE --hold | tail -n 1
  fi
  kill -USR1 $program
  sleep $WINDOW
  kill $program || { tail -n 3 /tmp/log; return 1; }
  wait $program
  echo "{\\"name\\": \\"$name\\", \\"found\\": $(cat $ACCESSES)}"
}
"""


def options(parser):
    parser.add_argument("--src", metavar="DIR", help="has npb-cpp, lulesh and parsec, as in test/rigs/corpus/README.md: "
                        "programs of others are run too")
    parser.add_argument("--programs", metavar="P,...", help=f"of {', '.join((*OWN, *REAL))} [all that are there]")
    parser.add_argument("--policies", metavar="P,...", help=f"of {', '.join(POLICIES)} [all]")
    parser.add_argument("--warm", type=int, default=20, metavar="S", help="before accesses are counted [%(default)s]")
    parser.add_argument("--window", type=int, default=10, metavar="S", help="of counting [%(default)s]")
    parser.add_argument("--balance", type=int, default=120, metavar="S", help="longest run of balance [%(default)s]")
    parser.add_argument("--add", action="store_true", help="keep what the last run has of other programs and policies")


def compiled(tree, out, sources, words):
    """Compiles the pairs of source and flags; returns the program's path. The first is counted."""
    objects = []
    for number, (source, flags) in enumerate(sources):
        objects.append(f"{out}.{number}.o")
        compiler = tree.tool("clang" if source.endswith(".c") else "clang++")
        bench.build([compiler, "-O2", "-w", "-fopenmp", "-pthread", *flags, "-c", source, "-o", objects[-1]])
    bench.build([tree.tool("clang++"), "-fopenmp", "-pthread", f"-Wl,-rpath,{numa_rig.OMP}", *objects, *words, "-o", out])
    return out


def npb(tree, src, name, out):
    """NPB has a program that writes the parameters of a class."""
    root = os.path.join(src, "npb-cpp", "NPB-OMP")
    work = f"{out}-parameters"
    for folder in ("config", "sys", name):
        os.makedirs(os.path.join(work, folder), exist_ok=True)
    bench.build([tree.tool("clang++"), "-w", "-fopenmp", os.path.join(root, "sys", "setparams.cpp"), "-o", os.path.join(work, "sys", "setparams")])
    with open(os.path.join(root, "config", "make.def")) as given, open(os.path.join(work, "config", "make.def"), "w") as copy:
        copy.write(given.read())
    done = subprocess.run(["../sys/setparams", name, "W"], cwd=os.path.join(work, name), capture_output=True, text=True)
    path = os.path.join(work, name, "npbparams.hpp")
    if done.returncode or not os.path.exists(path):
        raise bench.Broken(f"setparams {name}: {(done.stdout + done.stderr).strip()[-200:]}")
    with open(path) as file:
        text, changed = re.subn(r"(#define\s+(?:NITER|NITER_DEFAULT)\s+)\d+", rf"\g<1>{ENDLESS}", file.read())
    if changed != 1:
        raise bench.Broken(f"{path} does not say how many iterations {name} has")
    with open(path, "w") as file:
        file.write(text)
    common = os.path.join(root, "common")
    words = ["-std=c++14", f"-I{common}", f"-I{os.path.dirname(path)}"]
    source = os.path.join(root, name.upper(), f"{name}.cpp")
    return compiled(tree, out, [(source, [*words, COUNTED]),
                                *((os.path.join(common, f"{each}.cpp"), words) for each in
                                  ("c_print_results", "c_randdp", "c_timers", "wtime"))],
                    [counter(tree, out)])


def counter(tree, out):
    path = f"{out}.accesses.o"
    bench.build([tree.tool("clang"), "-O2", "-Wall", "-Wextra", "-Werror", "-c", os.path.join(HERE, "accesses.c"), "-o", path])
    return path


def program(tree, src, name, out):
    """Builds a program; returns its path."""
    if name in OWN:
        return compiled(tree, out, [(os.path.join(HERE, "patterns.c"), [COUNTED])], [counter(tree, out)])
    if name in ("bt", "sp", "cg"):
        return npb(tree, src, name, out)
    if name == "lulesh":
        root = os.path.join(src, "lulesh")
        return compiled(tree, out, [(os.path.join(root, f"lulesh{part}.cc"), ["-DUSE_MPI=0", COUNTED])
                                    for part in ("", "-comm", "-init", "-util", "-viz")], [counter(tree, out)])
    recipe = recipes.RECIPES[name]
    return compiled(tree, out, [(file, [*recipe.flags, COUNTED]) for file in recipe.files(src)],
                    [*recipe.libraries, counter(tree, out)])


def there(src, name):
    folders = {"lulesh": "lulesh", "streamcluster": "parsec/pkgs/kernels/streamcluster/src"}
    return src and os.path.isdir(os.path.join(src, folders.get(name, "npb-cpp/NPB-OMP")))


def chosen(options):
    if options.smoke:
        return ["halves"], [FIRST_TOUCH, INTERLEAVED]
    known = [*OWN, *(name for name in REAL if there(options.src, name))]
    return bench.choice(options.programs, known, "program"), bench.choice(options.policies, POLICIES, "policy")


def figures(found):
    """Percent of remote accesses, and the imbalance of the nodes in percent."""
    accesses = found["accesses"]
    by_node = [sum(row[node] for row in accesses) for node in range(NODES)]
    remote = sum(accesses[by][to] for by in range(NODES) for to in range(NODES) if by != to)
    if not sum(by_node):
        raise bench.Broken("no access was counted")
    return {"remote": 100 * remote / sum(by_node), "imbalance": 100 * abs(by_node[0] - by_node[1]) / sum(by_node),
            "pages": found["pages"], "accesses": sum(by_node)}


def best(rows):
    """The policy that saturates no node and has the fewest remote accesses; of those that are alike, the simplest."""
    low = {policy: row for policy, row in rows.items() if row["imbalance"] <= LOW}
    if not low:
        return min(rows, key=lambda policy: rows[policy]["imbalance"])
    fewest = min(row["remote"] for row in low.values())
    return next(policy for policy in POLICIES if policy in low and low[policy]["remote"] <= fewest + NEAR)


def run(rig, programs, policies, options, progress):
    """Yields program, policy and figures; each program in a guest of its own."""
    modules = numa_rig.python(rig, "numa")
    for name, path in programs.items():
        words = f"{name} {OWN_MB}" if name in OWN else ARGUMENTS.get(name, "")
        lines = [SCRIPT, f"WARM={options.warm} WINDOW={options.window}"]
        for policy in policies:
            balance = options.balance if policy == BALANCED else ""
            lines.append(f"BALANCE={balance} cell {shlex.quote(policy)} env {PLACED}{POLICIES[policy]} /program {words} || exit 1")
        initrd = initramfs.write(rig.file("guest.cpio"), rig.busybox,
                                 {"program": path, "libvfnuma.so": rig.lib("libvfnuma.so"), **modules}, "\n".join(lines) + "\n")
        said = []

        def seen(line):
            said.append(line)
            if line.startswith("{"):
                progress.at(f"{name}: {sum(each.startswith('{') for each in said)} of {len(policies)} policies")
            else:
                progress.end()
                print(f"{name}: {line}", flush=True)

        machine.boot(rig.qemu, rig.kernel.image, initrd, numa_rig.CPUS, MEGABYTES, nodes=NODES, seen=seen, silence=SILENCE_S)
        for line in said:
            if line.startswith("{"):
                one = json.loads(line)
                yield name, one["name"], figures(one["found"])


def main(tree, options, out):
    if min(options.warm, options.window, options.balance) < 1:
        raise bench.Usage("--warm, --window and --balance are 1 at least")
    if options.smoke:
        options.warm = options.window = 2
    names, policies = chosen(options)
    folder = os.path.join(out, NAME)
    os.makedirs(folder, exist_ok=True)
    report = bench.Report(NAME, tree, out, {"warm": options.warm, "window": options.window, "balance": options.balance})
    if options.add:
        report.add_to_last(replaces=lambda row: row.get("program") in names and row.get("policy") in policies)
    progress = measure.Progress(NAME)
    sentences = {**OWN, **REAL}
    try:
        rig = numa_rig.Rig(tree.source, tree.build, folder)
        programs = {name: program(tree, options.src, name, os.path.join(folder, name)) for name in names}
        found = {}
        for name, policy, row in run(rig, programs, policies, options, progress):
            found.setdefault(name, {})[policy] = row
            report.summary(program=name, policy=policy, **row)
            report.save()
    except guest.Broken as error:
        raise bench.Broken(str(error))
    progress.end()
    bench.table(["", "policy", "remote %", "imbalance %", "pages of node 0", "of node 1", ""], [
        [name, policy, f"{row['remote']:.1f}", f"{row['imbalance']:.1f}", *row["pages"], sentences[name]]
        for name, rows in found.items() for policy, row in rows.items()])
    for name, rows in found.items():
        print(f"{name}: best {best(rows)}")
    report.write()
    return 0
