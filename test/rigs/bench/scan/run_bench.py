# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU time of `vfriendly scan` over that of run-clang-tidy with one trivial check.

Judged by the least of a few interleaved runs each: what disturbs a run only adds to it.
A second scan and one after an edit are given as parts of the first.
"""

import json
import os
import re
import shutil
import time

import bench
import measure
import projects

SENTENCE = "CPU time of a project's scan over that of a trivial check; the second scan, and one after an edit."
ALONE = False
BOUND, AGAIN_BOUND = 1.1, 0.05
# As in compile-cost: it matches assembly, of which there is none to speak of.
TRIVIAL_CHECK = "hicpp-no-assembler"
TIMEOUT = 3600


def options(parser):
    parser.add_argument("--project", action="append", metavar="NAME|BUILD",
                        help=f"{', '.join(projects.PROJECTS)}, or a folder with compile_commands.json "
                        "[nginx, redis]")
    parser.add_argument("--reps", type=int, default=3, metavar="N", help="[%(default)s]")


def _smoke(tree, out):
    """Two files of the tests, in a folder of their own."""
    folder = os.path.join(out, "scan-smoke")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(tree.source, "test", "vfriendly-cli", "Inputs", "project"), folder)
    entries = [{"directory": folder, "file": f"src/{f}", "arguments": ["clang", "-Iinclude", "-c", f"src/{f}"]}
               for f in ("flag.c", "user.c")]
    with open(os.path.join(folder, "compile_commands.json"), "w") as file:
        json.dump(entries, file)
    return [("smoke", folder, len(entries))]


def chosen(tree, options, out):
    if options.smoke:
        return _smoke(tree, out)
    picked = []
    for name in options.project or ["nginx", "redis"]:
        if name in projects.PROJECTS:
            picked.append((name, *projects.prepare(name, os.path.join(out, "src"))))
        elif os.path.exists(os.path.join(name, "compile_commands.json")):
            with open(os.path.join(name, "compile_commands.json")) as file:
                picked.append((os.path.basename(os.path.abspath(name)), name, len(json.load(file))))
        else:
            raise bench.Usage(f"--project {name}: it is none of {', '.join(projects.PROJECTS)}, and has "
                              "no compile_commands.json")
    return picked


def run(command, statuses):
    one = measure.run(command, timeout=TIMEOUT)
    told = re.search(r"\(exit status (\d+)\)$", one.errors)
    status = 0 if one.status == "ok" else int(told.group(1)) if told else -1
    if status not in statuses:
        raise bench.Broken(f"{' '.join(command)}: {one.errors.strip()[-800:]}")
    return one


def examined(one):
    """(units, those that came from the cache) of a scan's own summary."""
    units, cached = re.search(r"(\d+) units", one.output), re.search(r"(\d+) from the cache", one.output)
    return int(units.group(1)), int(cached.group(1)) if cached else 0


def edit_and_scan(database, scan):
    """How many units a scan examines after a comment was added to one source, which is undone."""
    with open(os.path.join(database, "compile_commands.json")) as file:
        entry = json.load(file)[-1]
    path = os.path.join(entry["directory"], entry["file"])
    with open(path, "rb") as file:
        before = file.read()
    try:
        with open(path, "ab") as file:
            file.write(b"\n/* */\n")
        time.sleep(0.1)  # a file of the clock's last tick would not be cached
        units, cached = examined(scan())
    finally:
        with open(path, "wb") as file:
            file.write(before)
    return units - cached


def main(tree, options, out):
    repetitions = 1 if options.smoke else options.reps
    report = bench.Report("scan", tree, out, {"reps": repetitions, "smoke": options.smoke})
    rows = []
    for name, database, units in chosen(tree, options, out):
        cache = os.path.join(out, "scan-cache", name)
        shutil.rmtree(cache, ignore_errors=True)
        jobs = str(bench.cpus())
        tool = [os.path.join(tree.build, "bin", "vfriendly"), "scan", "-p", database, "-j", jobs, "-q"]
        # Status 3 tells of units that do not compile; the trivial check has them too.
        variants = {
            "scan": lambda t=tool: run([*t, "--no-cache", "--fail-on", "never"], (0, 3)),
            "trivial": lambda d=database: run([
                tree.tool("run-clang-tidy"), "-clang-tidy-binary", tree.tool("clang-tidy"), "-p", d, "-quiet",
                f"-checks=-*,{TRIVIAL_CHECK}", "-extra-arg=-Wno-error", "-header-filter=.*", "-j", jobs],
                (0, 1)),
        }
        runs = measure.in_turn(variants, repetitions)
        kept = [*tool, "--cache", cache, "--fail-on", "never"]
        first = run(kept, (0, 3))
        again = run(kept, (0, 3))
        after_edit = edit_and_scan(database, lambda k=kept: run(k, (0, 3)))
        least = {v: min(r.cpu for r in each) for v, each in runs.items()}
        ratio = least["scan"] / least["trivial"]
        part = again.cpu / least["scan"]
        report.samples({**runs, "first": [first], "again": [again]}, project=name)
        report.summary(project=name, units=units, scan_cpu_s=least["scan"], trivial_cpu_s=least["trivial"],
                       ratio=ratio, again=part, after_edit=after_edit)
        good = ratio <= BOUND and part <= AGAIN_BOUND
        rows.append([name, str(units), f"{least['scan']:.1f} s", f"{least['trivial']:.1f} s", f"{ratio:.3f}",
                     f"{100 * part:.1f} %", str(after_edit),
                     "smoke" if options.smoke else "ok" if good else
                     f"short: bounds are {BOUND} and {100 * AGAIN_BOUND:.0f} %"])
    print(f"CPU time, least of {repetitions} interleaved runs; again = the second scan's part of the first; "
          "edit = units examined after an edit of one source")
    bench.table(["", "units", "scan", "trivial", "ratio", "again", "edit", "verdict"], rows)
    report.write()
    return 0
