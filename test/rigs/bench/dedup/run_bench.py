# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of examples/dedup in turn: time, CPU, switches, shootdowns, and calls that wait, wake and take memory.

All steps must write the same archive. System calls are counted in a run of their own, and with
--guest exits to the hypervisor, in a guest of a guest. --src adds PARSEC's program of that name.
"""

import filecmp
import os
import re
import statistics
import subprocess
import sys
import tempfile

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "heap-churn"), os.path.join(HERE, "..", "..")]
import exits  # noqa: E402
import rows  # noqa: E402
import watch  # noqa: E402
import guest  # noqa: E402

SENTENCE = "A compressor as a pipeline and as parallel loops, step by step: examples/dedup."
ALONE = False

STEPS = {
    "broadcast": "pipeline, broadcast for each item",
    "signal": "pipeline, signal for each item",
    "batches": "pipeline, signal for 16 items",
    "per-chunk": "parallel loops, memory for each chunk",
    "parallel": "parallel loops, memory for each worker",
}
# The original of the idea, a pipeline that compresses by zlib and has an archive of its own.
PARSEC = "parsec"
# What a process costs that has nothing to do: in a guest, exits of each step include as many.
NOTHING = "nothing"
SENTENCES = {**STEPS, PARSEC: "PARSEC's dedup, a pipeline", NOTHING: "parallel, of an empty file"}
# Those that may interrupt other CPUs.
MEMORY = ("munmap", "madvise", "mprotect", "brk", "mremap")
# The original's evaluation (PhD-S 8.5) had 91 % fewer exits and 40 % less time.
FEWER, QUICKER = 0.91, 0.40


def options(parser):
    parser.add_argument("--input", metavar="FILE", help="what is packed [48 MB of libclang]")
    parser.add_argument("--src", metavar="DIR", help="has parsec/pkgs: PARSEC's dedup is run beside")
    parser.add_argument("--guest", action="store_true", help="count exits in a guest of a guest instead; packs 16 MB")
    parser.add_argument("--guest-cpus", type=int, default=4, metavar="N", help="vCPUs of that guest [%(default)s]")
    parser.add_argument("--host-cpus", type=int, default=exits.L1_CPUS, metavar="N", help="CPUs of its host; 1: the host's clock counts "
                        "instructions, and emulation is slower and breaks off more seldom [%(default)s]")
    parser.add_argument("--steps", metavar="STEP,...", help=f"with --guest: only these, of {', '.join(SENTENCES)} [all]")
    parser.add_argument("--threads", metavar="N,...", help="threads in each stage [1, 2 and 4 a CPU]")
    parser.add_argument("--reps", type=int, metavar="N", help="runs of each [7, with --guest 3]")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="[%(default)s]")


def the_input(tree, options, folder):
    if options.input:
        if not os.path.isfile(options.input):
            raise bench.Usage(f"--input {options.input}: no such file")
        return os.path.abspath(options.input)
    path = os.path.join(folder, "input")
    library = os.path.join(tree.llvm, "lib", "libclang-cpp.so.22.1")
    size = 2_000_000 if options.smoke else 48_000_000 if options.guest else 48_000_000
    try:
        with open(library, "rb") as file, open(path, "wb") as out:
            out.write(file.read(size))
    except OSError as error:
        raise bench.Usage(f"--input must name a file, as the default is not there: {error}")
    return path


def build(tree, options, folder):
    """Returns step -> program."""
    done = subprocess.run([os.path.join(tree.source, "examples", "dedup", "build.sh"), folder],
                          env={**os.environ, "CXX": tree.tool("clang++")}, capture_output=True, text=True)
    if done.returncode:
        raise bench.Broken(f"examples/dedup: {done.stderr.strip()[-500:]}")
    programs = {step: os.path.join(folder, f"dedup-{step}") for step in STEPS}
    if options.src:
        programs[PARSEC] = rows.recipes.build(tree, rows.recipes.RECIPES["dedup"], options.src, os.path.join(folder, PARSEC), [], [])
    return programs


def step_command(step, program, threads, given, packed):
    if step == PARSEC:
        return [program, "-c", "-p", "-t", str(threads), "-i", given, "-o", packed]
    return [program, "-t", str(threads), given, packed]


def counted(command, timeout):
    """Calls by name, from a run under strace."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as trace:
        one = measure.run(["strace", "-f", "--seccomp-bpf", "-c", "-qq", "-o", trace.name, "-e",
                           "trace=futex," + ",".join(MEMORY), *command], timeout)
        if one.status != "ok":
            raise bench.Broken(f"strace {' '.join(command)}: {one.errors.strip()[-200:]}")
        calls = {}
        for line in trace:
            found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+\d+)?\s+(\w+)$", line)
            if found:
                calls[found.group(2)] = int(found.group(1))
    return {"futex": calls.get("futex", 0), "memory": sum(calls.get(name, 0) for name in MEMORY)}


