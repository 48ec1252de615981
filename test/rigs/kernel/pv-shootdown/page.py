# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether /dev/vcpu_state says what L1's trace of scheduling says, and what a read costs.

L1's trace has the time stamp counter as its clock, and so have L2's samples, plus the
offset that KVM gives L2, which is in the trace, too.
"""

import bisect
import re

# L1 runs it before the VMM, and after.
TRACE = """T=/sys/kernel/tracing
echo x86-tsc >$T/trace_clock; echo 16384 >$T/buffer_size_kb
echo 'prev_comm ~ "vcpu*" || next_comm ~ "vcpu*"' >$T/events/sched/sched_switch/filter
echo 1 >$T/events/sched/sched_switch/enable
echo 1 >$T/events/kvm/kvm_write_tsc_offset/enable"""
PRINT = r"""echo 0 >$T/tracing_on
grep -h overrun $T/per_cpu/cpu*/stats
sed -n -e 's/.* \([0-9]*\): sched_switch: prev_comm=\([^ ]*\) .*prev_state=\([^ ]*\) ==> next_comm=\([^ ]*\) .*/switch \1 \2 \3 \4/p' \
  -e 's/.*kvm_write_tsc_offset: /offset /p' $T/trace"""

# A sample that took longer may have had a switch in it.
LOOK_US = 20
# Around a switch, as the byte is written a little after it.
APART_US = 100
WANTED = 0.95


class Trace:
    """When each vCPU was switched to and from: vCPU -> (times, whether it was preempted then)."""

    def __init__(self, lines):
        self.switches, self.lost = {}, 0
        offsets = {}
        for line in lines:
            if line.startswith("switch "):
                _, at, before, state, after = line.split()
                for name, preempted in ((before, state[0] == "R"), (after, False)):
                    vcpu = re.fullmatch(r"vcpu(\d+)", name)
                    if vcpu:
                        times, states = self.switches.setdefault(int(vcpu[1]), ([], []))
                        times.append(int(at))
                        states.append(preempted)
            elif line.startswith("offset "):
                vcpu, offset = re.search(r"vcpu=(\d+) .*next=(\d+)", line).groups()
                offsets[int(vcpu)] = int(offset)
            elif re.match(r"(commit )?overrun: [1-9]", line):
                self.lost += int(line.split()[-1])
        values = set(offsets.values())
        self.offset = values.pop() if len(values) == 1 else None

    def of(self, vcpu, at):
        """Whether it was preempted then, and the time stamps since or until the nearest switch;
        None before the first and after the last."""
        times, states = self.switches.get(vcpu, ([], []))
        next_one = bisect.bisect_right(times, at)
        if not 0 < next_one < len(times):
            return None
        return states[next_one - 1], min(at - times[next_one - 1], times[next_one] - at)


def compare(lines, vcpus, tsc_per_ms):
    """What L2 saw against the trace: counts by (near a switch, preempted by the trace, seen so)."""
    trace = Trace(lines)
    counts, slow, unknown = {}, 0, 0
    for line in lines:
        if not line.startswith("saw "):
            continue
        looker, at, took, seen = (int(word, 16) for word in line.split()[1:])
        if took * 1000 > LOOK_US * tsc_per_ms:
            slow += 1
            continue
        for vcpu in range(vcpus):
            if vcpu == looker:
                continue
            truth = trace.of(vcpu, (at + took // 2 - trace.offset) % 2**64)
            if truth is None:
                unknown += 1
                continue
            preempted, distance = truth
            key = (distance * 1000 <= APART_US * tsc_per_ms, preempted, bool(seen >> vcpu & 1))
            counts[key] = counts.get(key, 0) + 1
    return {"counts": counts, "slow_looks": slow, "unknown": unknown, "lost": trace.lost,
            "switches": {vcpu: len(times) for vcpu, (times, _) in trace.switches.items()}}


def agreement(counts, near):
    """How many samples, how many agree, and how many of them are of preempted vCPUs."""
    chosen = {key: n for key, n in counts.items() if key[0] == near}
    return (sum(chosen.values()), sum(n for key, n in chosen.items() if key[1] == key[2]),
            sum(n for key, n in chosen.items() if key[1]))


READS = 1_000_000
VCPUS, SECONDS = 4, 60


def check_page(rig, options):
    """What is seen of 4 busy vCPUs is what L1's trace of scheduling has; a read takes no call and no exit."""
    found = rig.run("reads", 1, f"sleep 1\n/page plain {READS}\n/page reads {READS}\n", 2, 60).results
    calls = found[1]["system_calls"]
    exits = [sum(run["exits"]["exit"].values()) for run in found]
    # Others come with time: the host's and the guest's ticks.
    good = calls == 0 and exits[1] < READS / 1000
    yield (good, f"{READS} reads: {calls} system calls; {exits[1]} exits in {found[1]['seconds']:.2f} s, "
           f"and {exits[0]} in {found[0]['seconds']:.2f} s if ordinary memory is read", {"runs": found})

    seconds = options.seconds or SECONDS
    ran = rig.run("samples", VCPUS, f"sleep 1\n/page samples {VCPUS} {seconds}\n", 1, seconds,
                  outer=(TRACE, PRINT))
    result = ran.results[0]
    what = compare(ran.lines, VCPUS, result["tsc_per_ms"])
    samples, agree, preempted = agreement(what["counts"], False)
    apart, apart_agree, _ = agreement(what["counts"], True)
    what["counts"] = [[*key, n] for key, n in sorted(what["counts"].items())]
    yield (samples > 0 and preempted > 0 and not what["lost"] and agree >= WANTED * samples,
           f"{agree} of {samples} samples agree with the trace, {agree / max(samples, 1):.2%}, {preempted} of them of "
           f"preempted vCPUs; within {APART_US} us of a switch, apart from these: {apart_agree} of {apart}", {**result, **what})
