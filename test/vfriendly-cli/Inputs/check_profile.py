# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_profile.py FOLDER: a profile that was written by hand, joined with the findings of the project."""

import gzip
import json
import os
import struct
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

import jsonschema
from project import Project
from stacks import frame, profile_of, stack
from two_runs import compares
from vfriendly import numa
from vfriendly.measuring import machine, perf, pprof, sites, table, vcpus
from vfriendly.measuring import profile as profiles
from vfriendly.measuring.nodes import Nodes, pages_by_node
from vfriendly.measuring.processes import Processes
from vfriendly.measuring.profile import PARTS, Profile, Timed, read, timeline
from vfriendly.measuring.threads import Crowd
from vfriendly.measuring.waits import Waits


def times():
    """Only time on CPUs is shown; samples just before and after the wall time are in its first and last part."""
    rows = [Timed(9 * 10**9, 0, stack("cpu", "other", 1, 0.25)), Timed(10 * 10**9, 0, stack("spin", "spinning", 1, 0.5)),
            Timed(12 * 10**9 - 1, 1, stack("kernel", "page faults", 1, 1.0)),
            Timed(13 * 10**9, 1, stack("spin", "spinning", 1, 2.0)), Timed(11 * 10**9, 1, stack("block", "blocking", 1, 4.0))]
    by_cpu(rows)
    found = timeline(rows, 10 * 10**9, 2.0)
    assert {name: {i: s for i, s in enumerate(row) if s} for name, row in found.items()} == {
        "work": {0: 0.25}, "spinning": {0: 0.5, PARTS - 1: 2.0}, "page faults": {PARTS - 1: 1.0}}, found
    assert timeline(rows, 0, 0.0) == {}
    return found


def by_cpu(timed):
    """Running and waiting are shares of what the kernel has counted; what no source has is unknown, and has a reason."""
    found = vcpus.rows(timed, 7.5, {0: 1.0, 1: 3.0}, 8.0, {0: 0.5}, {}, True)
    assert found == {"0": {"run_s": 1.5, "spin_s": 0.5, "delay_s": 2.0, "steal_s": 0.5},
                     "1": {"run_s": 6.0, "spin_s": 2.0, "delay_s": 6.0, "steal_s": None}}, found
    [said] = vcpus.missing(found)
    assert said.startswith("steal: "), said
    shown = replace(profile_of(""), by_cpu=found)
    head, first, second = table.rows_by_cpu(shown)
    assert first == ["1", "6.00 s", "150.0 %", "2.00 s", "6.00 s", "unknown"] and second[0] == "0" and len(head) == 6, first
    assert "and 1 more CPUs" in table.lines(shown, 1) and "and 1 more CPUs" not in table.lines(shown, 2)
    # Without samples, by looks; without these, nothing is known. Less than was seen there cannot be.
    found = vcpus.rows([], 2.0, {}, None, {3: 0.0}, {3: 1.0}, True)
    assert found == {"3": {"run_s": 2.0, "spin_s": None, "delay_s": None, "steal_s": 0.0}}, found
    assert vcpus.missing(found)[0].startswith("how long threads waited") and len(vcpus.missing(found)) == 1
    assert vcpus.rows([], 2.0, {}, 1.0, {}, {}, True) == {} and vcpus.missing({}) == []
    assert vcpus.rows(timed, 1.0, {}, 1.0, {}, {}, False)["1"] == {
        "run_s": 3.0, "spin_s": None, "delay_s": 0.0, "steal_s": None}


def steal():
    """0 since the start of a virtual machine is not known, as many hosts never tell; 0 since a moment ago is 0."""
    with mock.patch.object(machine, "is_virtual", lambda: True):
        before, after = machine.Machine(1.0, None, {0: 0.5, 1: 0.5}), machine.Machine(1.5, None, {0: 0.5, 1: 1.0, 2: 0.0})
        assert after.since(before) == machine.Machine(0.5, None, {0: 0.0, 1: 0.5}), after.since(before)
        none = machine.Machine(0.0, 2.0, {0: 0.0})
        assert none.since(none) == machine.Machine(None, 0.0), none.since(none)
    with mock.patch.object(machine, "is_virtual", lambda: False):
        assert none.since(none) == machine.Machine(0.0, 0.0, {0: 0.0}), none.since(none)