def once(command, timeout):
    one = watch.run(rows.Ready(command, None), timeout, {})
    if one.status == "failed":
        raise bench.Broken(f"{' '.join(command)}: {one.errors.strip()[-200:]}")
    return one


def repeat(commands, repetitions, timeout, at):
    runs = {step: [] for step in commands}
    for repetition in range(repetitions):
        for step, command in commands.items():
            at(f"{step}, run {repetition + 1} of {repetitions}")
            runs[step].append(once(command, timeout))
        quiet = watch.idle(max(each[-1].wall for each in runs.values()))
        for each in runs.values():
            watch.subtract(each[-1], quiet)
    return runs


def summary(runs):
    row = {key: statistics.median(r.values.get(key, 0) for r in runs) for key in ("voluntary", "involuntary", "shootdowns", "peak_resident")}
    return {**row, "wall_s": statistics.median(r.wall for r in runs), "cpu_s": statistics.median(r.cpu for r in runs),
            "timeouts": sum(r.status == "timeout" for r in runs)}


def aims(found, threads):
    """Yields what was hoped for of the last step beside the first, and whether it is so."""
    first, last = found["broadcast"], found["parallel"]
    for key, what in (("voluntary", "blocking waits"), ("memory", "calls that take memory")):
        if first.get(key):
            less = 1 - last[key] / first[key]
            yield f"{threads} threads: at least {FEWER:.0%} fewer {what}: {less:.1%}", less >= FEWER
    over = threads > bench.cpus()
    less = 1 - last["wall_s"] / first["wall_s"]
    yield (f"{threads} threads: {f'at least {QUICKER:.0%} less time' if over else 'no slower'}: time {-less:+.1%}",
           less >= (QUICKER if over else 0))


HEADER = ["", "s", "CPU s", "waits", "preempted", "shootdowns", "futex calls", "memory calls", "peak MB", ""]


def shown(step, row):
    def calls(key):
        return f"{row[key]}" if key in row else "-"

    return [step, ("> " if row["timeouts"] else "") + f"{row['wall_s']:.3f}", f"{row['cpu_s']:.3f}", f"{row['voluntary']:.0f}",
            f"{row['involuntary']:.0f}", f"{row['shootdowns']:.0f}", calls("futex"), calls("memory"),
            f"{row['peak_resident'] / 1e6:.1f}", SENTENCES[step]]


