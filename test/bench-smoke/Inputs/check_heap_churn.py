# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The heap-churn table's rules: each verdict can be missed, and unknown is never met."""

import argparse
import os
import sys

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "test/rigs/bench"), os.path.join(root, "test/rigs/bench/heap-churn"), os.path.join(root, "guidelines")]

import aims  # noqa: E402
import calls  # noqa: E402
import figures  # noqa: E402
import measure  # noqa: E402
import rows  # noqa: E402
import run_bench  # noqa: E402
import watch  # noqa: E402


def of(shootdowns, resident, **more):
    return {"shootdowns": shootdowns, "mean_resident": resident, "peak_resident": resident, "wall_s": 6.0, "cpu_s": 1.0,
            "over_need": None, "calls": 3, "more": False, "returns": 0, "timeouts": 0, "speed": None, **more}


# To beat is by 5 % on both; one of them, or exactly 5 %, is not enough.
ours = of(1000, 100e6)
assert aims.beats(of(949, 94.9e6), ours)
assert not aims.beats(of(950, 90e6), ours)
assert not aims.beats(of(900, 95e6), ours)
assert not aims.beats(of(1, 200e6), ours)
assert not aims.beats(of(2000, 1e6), ours)
# A handful of shootdowns more is chance, many are not.
assert not aims.beats(of(0, 1e6), of(aims.FEW, 100e6))
assert aims.beats(of(0, 1e6), of(2 * aims.FEW, 100e6))

# The fastest is chosen by the first and third run and judged by the second and fourth.
b_leads = {"a": [2, 1, 2, 1], "b": [1, 8, 1, 8], aims.OURS: [9, 4, 9, 4]}
assert aims.fastest({n: b_leads[n] for n in "ab"}) == "b"
assert aims.speed(b_leads) == 2
# One run cannot do both, and a run without a time is no speed.
assert aims.speed({"a": [1], aims.OURS: [1]}) is None
assert aims.speed({"a": [1, None], aims.OURS: [1, 1]}) is None
assert aims.speed({aims.OURS: [1, 1]}) is None


def met(aim):
    return aim[0]


row = {"x": {aims.OURS: ours, "glibc": of(900, 90e6)}}
assert met(aims.nowhere_beaten(row)) is False and "x: glibc" in aims.nowhere_beaten(row)[1]
assert met(aims.nowhere_beaten({"x": {aims.OURS: ours, "glibc": of(900, 100e6)}})) is True
assert met(aims.nowhere_beaten({"x": {aims.OURS: ours}})) is None
# Where ours failed it was not compared.
assert met(aims.nowhere_beaten({"x": {aims.OURS: ours, "glibc": ours}, "y": {"glibc": ours}})) is None

listing = {aims.OURS: of(60, 50e6), "mimalloc": of(60, 30e6), "glibc": of(4e5, 50e6)}
assert met(aims.listing_72(listing)) is True
assert met(aims.listing_72({**listing, "mimalloc": of(59, 30e6)})) is False
assert met(aims.listing_72({**listing, "glibc": of(4e5, 49e6)})) is False
assert met(aims.listing_72({aims.OURS: ours, "glibc": ours})) is None

assert met(aims.figure_72a({aims.OURS: of(0, 1, calls=3)})) is True
assert met(aims.figure_72a({aims.OURS: of(0, 1, calls=4)})) is False
# Killed while it was counted: three so far are no three, four are too many already.
assert met(aims.figure_72a({aims.OURS: of(0, 1, calls=3, more=True)})) is None
assert met(aims.figure_72a({aims.OURS: of(0, 1, calls=4, more=True)})) is False

peaks = dict(over_need=1.2, returns=6)  # in 6 s: three peaks
assert met(aims.figure_73("figure-7.3", {aims.OURS: of(0, 1, **peaks)})) is True
assert met(aims.figure_73("figure-7.3", {aims.OURS: of(0, 1, **{**peaks, "over_need": 1.21})})) is False
assert met(aims.figure_73("figure-7.3", {aims.OURS: of(0, 1, **{**peaks, "returns": 7})})) is False
assert met(aims.figure_73("figure-7.3", {aims.OURS: of(0, 1, **{**peaks, "returns": None})})) is None