def little_seen():
    """Where most of the CPU time is in no sample, it is not said that no cause takes much of it."""
    [said] = table.verdict(profile_of("", stack("cpu", "other", 1, 0.5)))
    assert said.startswith("only 500.0 ms of 4.00 s of CPU time were seen, too little"), said
    [said] = table.verdict(profile_of("", stack("cpu", "other", 1000, 3.5)))
    assert said.startswith("no cause takes 5 %"), said
    # One sample in three is no third of the time.
    few = [stack("cpu", "other", 2, 2.6), stack("spin", "spinning", 1, 1.3, frame("wait", "a.c", 1))]
    [said] = table.verdict(profile_of("", *few))
    assert said.startswith("4.00 s of CPU time and 3 samples of it are too little to name a cause"), said
    [said] = table.verdict(profile_of("", *(replace(s, count=100 * s.count) for s in few)))
    assert said.startswith("32.5 % of the CPU time goes to spinning, most of it in wait (a.c:1): compile"), said
    # An allocator is named for faults only where memory was seen to go back.
    faults = [stack("cpu", "other", 300, 2.4), stack("kernel", "page faults", 100, 1.2, frame("fill", "a.c", 2))]
    whole = profile_of("", *faults)
    assert table.verdict(whole)[0].endswith("vfriendly try --remedies malloc"), table.verdict(whole)
    whole.totals = {}
    assert "is used for the first time" in table.verdict(whole)[0] and "malloc" not in table.verdict(whole)[0], table.verdict(whole)
    whole.stacks.append(stack("kernel", "data sharing", 1, 0.005, frame("fill", "a.c", 3), call="madvise"))
    assert "is used for the first time" in table.verdict(whole)[0], table.verdict(whole)
    whole.stacks.append(stack("kernel", "data sharing", 5, 0.1, frame("fill", "a.c", 3), call="madvise"))
    assert table.verdict(whole)[0].endswith("vfriendly try --remedies malloc"), table.verdict(whole)
    # 6 of 100 may be 3 or 12 %.
    [said] = table.verdict(profile_of("", stack("cpu", "other", 94, 3.76), stack("spin", "spinning", 6, 0.24, frame("wait", "a.c", 1))))
    assert said.startswith("no cause takes 5 %"), said


def unknown():
    """What this way to measure cannot know is not 0."""
    shown = profile_of("", stack("cpu", "other", 60, 2.0), stack("spin", "spinning", 40, 1.6, frame("wait", "a.c", 1)))
    rows = {line.split("  ")[0]: line.split()[1:] for line in table.lines(shown, 1)}
    assert rows["spinning"] == ["1.60", "s", "40.0", "%", "[27.8,", "54.8]", "0", "0"], rows["spinning"]
    assert rows["page faults"][1:] == ["0", "0.0", "%", "0", "0", "0", "page", "faults"], rows["page faults"]
    [row] = [line for line in table.lines(replace(shown, totals={"fault": {"count": 1, "seconds": 0.0}}), 1) if "page faults" in line]
    assert row.endswith(" 1 page fault"), row
    # Without a sample, no share is known.
    assert table.cells(profile_of(""), "spinning") == ["unknown", "", "0", "0"], table.cells(profile_of(""), "spinning")
    shown.unknown = ["delay", "page faults cpu"]
    assert table.verdict(shown)[0].startswith("40.0 %"), table.verdict(shown)
    shown.steal_s = shown.throttled_s = shown.run_delay_s = None
    rows = {line.split("  ")[0]: line.split()[1:] for line in table.lines(shown, 1)}
    assert rows["page faults"][1:] == ["unknown", "0", "unknown", "0", "page", "faults"], rows["page faults"]
    assert "waiting for a CPU unknown, steal unknown, throttled unknown" in "\n".join(table.lines(shown, 1))
    assert jsonschema.validate(json.loads(shown.to_json()), SCHEMA) is None
    # It may be the unknown one that takes the time.
    shown.stacks, shown.unknown = [stack("cpu", "other", 100, 3.6)], ["delay", "spinning cpu", "allocation cpu"]
    assert table.verdict(shown) == ["no cause that can be seen takes 5 % of the CPU time; unknown: spinning, allocation; the "
                                    "last lines say why"], table.verdict(shown)