def native(options, report, programs, given, folder, threads, progress):
    """Yields the aims."""
    packed = {step: os.path.join(folder, f"{step}.packed") for step in programs}
    commands = {step: step_command(step, program, threads, given, packed[step])
                for step, program in programs.items()}
    runs = repeat(commands, options.reps, options.timeout, lambda what: progress.at(f"{threads} threads, {what}"))
    for step in STEPS:
        if not filecmp.cmp(packed[step], packed["broadcast"], shallow=False):
            raise bench.Broken(f"{step} writes another archive than broadcast")
    report.samples(runs, threads=threads)
    found = {step: summary(each) for step, each in runs.items()}
    for step, row in found.items():
        if not options.smoke:
            progress.at(f"{threads} threads, {step}, counted")
            row.update(counted(commands[step], options.timeout))
        report.summary(step=step, threads=threads, **row)
    progress.end()
    print(f"\n{threads} threads in each stage")
    bench.table(HEADER, [shown(step, row) for step, row in found.items()])
    return [] if options.smoke else aims(found, threads)


def in_guest(options, report, programs, rig, threads, progress):
    """Yields the aims."""
    packed = {step: f"/tmp/{step}" for step in (*programs, NOTHING)}
    commands = {step: step_command(step, f"/{step}", threads, "/input", packed[step]) for step in programs}
    commands[NOTHING] = step_command(NOTHING, "/parallel", threads, "/dev/null", packed[NOTHING])
    commands = {step: commands[step] for step in bench.choice(options.steps, commands, "step")}
    same = [step for step in STEPS if step in commands]
    found = exits.measure_all(rig, report, commands, packed, same, options.guest_cpus, threads, options.reps)
    progress.end()
    print(f"\n{threads} threads in each stage, in a guest of {options.guest_cpus} vCPUs on {options.host_cpus} CPUs; exits of a whole run")
    exits.table(found, SENTENCES)
    if options.smoke or options.steps:
        return
    for kind, what in (("HLT", "halts"), ("ICR", "interrupts to other vCPUs")):
        of = {step: max(found[step][kind] - found[NOTHING][kind], 0) for step in ("broadcast", "parallel")}
        if of["broadcast"]:
            less = 1 - of["parallel"] / of["broadcast"]
            yield f"{threads} threads: at least {FEWER:.0%} fewer {what} than broadcast, both less those of {NOTHING}: {less:.1%}", less >= FEWER


def main(tree, options, out):
    options.reps = 1 if options.smoke else options.reps if options.reps is not None else 3 if options.guest else 7
    cpus = bench.cpus()
    try:
        counts = [int(n) for n in options.threads.split(",")] if options.threads else [cpus, 2 * cpus, 4 * cpus]
    except ValueError:
        raise bench.Usage(f"--threads {options.threads}: not numbers with commas between")
    if min(options.reps, options.guest_cpus, options.host_cpus, *counts) < 1:
        raise bench.Usage("--reps, --guest-cpus, --host-cpus and --threads must be at least 1")
    if options.smoke:
        counts = counts[:1]
    elif not options.guest:
        bench.install(["strace"])
    folder = os.path.join(out, "dedup")
    os.makedirs(folder, exist_ok=True)
    given = the_input(tree, options, folder)
    programs = build(tree, options, folder)
    parameters = {"smoke": options.smoke, "reps": options.reps, "threads": counts, "input": os.path.basename(given),
                  "bytes": os.path.getsize(given)}
    if options.guest:
        parameters["guest_cpus"], parameters["host_cpus"] = options.guest_cpus, options.host_cpus
    report = bench.Report("dedup-guest" if options.guest else "dedup", tree, out, parameters)
    progress = measure.Progress("dedup")
    print(f"{os.path.getsize(given) / 1e6:.0f} MB, {options.reps} runs of each in turn, medians")
    said = []
    try:
        rig = exits.Rig(tree, folder, programs, given, progress, options.smoke, options.host_cpus) if options.guest else None
        for threads in counts:
            said += in_guest(options, report, programs, rig, threads, progress) if rig else native(
                options, report, programs, given, folder, threads, progress)
    except guest.Broken as error:
        raise bench.Broken(str(error))
    report.content["aims"] = [{"what": what, "met": met} for what, met in said]
    for what, met in said:
        print(f"{'met' if met else 'missed'}: {what}")
    report.write()
    return 0
