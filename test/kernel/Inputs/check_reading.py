# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads recorded lines of L2 and judges them; no kernel is booted."""

import os
import sys

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench"),
                os.path.join(root, "test", "rigs", "kernel", "paratick")]

import checks  # noqa: E402
import run_test  # noqa: E402
import table  # noqa: E402
from guest import broken, nested  # noqa: E402
from kernel import build, rig  # noqa: E402


def recorded(workload, vcpus, ops, seconds, exits, msrs, ptk=0):
    """What the counter makes of a run's lines; before it, all had happened 100 times."""
    counter = nested.Counter()
    for mark in (1, 2):
        counter.line('{"mark": %d}' % mark)
        for code, n in exits.items():
            counter.line("{ exit_reason: %10d } hitcount: %10d" % (code, 100 + n * (mark - 1)))
        for msr, n in msrs.items():
            counter.line("{ ecx: %x } hitcount: %10d" % (msr, 100 + n * (mark - 1)))
        counter.line("{ counter: paratick_injected } hitcount: %d" % (7 * mark))
    counter.line('{"workload": "%s", "vcpus": %d, "ops": %d, "seconds": %f, "ptk": %d, "loc": 3, "idle_s": 0.5}'
                 % (workload, vcpus, ops, seconds, ptk))
    return counter.results[0]


HLT, INTR, MSR, CPUID = 120, 96, 124, 114
TSC_DEADLINE, ICR = 0x6E0, 0x830
one = recorded("busy", 1, 10, 2, {HLT: 4, INTR: 6, CPUID: 2, MSR: 8}, {TSC_DEADLINE: 5, ICR: 3})
assert table.count(one, table.ALL) == 20 and table.count(one, table.OTHER) == 2, one
assert table.count(one, "TSC_DEADLINE") == 5 and table.count(one, "NPF") == 0
assert table.rate(one, "HLT", table.SECOND) == 2 and table.rate(one, "HLT", table.OPERATION) == 0.4
assert one["exits"]["counter"] == {"paratick_injected": 7}, one

# The middle one of three counts.
busy = {
    "off": [recorded("busy", 1, 9, 2, {INTR: n}, {TSC_DEADLINE: 500}) for n in (1, 500, 9000)],
    "on": [recorded("busy", 1, 9, 2, {INTR: 250}, {TSC_DEADLINE: 2}, ptk=500)] * 3,
}
pong = {
    "off": [recorded("pingpong", 2, 10, 2, {HLT: 100}, {})],
    "on": [recorded("pingpong", 2, 20, 2, {HLT: 120}, {})],
}
# What did nothing has no cost of an operation, and no verdict.
stuck = {v: [recorded("pingpong", 4, 0, 2, {HLT: 100}, {})] for v in table.VARIANTS}
cells = {("busy", 1): table.summary(busy), ("pingpong", 2): table.summary(pong),
         ("pingpong", 4): table.summary(stuck)}
for verdict in table.judge(cells):
    print(table.verdict_line(verdict))
off, on, ratio = table.rows(("busy", 1), cells["busy", 1])
assert off[:5] == ["busy", 1, "s", "off", "0"] and off[-2] == "250" and on[-2] == "125", (off, on)
assert ratio[3] == "ratio" and ratio[4] == "-" and ratio[-2] == "0.5", ratio
assert len(table.rows(("x", 1), table.summary(
    {v: [recorded("sleeper", 1, 5, 1, {}, {})] for v in table.VARIANTS}))) == 6
assert [table.text(x) for x in (None, 0, 0.01234, 12.34, 1234.5)] == ["-", "0", "0.0123", "12.3", "1234"]


# Half a second of 2 s on 2 vCPUs is idle, which are halted 50 times a second.
assert table.ticks(pong, 250) == table.Ticks(0.875, 1000, 975, 1.5, 1.5), table.ticks(pong, 250)


# A comparison of what was not there is none.
class Patched:
    patched = True


assert run_test.verify(Patched, "t", "on", busy["on"][0]) is None
assert "no marks" in broken(lambda: run_test.verify(Patched, "t", "on", {"ptk": 1}))
assert "no tick" in broken(lambda: run_test.verify(Patched, "t", "on", pong["on"][0]))
assert "t: the hypervisor delivered 500" in broken(
    lambda: run_test.verify(Patched, "t", "off", busy["on"][0]))

# Findings of the checks.
ran = {"asked_s": 10, "marked_s": 10, "seconds": 10.0, "loc": [100, 90], "ptk": [2500, 2400], "exits": {
    "exit": {}, "msr": {}, "counter": {"paratick_injected": 4900, "paratick_coalesced": 90}}}
good = [f.good for f in checks.ticks_found(ran, "t", 250, True, 0.01)]
assert good == [True, True, True, True, False, True], good
good = [f.good for f in checks.ticks_found({**ran, "asked_s": 8}, "t", 250, True, 0.05)]
assert good == [False, True, True, True, True, True], good
timers = {"asked_s": 10, "marked_s": 10, "seconds": 10.0, "loc": [2500, 2600], "ptk": [], "exits": {"exit": {}, "msr": {}}}
assert all(f.good for f in checks.ticks_found(timers, "t", 250, False, 0.01, 0.05))
good = [f.good for f in checks.ticks_found(timers, "t", 250, True, 0.01)]
assert good == [True] + [False] * 5, good
good = [f.good for f in checks.ticks_found({**timers, "exits": ran["exits"]}, "t", 250, False, 0.01, 0.05)]
assert good == [True, False, True, True, True, True], good
assert not checks.within("x", 102.1, 100, 0.02, {}).good

# What kernels say.
log = """[    0.1] Linux version 6.1 (DEBUG)
[    1.0] WARNING: CPU: 0 PID: 1 at kernel/time/tick-sched.c:1 tick_x+0x1/0x2
[   21.0] rcu: INFO: rcu_sched self-detected stall on CPU
[   23.0] watchdog: BUG: soft lockup - CPU#1 stuck for 22s!
[  120.0] INFO: task sh:1 blocked for more than 120 seconds.
[  120.1] rcu: Hierarchical RCU implementation."""
assert len(rig.complaints(log)) == 4, rig.complaints(log)
assert rig.complaints(f"{log}\n{log}") == rig.complaints(log)

# What Kconfig made of what was asked for.
asked = ["# a comment", "CONFIG_A=y", "# CONFIG_B is not set", 'CONFIG_C="x"', "CONFIG_HZ=250"]
assert build.differences(asked, asked) == []
assert build.differences(asked, ["CONFIG_A=m", 'CONFIG_C="x"', "CONFIG_HZ=250"]) == ["CONFIG_A is m, not y"]
assert build.differences(asked, ["CONFIG_A=y", "CONFIG_B=y"]) == [
    "CONFIG_B is y, not n", 'CONFIG_C is n, not "x"', "CONFIG_HZ is n, not 250"]
lines = build.config(build.Kind(hz=1000, nohz_full=True), [run_test.CONFIG])
assert {"CONFIG_HZ_1000=y", "CONFIG_HZ=1000", "CONFIG_NO_HZ_FULL=y", "CONFIG_KVM_PARATICK=y"} <= {*lines}
assert len(build.options(lines)) == sum(l.startswith(("CONFIG", "# CONFIG")) for l in lines), "one twice"
print("reading: ok")