def crowds():
    """Threads that share CPUs are named first, with the setting of their pool; others only if they spin."""
    def said(crowd, *stacks):
        shown = profile_of("", *(stacks or [stack("cpu", "other", 400, 3.6)]))
        shown.crowd = crowd
        assert read_back(shown) == shown
        return table.verdict(shown)

    def read_back(shown):
        jsonschema.validate(json.loads(shown.to_json()), SCHEMA)
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write(shown.to_json())
            file.flush()
            return read(file.name)

    spins = [stack("spin", "spinning", 300, 2.7, frame("wait", "a.c", 1)), stack("cpu", "other", 100, 0.9)]
    redis = Crowd(1.0, 5.1, 4.8, 4.0, 3.5, 9.0, {"io_thd_1": {"threads": 1, "cpu_s": 0.7, "delay_s": 2.0}}, ["Redis"])
    first, second = said(redis, *spins)
    assert first == ("5 threads share one CPU: set io-threads 1 (redis.conf, or --io-threads 1): vfriendly try --remedies "
                     "threads"), first
    assert second == "67.5 % of the CPU time goes to spinning, most of it in wait (a.c:1)", second
    two = replace(redis, cpus=1.5, pools=["OpenMP", "OpenBLAS"])
    assert said(two)[0].startswith("5 threads share 1.5 CPUs: set OMP_NUM_THREADS=2, OPENBLAS_NUM_THREADS=2: "), said(two)
    # The negatives: enough CPUs, crowded for a moment only, one thread beside other programs, and no pool that is known.
    assert said(replace(redis, crowded_s=0.0), *spins)[0].startswith("67.5 %")
    assert said(replace(redis, crowded_s=0.3), *spins)[0].startswith("67.5 %")
    assert said(replace(redis, active=1.0), *spins)[0].startswith("67.5 %")
    assert said(replace(redis, pools=[]))[0].startswith("no cause takes")
    assert said(replace(redis, pools=[]), *spins)[0].startswith("5 threads share one CPU and spin: start as many")


def mappings():
    """Records of several CPUs are taken by their time, wherever it is in them; a sample has the program of its time."""
    def mapped(ns, begin, path):
        return perf.R_MMAP2, 0, struct.pack("<IIQQQIIQQII", 7, 7, begin, 0x1000, 0, 0, 0, 0, 0, 5, 0) + path + end(ns)

    def end(ns):
        return struct.pack("<IIQQ", 7, 7, ns, 3)

    executes = perf.R_COMM, perf.EXECUTES, struct.pack("<II", 7, 7) + b"second\0\0" + end(200)
    processes = Processes()
    processes.record_all([mapped(300, 0x3000, b"/c\0\0\0\0\0\0"), mapped(100, 0x1000, b"/a\0\0\0\0\0\0"), executes,
                          mapped(210, 0x2000, b"/b\0\0\0\0\0\0"), (perf.R_EXIT, 0, end(400))], 16)
    at = {ns: [m.path for m in processes.image(7, ns).at(ns)] for ns in (150, 205, 250, 350)}
    assert at == {150: ["/a"], 205: [], 250: ["/b"], 350: ["/b", "/c"]}, at
    assert processes.image(7, 350).name == "second"


