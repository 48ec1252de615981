#!/usr/bin/env python3
"""Runs lit on a build tree and ends on the line CI reads: 'N passed, N failed'.

  run.py BUILD [--full] [--target PROCESSOR] [--timed] [--repeat N] [--beside LOAD] [PATH...]

Unsupported tests count as skipped, never as passed; an expected failure that
passes, a timeout and an unresolved test all count as failed.

A short run leaves out what takes long and seldom changes: tests that need the
feature `full`, and of some others all but a slice (test/Inputs/short_run.py). The commit
picks the slice, so the runs of successive commits cover everything; --full
runs all of it at once.

--timed picks the tests of time and samples, whose verdict must not depend on what else the machine does: their
comment TIMED: names the bound. With --repeat and --beside each runs N times beside LOAD processes that compute, and a
line for each says how often it failed.
"""

import argparse
import collections
import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

import skipped as skipped_tests
import target as other_target

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def slice_of_commit(source):
    """A number that differs from commit to commit; VF_TEST_SLICE repeats a run."""
    if "VF_TEST_SLICE" in os.environ:
        return os.environ["VF_TEST_SLICE"]
    count = subprocess.run(["git", "-C", source, "rev-list", "--count", "HEAD"],
                           capture_output=True, text=True)
    return count.stdout.strip() if count.returncode == 0 else "0"


# Folders with tests that run compiled programs: those that another processor can change.
RUNS_PROGRAMS = ("blocking-sync/runtime", "blocking-sync/preload", "heap-churn/exec",
                 "heap-churn/pool", "heap-churn/malloc", "numa-placement/runtime",
                 "numa-placement/preload", "numa-placement/pass", "spin-loops/exec", "spin-loops/pass",
                 "spin-loops/runtime", "heap-churn/pass")
# Features of which some tests boot guests: named, they get QEMU and a guest's kernel.
WITH_GUESTS = ("numa-placement",)


def existing(path, tests):
    """The folder of a feature by the first word of its name, else the path as it is."""
    found = [name for name in sorted(os.listdir(tests)) if name.startswith(path + "-")]
    return os.path.join(tests, found[0]) if len(found) == 1 and not os.path.exists(path) else path


def timed(paths):
    """The tests in files and folders whose verdict compares a time or a number of samples with a bound."""
    files = [os.path.join(folder, name) for path in paths for folder, _, names in os.walk(path) for name in names]
    found = []
    for file in sorted([*files, *filter(os.path.isfile, paths)]):
        with open(file, encoding="utf-8", errors="replace") as f:
            if re.search(r"^(//|#) TIMED: \S", f.read(4000), re.M):
                found.append(file)
    return found


def prepare_guests(build, tests):
    sys.path.append(os.path.join(tests, "rigs"))
    from guest import Broken, packages
    cache = os.path.join(build, "guest")
    try:
        packages.qemu(), packages.kernel(cache), packages.busybox(cache)
    except Broken as error:
        print(f"dev test: tests in guests are skipped: {error}", flush=True)


def say_skipped(results):
    for line in skipped_tests.report((test["name"], test.get("output")) for test in results if test["code"] in SKIPPED):
        print(line)


def say_costs(file):
    """One line of where the time goes; the file gets all tests, the most expensive first."""
    with open(file, encoding="utf-8") as f:
        costs = sorted(f, key=lambda line: float(line.split()[0]), reverse=True)
    with open(file, "w", encoding="utf-8") as f:
        f.writelines(costs)
    most = ", ".join(f"{test} {float(seconds):.0f}" for seconds, test in map(str.split, costs[:8]))
    print(f"{sum(float(line.split()[0]) for line in costs):.0f} CPU seconds, by test in {os.path.relpath(file)}: {most}")


def workers(nested):
    """One more than there are CPUs: of two tests, one often waits for a timer or a child. A run
    that is itself a test has the other tests beside it."""
    return 1 if nested else len(os.sched_getaffinity(0)) + 1


@contextlib.contextmanager
def computing(count):
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def run_lit(options, tests):
    """Returns lit's exit status and the results."""
    lit = "/usr/lib/llvm-22/bin/lit"
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        status = subprocess.run([sys.executable, lit, "-v", *options, f"--output={report.name}", *tests]).returncode
        try:
            return status, json.load(open(report.name))["tests"]
        except (ValueError, KeyError):
            sys.exit(f"dev test: lit ended with status {status} and left no report")


def repeat(count, options, tests):
    """As run_lit, count times, then a line for each test that failed."""
    status, results = 0, []
    for done in range(1, count + 1):
        one, some = run_lit(options, tests)
        status, results = status or one, results + some
        failed = collections.Counter(test["name"] for test in results if test["code"] not in PASSED | SKIPPED)
        print(f"after {done} of {count}: {len(results)} runs of {len(some)} tests, {sum(failed.values())} failed", flush=True)
    for name, times in failed.most_common():
        print(f"failed {times} of {count}: {name}")
    return status, results


def main():
    parser = argparse.ArgumentParser(prog="dev test")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("--full", action="store_true", help="run every case of the long tests")
    parser.add_argument("--target", choices=other_target.TARGETS,
                        help="the tests that run programs, for another processor, by qemu-user")
    parser.add_argument("--timed", action="store_true", help="only tests of time and samples")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each test N times")
    parser.add_argument("--beside", type=int, default=0, metavar="LOAD", help="beside so many processes that compute")
    parser.add_argument("--nested", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="a file or folder under test/")
    args = parser.parse_intermixed_args()
    build, paths = os.path.abspath(args.build), args.paths
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    part = "all" if args.full else slice_of_commit(source)
    suite = os.path.join(build, "test")
    params = [f"--param=slice={part}"]
    if args.target:
        try:
            other_target.enter(args.target)
            other_target.build(source, build, args.target, other_target.FEW_LIBRARIES if args.nested else ())
        except other_target.Broken as error:
            sys.exit(f"dev test: {error}")
        params.append(f"--param=target={args.target}")
        paths = paths or [os.path.join(source, "test", folder) for folder in RUNS_PROGRAMS]
    tests = []
    paths = [existing(path, os.path.join(source, "test")) for path in paths]
    if args.timed:
        paths = timed(paths or [os.path.join(source, "test")])
        if not paths:
            sys.exit("dev test: none of these has a comment TIMED:")
    for path in paths:
        relative = os.path.relpath(os.path.abspath(path), os.path.join(source, "test"))
        if relative.startswith("..") or not os.path.exists(path):
            sys.exit(f"dev test: {path} is not a file or folder under test/")
        tests.append(os.path.join(suite, relative))
        if relative.split(os.sep)[0] in WITH_GUESTS:
            prepare_guests(build, os.path.join(source, "test"))
    costs = os.path.join(build, args.target or "", "test", "cpu-seconds.txt")
    os.makedirs(os.path.dirname(costs), exist_ok=True)
    open(costs, "w", encoding="utf-8").close()
    params.append(f"--param=costs={costs}")
    options = [f"-j{workers(args.nested)}", *params]
    with computing(args.beside):
        status, results = (run_lit if args.repeat == 1 else functools.partial(repeat, args.repeat))(options, tests or [suite])
    say_skipped(results)
    say_costs(costs)
    codes = [t["code"] for t in results]
    passed = sum(c in PASSED for c in codes)
    skipped = sum(c in SKIPPED for c in codes)
    failed = len(codes) - passed - skipped
    kind = "full run" if args.full else f"short run, slice {part}: ./dev test --full runs every case"
    print(kind)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or status or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