assert met(aims.fast({"x": {aims.OURS: of(0, 1, speed=1.9)}, "y": {aims.OURS: of(0, 1, speed=0.5)}})) is True
assert met(aims.fast({"x": {aims.OURS: of(0, 1, speed=1.8)}, "y": {aims.OURS: of(0, 1, speed=0.5)}})) is False
assert met(aims.fast({"x": {aims.OURS: of(0, 1)}})) is None
# What has a bound of its own is not in the mean; fork and starts are compared with libc's only.
assert met(aims.fast({"fork": {aims.OURS: of(0, 1, speed=1.9)}})) is None
costs = {aims.OURS: of(0, 1, seconds=[1.1, 1.1]), "glibc": of(0, 1, seconds=[1, 1]), "mimalloc": of(0, 1, seconds=[0.9, 0.9])}
assert met(aims.cost("fork", costs)) is True
assert met(aims.cost("replace 100", costs)) is False
assert met(aims.cost("fork", {**costs, "glibc": of(0, 1, seconds=[0.9, 0.9])})) is False
assert met(aims.cost("fork", {aims.OURS: of(0, 1, seconds=[1, 1])})) is None
assert aims.COSTS.keys() <= rows.ROWS.keys()

assert all(m is None for m, _ in aims.judge({}))

# An idle interval is as long as the run; of a run that outlasts it, it is a part.
idle = [(0.0, 0), (1.0, 10), (2.0, 40)]
assert [watch.idle_count(idle, s) for s in (0.5, 1, 1.5, 2, 4)] == [10, 10, 40, 40, 80]
run = measure.Run("ok", 2, 0, "", "", {"counted": 100})
watch.subtract(run, idle)
assert run.values["shootdowns"] == 60
watch.subtract(run, [(0.0, 0), (2.0, 500)])
assert run.values["shootdowns"] == 0
assert run_bench.rotated(["a", "b", "c"], 4) == ["b", "c", "a"]

# One that fails with an allocator is out, and the others stay.
options = argparse.Namespace(timeout=10, budget=10)
stumbles = rows.Ready(["sh", "-c", 'test "$LD_PRELOAD" != bad.so'], "/")
runs, failed = run_bench.repeat(stumbles, {"bad": "bad.so", "good": ""}, options, 2, lambda what: None)
assert list(runs) == ["good"] and len(runs["good"]) == 2 and "exit status 1" in failed["bad"]
# Long ones are repeated twice whatever they take.
options.budget = 0
assert len(run_bench.repeat(stumbles, {"good": ""}, options, 9, lambda what: None)[0]["good"]) == 2

# Memory over need is each run's own: 2 and 4, which is 3, not 22 over 6.
two = [measure.Run("ok", 1, 1, "", "", {"shootdowns": 0, "mean_resident": r, "peak_resident": r, "mean_need": n}) for r, n in ((4, 2), (40, 10))]
assert run_bench.summary(rows.ROWS["cfrac"], two)["over_need"] == 3
assert run_bench.summary(rows.ROWS["cfrac"], runs["good"])["over_need"] is None

# Speed is of the work, where a program runs for a fixed time; a paced or killed one has none.
larson = rows.ROWS["larson"]
done = measure.Run("ok", 9, 0, "Throughput = 500 operations per second, relative time: 2s.", "", {})
assert larson.seconds(done) == 1 / 500
assert rows.ROWS["fork"].seconds(measure.Run("ok", 9, 0, "", "", {"cpu_each": 0.5})) == 0.5
assert rows.ROWS["cfrac"].seconds(done) == 9
assert rows.ROWS["figure-7.3"].seconds(done) is None
assert rows.ROWS["cfrac"].seconds(measure.Run("timeout", 9, 0, "", "", {})) is None
assert rows.ROWS["redis"].seconds(measure.Run("ok", 9, 0, "", "", {"load_s": 3})) == 3