def nodes():
    """Two threads compute as long on a node each. What only one of the nodes has is remote for the other; files are not counted."""
    maps = pages_by_node(["7f00 default anon=90 dirty=90 N0=80 N1=10 kernelpagesize_kB=4", "7f10 default file=/lib N1=500",
                          "7f20 default anon=1 N0=1 kernelpagesize_kB=2048"])
    assert maps == {0: 80 + 512, 1: 10}, maps

    def line(cpu, ticks):
        fields = ["S", *["0"] * 36]
        fields[11], fields[12], fields[36] = str(ticks - 1), "1", str(cpu)
        return f"7 (a) b) {' '.join(fields)}"

    with mock.patch.object(numa, "nodes_of_cpus", lambda: {0: 0, 1: 1}):
        found = Nodes()
    assert found.several and found.exact() == {}
    # Of three looks, the last one sees no more CPU time.
    for ticks in (100, 200, 200):
        found.add(7, [(7, line(0, ticks)), (8, line(1, ticks))], Counter({0: 900, 1: 100}))
    # The first look is made at once, the next one not yet, the last one anyway. There is no process 0.
    with mock.patch.object(found, "_look_at") as looked:
        for last in (False, False, True):
            found.look([0], last)
    assert looked.call_count == 2, looked.call_count
    rows = found.exact()
    second = os.sysconf("SC_CLK_TCK")
    assert rows["pages of node 0"] == {"count": 900, "seconds": 200 / second}, rows
    assert rows["pages of node 1"] == {"count": 100, "seconds": 200 / second} and rows["remote pages"]["count"] == 400, rows
    shown = replace(profile_of(Path("/")), totals=rows)
    (text,) = [line for line in table.lines(shown, 1) if "node 0" in line]
    assert text.startswith("node 0: 90.0 % of the pages, 50.0 % of the CPU time; node 1: 10.0 %") and "40.0 %" in text, text
    assert "--remedies numa" in text, text


SCHEMA = json.loads(Path(profiles.__file__).with_name("profile.schema.json").read_text())


def schema(written):
    """The file is as the schema says, and the schema says no to what is not."""
    jsonschema.validate(json.loads(written), SCHEMA)
    for break_it in (lambda d: d.pop("stacks"), lambda d: d.update(extra=1), lambda d: d["stacks"][0].update(what="nap"),
                     lambda d: d.update(wall_s=-1.0), lambda d: d["frames"][0].pop("line")):
        data = json.loads(written)
        break_it(data)
        try:
            jsonschema.validate(data, SCHEMA)
        except jsonschema.ValidationError:
            continue
        raise AssertionError("a broken profile is valid")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7f) << shift, shift + 7
        if byte < 0x80:
            return value, at


def numbers(packed):
    at = 0
    while at < len(packed):
        value, at = varint(packed, at)
        yield value


def fields(data):
    """Yields the numbers and values of a protocol buffer's fields."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def exports(whole, file):
    """The values of pprof's samples add up to those of the stacks; its tables are complete."""
    found = {}
    for number, value in fields(gzip.decompress(Path(file).read_bytes())):
        found.setdefault(number, []).append(value)
    strings = [text.decode() for text in found[6]]
    assert strings[0] == "" and "memset.S" in strings and "spinning" in strings and "madvise" in strings
    sums = [0] * len(pprof.VALUES)
    for sample, stack in zip(found[2], whole.stacks, strict=True):
        parts = dict(fields(sample))
        places, values = list(numbers(parts[1])), list(numbers(parts[2]))
        assert len(places) == len(stack.frames) and all(1 <= n <= len(found[4]) for n in places), places
        sums = [a + b for a, b in zip(sums, values, strict=True)]
    # 2.0 + 0.5 + 0.6 + 0.2 + 0.3 + 0.4 s, and 50 page faults.
    assert sums == [4 * 10**9, 0, 0, 0, 0, 0, 50, 0, 0], sums
    named = [strings[dict(fields(f))[2]] for f in found[5]]
    assert set(named) == {f.function for s in whole.stacks for f in s.frames}, named


