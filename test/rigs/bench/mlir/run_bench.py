# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocations of kernels lowered from linalg: as they are, with upstream's passes, with ours.

--upstream runs MLIR's own tests instead, fetched for the MLIR that is installed: integration
tests with vf-default added to what their RUN lines do, or all with the plugin only loaded.
Each test must end as without. --cost measures what vf-default adds to the compilation of the
largest of the integration tests that ran.
"""

import os
import re
import sys

import bench
import comparison
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(HERE)), "suites"))
import tool
import upstream

SENTENCE = "MLIR: allocations of kernels from linalg with upstream's passes and with ours; upstream's own tests."
ALONE = False

START = "inline,canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries},symbol-dce"
FREE = "buffer-deallocation-pipeline,canonicalize"
LOWER = ("convert-linalg-to-loops,lower-affine,convert-scf-to-cf,convert-vf-to-llvm,expand-strided-metadata,lower-affine,"
         "convert-vector-to-llvm,convert-math-to-llvm,convert-to-llvm,reconcile-unrealized-casts")
HOIST, STACK = "func.func(buffer-hoisting,buffer-loop-hoisting)", "func.func(promote-buffers-to-stack)"
# Deallocations are ownership-based in all of them.
VARIANTS = {
    "before": (START, FREE),
    "hoisting": (START, HOIST, FREE),
    "stack": (START, STACK, FREE),
    "both": (START, HOIST, STACK, FREE),
    "ours": (START, FREE, "vf-pool-allocs"),
    "both, ours": (START, HOIST, STACK, FREE, "vf-pool-allocs"),
}
SUITES = {
    # GPUs and CPUs that are not here are left out.
    "integration": ["Integration/Dialect/" + d for d in
                    "Arith Async Complex ControlFlow LLVMIR Linalg Math MemRef PDL SparseTensor Standard Tensor Tosa Transform Vector".split()],
    "dialects": ["Dialect", "Conversion", "Transforms"],
}
COST_BOUND = 1.05
# How many of the largest tests --cost takes.
LARGEST = 3


def options(parser):
    parser.add_argument("--upstream", choices=SUITES, help="run MLIR's own tests instead")
    parser.add_argument("--cost", action="store_true", help="compile time, after --upstream integration")
    parser.add_argument("--tests", metavar="T,...", help="of mlir/test, for --upstream")
    parser.add_argument("--reps", type=int, default=9, metavar="N", help="pairs of --cost [%(default)s]")


def counter(tree, folder):
    library = os.path.join(folder, "counter.so")
    bench.build([tree.tool("clang"), "-O2", "-shared", "-fPIC", os.path.join(HERE, "counter.c"), "-o", library, "-ldl"])
    return library


def plugin_of(tree):
    plugin = os.path.join(tree.lib, "libvfriendly-mlir.so")
    if not os.path.exists(plugin):
        raise bench.Broken(f"there is no {plugin}: install libmlir-22-dev and mlir-22-tools, then ./dev build")
    return plugin


def kernels(tree, options, folder, report):
    parts = re.split(r"^// ----- (\w+): .*\n", open(os.path.join(HERE, "kernels.mlir")).read(), flags=re.M)
    libraries = f"{tree.llvm}/lib/libmlir_c_runner_utils.so,{tree.lib}/libvfrt.so"
    preload, count, rows = counter(tree, folder), os.path.join(folder, "count"), []
    for name, text in zip(parts[1::2], parts[2::2]):
        source = os.path.join(folder, f"{name}.mlir")
        with open(source, "w") as file:
            file.write(parts[0] + text)
        row, results = [name], {}
        for variant, passes in VARIANTS.items():
            # What others' passes leave is theirs: one kernel shows that they still run.
            if options.smoke and name != "attention" and variant in ("hoisting", "stack", "both"):
                row.append("-")
                continue
            lowered = os.path.join(folder, f"{name}-{variant.replace(', ', '-')}.mlir")
            bench.build([tree.tool("mlir-opt"), f"--load-dialect-plugin={plugin_of(tree)}", "--verify-each",
                         f"--pass-pipeline=builtin.module({','.join((*passes, LOWER))})", source, "-o", lowered])
            one = measure.run([tree.tool("mlir-runner"), "-O2", "-e", "main", "-entry-point-result=void", f"-shared-libs={libraries}", lowered],
                              60, {"LD_PRELOAD": preload, "VF_TEST_MLIR_COUNT": count})
            if one.status != "ok":
                raise bench.Broken(f"{name}, {variant}: {one.errors.strip()[-300:]}")
            code, runtime = map(int, open(count).read().split())
            results[variant] = one.output
            row.append(f"{code} + {runtime}" if runtime else code)
            report.summary(kernel=name, variant=variant, allocations=code, by_runtime=runtime, printed=one.output.strip())
        if len(set(results.values())) != 1:
            raise bench.Broken(f"{name}: results differ: {results}")
        rows.append(row)
    print("allocations in a run of 100 samples, + those of the runtime; results are equal")
    bench.table(["", *VARIANTS], rows)
    return 0


def own_tests(tree, options, out, folder, report):
    import bring
    try:
        source = upstream.fetch(os.path.join(out, "mlir-source"), bring)
    except bring.NotRun as why:
        raise bench.Broken(str(why))
    tests = options.tests.split(",") if options.tests else SUITES[options.upstream]
    environment = {"VF_MLIR_PLUGIN": plugin_of(tree)}
    integration = options.upstream == "integration"
    if integration:
        environment.update(VF_TEST_MLIR_RUNTIME=os.path.join(tree.lib, "libvfrt.so"), VF_TEST_MLIR_COUNTER=counter(tree, folder))
    variant = "ours" if integration else "loaded"
    without, with_it = (upstream.run(source, folder, f"{tree.llvm}/bin", v, environment, tests, bench.cpus()) for v in ("plain", variant))
    differ = sorted(t for t in without if without[t] != with_it.get(t))
    for code in sorted(set(without.values())):
        alike = sum(c == code and with_it.get(t) == code for t, c in without.items())
        print(f"{code}: {sum(c == code for c in without.values())} without, {alike} of them also with "
              f"{'vf-default' if integration else 'the plugin'}")
        report.summary(code=code, without=sum(c == code for c in without.values()), alike=alike)
    for test in differ:
        print(f"differs: {test}: {without[test]}, {with_it.get(test)}")
    if integration:
        before, after = upstream.runs(folder, "plain"), upstream.runs(folder, "ours")
        shared = [t for t in before if t in after]
        sums = [sum(r["code"] + r["runtime"] for t in shared for r in runs[t]) for runs in (before, after)]
        print(f"{sum(len(before[t]) for t in shared)} programs ran; {sums[0]} allocations without, {sums[1]} with")
        for test in shared:
            one, other = (sum(r["code"] + r["runtime"] for r in runs[test]) for runs in (before, after))
            if one != other:
                print(f"  {os.path.basename(test)}: {one} -> {other}")
            if sorted(r["printed"] for r in before[test]) != sorted(r["printed"] for r in after[test]):
                print(f"  {os.path.basename(test)}: prints another text")
        report.summary(programs=len(shared), allocations_without=sums[0], allocations_with=sums[1])
    return 1 if differ else 0


def cost(tree, options, folder, report):
    every = [r for runs in upstream.runs(folder, "plain").values() for r in runs]
    if not every:
        raise bench.Usage("--cost wants what --upstream integration leaves: run that first")
    largest = {r["test"]: r for r in sorted(every, key=lambda r: os.path.getsize(r["test"]))}
    rows = []
    for test in list(largest)[-LARGEST:]:
        commands = {v: [*tool.command_of(tree.tool("mlir-opt"), largest[test]["passes"], v, plugin_of(tree)), "-o", os.devnull]
                    for v in ("plain", "loaded", "ours")}
        commands["again"] = commands["plain"]
        runs, ratios = comparison.compare({n: lambda v=v: measure.run(commands[v], 120) for n, v in (
            ("with", "ours"), ("loaded", "loaded"), ("without", "plain"), ("again", "again"))}, options.reps, os.path.basename(test))
        passes = measure.median_figure(measure.pair_ratios(runs["with"], runs["loaded"], measure.cpu_of))
        control = measure.median_figure(measure.pair_ratios(runs["again"], runs["without"], measure.cpu_of))
        comparison.summarize(report, runs, ratios, source=os.path.basename(test))
        ratio = measure.median_figure(ratios["without"]["cpu"])
        rows.append([os.path.basename(test), measure.median_figure(map(measure.cpu_of, runs["without"])).text("{:.2f} s"), ratio.text("{:.3f}"),
                     passes.text("{:.3f}"), control.text("{:.3f}"), "ok" if ratio.at_most(COST_BOUND) else f"short: over {COST_BOUND}"])
    print(f"{options.reps} pairs; CPU time with vf-default / without, medians of pairs; passes = with / plugin only loaded; "
          "control = without / without")
    bench.table(["", "CPU without", "ratio", "passes", "control", "verdict"], rows)
    return 0


def main(tree, options, out):
    folder = os.path.join(os.path.abspath(out), "mlir")
    os.makedirs(folder, exist_ok=True)
    what = "cost" if options.cost else options.upstream or "kernels"
    report = bench.Report(f"mlir-{what}", tree, out, {"smoke": options.smoke, "reps": options.reps})
    status = cost(tree, options, folder, report) if options.cost else own_tests(tree, options, out, folder, report) if options.upstream \
        else kernels(tree, options, folder, report)
    report.write()
    return status