TRACE = """\
10 brk(NULL) = 0x1000
10 mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, 3, 0) = 0x9000
10 munmap(0x90000, 4096) = 0
10 mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_STACK, -1, 0) = 0x20000
10 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0} => {parent_tid=[11]}, 88) = 11
11 brk(0x3000) = 0x3000
11 brk(0x2000) = 0x2000
11 madvise(0x50000, 4096, MADV_DONTNEED <unfinished ...>
10 mprotect(0x50000, 4096, PROT_READ|PROT_WRITE) = 0
11 <... madvise resumed>) = 0
11 madvise(0x50000, 4096, MADV_HUGEPAGE) = 0
11 madvise(0x21000, 4096, MADV_DONTNEED) = 0
11 mprotect(0x9000, 4096, PROT_READ) = 0
11 mprotect(0x50000, 4096, PROT_NONE) = 0
11 process_madvise(3, [{iov_base=0x50000, iov_len=4096}], 1, MADV_DONTNEED, 0) = 4096
11 process_madvise(3, [{iov_base=0x50000, iov_len=4096}], 1, MADV_DONTNEED, 0) = -1 EINVAL (Invalid argument)
11 mremap(0x50000, 4096, 8192, MREMAP_MAYMOVE) = 0x50000
11 mremap(0x50000, 8192, 16384, MREMAP_MAYMOVE) = 0x60000
11 munmap(0x9000, 8192) = 0
11 munmap(0x9000, 8192) = 0
11 mmap(0x60000, 4096, PROT_NONE, MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = 0x60000
11 +++ exited with 0 +++
"""
# Not: before there are threads, what grows, failures, a stack, a file (its second munmap is of other memory).
assert calls.count(TRACE.splitlines()) == {"brk": 1, "madvise": 1, "mprotect": 1, "process_madvise": 1, "mremap": 1,
                                           "munmap": 1, "mmap": 1}, calls.count(TRACE.splitlines())
assert calls.ours('noise\n{"vfmalloc": {"returns": 2}}\n') == {"returns": 2}
assert calls.ours("noise\n") == {}

# The page.
report = {"name": "heap-churn", "machine": {"cpus": 2, "model": "M"}, "commit": "0123456789abcdef",
          "parameters": {"reps": 5, "left_out": [], "absent": {"z3": "not there"}},
          "summary": [{"program": "p", "allocator": "glibc", **of(1234.4, 5e6, calls=7, more=True)},
                      {"program": "p", "allocator": "jemalloc", "failed": "it fell"},
                      {"program": "p", "allocator": "vfmalloc", **of(2, 5e6, over_need=1.25)}],
          "aims": [{"met": None, "what": "that"}]}
page = "\n".join(figures.heap_churn(report))
assert "| p | 1234 / > 7 / 5.0 / 6.00 | failed | 2 / 3 / 5.0 (1.25x) / 6.00 |" in page, page
assert "unknown: that" in page and "z3: not there" in page
# A part is no table; what runs only if named is no part of it.
assert run_bench.left_out([n for n, row in rows.ROWS.items() if not row.asked], run_bench.allocators.PEERS) == []
assert run_bench.left_out(["z3"], ["glibc"])[-1] == "snmalloc"
try:
    list(figures.heap_churn({**report, "parameters": {**report["parameters"], "left_out": ["z3"]}}))
    raise AssertionError("a part of the table is no table")
except SystemExit:
    pass

# Pairs: the median of the ratios, not the ratio of the medians; of runs to the end, where there are enough.
def ran(wall, count, status="ok"):
    return measure.Run(status, wall, 1, "", "", values={"shootdowns": count, "mean_resident": 2, "peak_resident": 4})


ours, theirs = [ran(each, 1) for each in (1, 2, 3, 4, 5, 6, 7)], [ran(2 * each, 0) for each in (1, 2, 3, 4, 5, 6, 8)]
found = run_bench.pairs(ours, theirs)
assert found["time"] == [0.5, 0.4375, 0.5, 7] and found["CPU"][0] == 1 and "shootdowns" not in found, found
assert run_bench.pairs(ours[:5], theirs) == {}
assert run_bench.pairs([*ours[:6], ran(7, 1, "timeout")], theirs)["time"][3] == 6
(line,) = run_bench.pair_lines({"p": {"vfmalloc": {"pairs": {"glibc": {"time": found["time"]}, "jemalloc": {}}}}})
assert line == "p: vfmalloc / glibc, medians of pairs: time 0.50 [0.44, 0.50] of 7", line
print("heap-churn: ok")