def traced(whole, file):
    """Perfetto's slices add up to the time on CPUs and lie in their callers'; its counters to the time line."""
    events = json.loads(Path(file).read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert sorted(names.values()) == ["data sharing", "spinning", "work"], names
    found = {(names[e["tid"]], e["name"]): (e["ts"] / 1e6, round(e["dur"] / 1e6, 6)) for e in slices}
    assert found == {("spinning", "main"): (0.0, 2.0), ("spinning", "other"): (0.0, 2.0), ("spinning", "alien"): (2.0, 0.3),
                     ("spinning", "both"): (2.3, 0.2), ("work", "work"): (0.0, 0.6), ("work", "both"): (0.6, 0.5),
                     ("data sharing", "hot"): (0.0, 0.4), ("data sharing", "__memset"): (0.0, 0.4)}, found
    counters = [e for e in events if e["ph"] == "C"]
    part_s = whole.wall_s / PARTS
    for cause, seconds in whole.timeline.items():
        mine = [e for e in counters if e["name"] == cause]
        assert len(mine) == PARTS + 1 and mine[-1]["args"]["CPUs"] == 0 and round(mine[1]["ts"]) == round(part_s * 1e6)
        assert abs(sum(e["args"]["CPUs"] * part_s for e in mine) - sum(seconds)) < 1e-9


def counted_by_runtime():
    """Sites of several processes add up; the call is the line before the return address."""
    class Lines:
        def load(self, places):
            self.places = set(places)

        def frames(self, module, offset):
            return (frame("take", "a.c", offset, module),)

    def row(site, contended, waited_ns):
        return {"site": site, "acquisitions": 9, "contended": contended, "waited_ns": waited_ns, "wait": {"0": 1}}

    lines = Lines()
    objects = [{"vfpthread": {"waits": 3, "sites": [row("/bin/app+0x101", 5, 1500000000), row("/bin/app+0x201", 0, 0)]}},
               {"vfpthread": {"sites": [row("/bin/app+0x101", 2, 500000000), row("other", 1, 1)]}, "pid": 7}]
    (one,) = sites.stacks(objects, lines)
    assert (one.what, one.count, one.seconds, one.own.line) == ("site", 7, 2.0, 0x100), one
    (place,) = Profile(["a"], "BPF", [], 1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, {}, {}, [one]).places()
    assert (place.waited_s, place.cost, place.counts) == (2.0, 0, {"site": 7}), place


def merged_code_has_no_line():
    """A loop is named at its hottest line, and by its file if it has none but that of merged code, 0."""
    def shown(*lines):
        loop = [stack("spin", "spinning", 1, seconds, frame("wait", "a.c", line)) for line, seconds in lines]
        (place,) = Profile(["a"], "BPF", [], 1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, {}, {}, loop).places()
        assert place.spin_s == sum(seconds for _, seconds in lines), place
        return table.place_name(place)

    assert shown((0, 2.0), (7, 0.25), (8, 0.5)) == "wait (a.c:8)", shown((0, 2.0), (7, 0.25), (8, 0.5))
    assert shown((0, 2.0)) == "wait (a.c)", shown((0, 2.0))


def one_and_many():
    own = frame("wait", "a.c", 1)
    (place,) = profile_of("/", stack("block", "blocking", 2, 0.1, own), stack("block", "blocking", 1, 0.1, own),
                          stack("wake", "blocking", 1, 0, own)).places()
    assert table.events(place) == "3 blocks, 1 wake-up", table.events(place)


def versions_of_tools():
    """Debian's llvm-19 has no llvm-objdump without the version."""
    with mock.patch("shutil.which", lambda name: name if name == "llvm-objdump-19" else None):
        assert not Waits().missing


def main():
    # The runtime is linked into the program.
    waits = stack("block", "blocking", 1, 0.1, frame("vf_futex_wait", "kernel.h", 60), frame("wait_at", "wait.c", 9),
                  frame("vf_spin_wait", "wait.c", 30), frame("caller", "a.c", 5), frame("main", "a.c", 9))
    assert waits.own.function == "caller" and stack("fault", "page faults", 1, 0, frame("vf_init", "i.c", 1)).own is None
    # A thread that OpenMP's library begins waits in it, not where libc begins threads.
    libc, omp = (lambda f: frame(f, "", 0, "/lib/libc.so.6")), frame("", "", 0, "/lib/libgomp.so.1.0.0")
    waits = stack("block", "blocking", 1, 0.1, libc("syscall"), omp, frame("gomp_thread_start", "", 0, omp.module), libc("clone3"))
    assert waits.own is None and waits.shown == omp, waits.shown
    assert stack("fault", "page faults", 1, 0, libc("a"), libc("b")).shown == libc("b")
    merged_code_has_no_line()
    one_and_many()
    versions_of_tools()
    found = times()
    steal()
    little_seen()
    unknown()
    crowds()
    mappings()
    nodes()
    project = Project(sys.argv[1])
    before = project.sarif(status=1)["results"]
    loops = [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in before
             if r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/flag.c"]
    assert loops == [8, 11, 16], loops
    flag, libc = project.root / "src/flag.c", frame("__memset", "memset.S", 9, "/usr/lib/libc.so.6")
    stacks = [
        # The wait of other() was costly, that of both() less so; its body is one line below.
        stack("spin", "spinning", 900, 2.0, frame("other", flag, 17), frame("main", "main.c", 3)),
        stack("cpu", "other", 100, 0.5, frame("both", flag, 11)),
        # Work in the same file is nobody's, and so are page faults in a loop that waits.
        stack("cpu", "other", 100, 0.6, frame("work", flag, 3)),
        stack("fault", "page faults", 50, 0.0, libc, frame("both", flag, 8)),
        # Built elsewhere: the file's name and folder agree. Another folder's file is another one.
        stack("spin", "spinning", 10, 0.2, frame("both", "/builds/7/src/flag.c", 8)),
        stack("spin", "spinning", 10, 0.3, frame("alien", "/builds/7/lib/flag.c", 8)),
        stack("kernel", "data sharing", 10, 0.4, libc, frame("hot", "elsewhere.c", 5), call="madvise"),
    ]
    file = project.root / "p.json"
    whole = profile_of(project.root, *stacks)
    whole.timeline = found
    whole.by_cpu = {"1": {"run_s": 3.5, "spin_s": 2.5, "delay_s": 0.25, "steal_s": None}}
    file.write_text(whole.to_json())
    assert read(str(file)) == whole
    schema(file.read_text())
    project.run("measure", "pprof", "p.json", "p.pb.gz", status=0)
    exports(whole, project.root / "p.pb.gz")
    project.run("measure", "perfetto", "p.json", "p.trace", status=0)
    traced(whole, project.root / "p.trace")
    counted_by_runtime()
    assert read(str(file)).stacks == stacks
    after = project.sarif("--profile", "p.json", status=1)["results"]
    found = [(r["locations"][0]["physicalLocation"]["region"]["startLine"], r["rank"],
              r["properties"].get("measured", {}).get("cpu_s")) for r in after]
    assert found[:3] == [(16, 75.0, 2.0), (11, 56.25, 0.5), (8, 52.5, 0.2)], found
    assert len(after) == len(before) and all(rank < 50 and not cost for _, rank, cost in found[3:]), found
    text = project.run("scan", "--profile", "p.json", status=1)
    assert "measured: 2.00 s on CPUs (50.0% of the program's)" in text, text
    hot = [line for line in text.splitlines() if line.startswith("hot place")]
    assert hot == ["hot place without a finding: hot (elsewhere.c:5): data sharing, 0.40 s",
                   "hot place without a finding: alien (flag.c:8): spinning, 0.30 s"], hot
    project.run("report", "--profile", "p.json", "-o", "page.html", status=0)
    page = (project.root / "page.html").read_text()
    for words in ("the most costly first", "Hot places without a finding", '<svg class="flames"', "not seen", "needs root"):
        assert words.lower() in page.lower(), words
    # The first and the last part have two bars each, and the costliest places come first.
    assert page.count("from 0.00 s") == 2 and page.count("from 3.96 s") == 2 and "overhead, measured" in page
    assert "<li><b>2.00 s</b> (50.0 %)" in page.split("Places, the most costly first")[1][:60]
    assert "<th>CPU</th>" in page and "<td>1</td><td>3.50 s</td><td>87.5 %</td><td>2.50 s</td><td>250.0 ms</td><td>unknown</td>" in page
    assert 'class="spinning"' in page and 'class="data-sharing"' in page
    for text, told in (("{", "is no profile"), ("[" * 100000, "is no profile"), ('{"vfriendly": "trial"}', "is no profile"),
                       (file.read_text().replace('"version": 1', '"version": 99'), "of another version")):
        (project.root / "bad.json").write_text(text)
        project.run("scan", "--profile", "bad.json", status=2)
        assert told in project.errors and project.errors.count("\n") == 1, project.errors

    compares(project)


main()
