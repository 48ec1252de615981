# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether what depends on ticks is right: each check is a function.

One is given the rig and the options, boots what it needs, and returns what it found; the
table at the end names them. CLOCK_MONOTONIC, which no tick moves, is the measure.
"""

import itertools
import os
from dataclasses import dataclass, field

import table
from guest import initramfs, nested
from kernel.rig import L1_CPUS, SAY

ON = table.WORDS["on"]


def cells(name, *sizes):
    """A check's guests: title, vCPUs, variant and the words for it."""
    for cpus in sizes:
        for variant, words in table.WORDS.items():
            yield f"{name}, {table.vcpus(cpus)}, {variant}", cpus, variant, words


@dataclass
class Finding:
    good: bool
    text: str
    values: dict = field(default_factory=dict)


def within(what, value, expected, share, values):
    """A finding: value is expected, but for a share of it."""
    text = f"{what} {value:.6g}, expected {expected:.6g} within {100 * share:g} %"
    if expected:
        text += f" ({100 * (value / expected - 1):+.2f} %)"
    return Finding(abs(value - expected) <= share * expected, text, values)


def one(rig, title, cpus, command, longest=0, **more):
    """What a program of one result prints, in a guest of its own."""
    return rig.run(title, cpus, f"sleep 1\n{command} || exit 1\n", 1, longest, **more).results[0]


def by_counters(values):
    """How many ticks the host has given to L2, and coalesced, between the marks."""
    counted = values["exits"].get("counter", {})
    return [counted.get(f"paratick_{name}", 0) for name in ("injected", "coalesced")]


# Who sleeps on a CPU where others compute is woken up by a timer, and scheduled soon.
LATE_S = 1


def ticks_found(values, title, hz, by_host, share, timer_share=None):
    """Each CPU has HZ ticks, from the hypervisor or by timer, and not from the other."""
    took, found = values["seconds"], []
    found.append(Finding(took <= values["asked_s"] + LATE_S, f"{title}: a sleep of "
                         f"{values['asked_s']:g} s took {took:.3f} s", values))
    given, coalesced = by_counters(values)
    if by_host:
        # Of a vCPU that was away for a while, on a host that is busy, several are one.
        found.append(within(f"{title}: ticks given, {given}, or coalesced, {coalesced}, per s and vCPU",
                            (given + coalesced) / values["marked_s"] / len(values["loc"]), hz, share, values))
    else:
        found.append(Finding(given + coalesced == 0, f"{title}: ticks given, {given}, or coalesced, "
                             f"{coalesced}, expected none", values))
    for cpu, loc in enumerate(values["loc"]):
        ptk = values["ptk"][cpu] if values["ptk"] else 0
        where = f"{title}, CPU {cpu}"
        if by_host:
            found.append(within(f"{where}: ticks of the hypervisor per s", ptk / took, hz, share, values))
            # Timers other than the tick remain.
            found.append(Finding(loc / took <= hz / 4, f"{where}: timer interrupts per s {loc / took:.4g}, "
                                 f"at most {hz / 4:g}", values))
        else:
            found.append(within(f"{where}: timer interrupts per s", loc / took, hz,
                                timer_share or share, values))
            found.append(Finding(ptk == 0, f"{where}: {ptk} ticks of the hypervisor, expected none", values))
    return found


# Asked of 60 s; the first and the last tick make no difference then.
RATE_SHARE = 0.01
RATE_S = 60
# Beside ticks there are timers of the kernel's own, some a second.
TIMER_SHARE = 0.05


def rates(rig, hz, seconds, name, size, off=True):
    """Findings about a busy guest of so many vCPUs, without paratick as well if off."""
    found = []
    for title, cpus, variant, words in cells(name, size):
        if variant == "off" and not off:
            continue
        values = one(rig, title, cpus, f"/times rate {seconds}", seconds, words=words)
        found += ticks_found(values, title, hz, rig.patched and variant == "on", RATE_SHARE, TIMER_SHARE)
    return found


def check_rate(rig, options):
    """Ticks are as many as asked for, on 1 and 2 busy vCPUs."""
    seconds = options.seconds or RATE_S
    return (rates(rig.like(host_cpus=1), options.hz, seconds, "rate", 1)
            + rates(rig.like(host_cpus=L1_CPUS), options.hz, seconds, "rate", 2))


RATES_HZ = (100, 250, 1000)


def check_rates(rig, options):
    """The same for each HZ of the guest and of its host."""
    seconds, found = options.seconds or RATE_S, []
    for hz, host_hz in itertools.product(RATES_HZ, RATES_HZ):
        pair = rig.like(host_cpus=1, hz=hz, host_hz=host_hz, host_nohz_full=False)
        # A guest that has a timer does not ask how often its host ticks.
        found += named(rates(pair, hz, seconds, f"HZ {hz} on {host_hz}", 1, off=hz == host_hz),
                       hz, str(host_hz))
    return found


def check_nohz_full(rig, options):
    """The same for each HZ of the guest on a CPU whose host stops its ticks."""
    seconds, found = options.seconds or RATE_S, []
    for hz in RATES_HZ:
        full = rig.like(host_cpus=L1_CPUS, hz=hz, host_hz=options.host_hz, host_nohz_full=True)
        found += named(rates(full, hz, seconds, f"HZ {hz} on nohz_full {options.host_hz}", 1, off=False),
                       hz, f"{options.host_hz}, nohz_full")
    return found


def named(findings, hz, host):
    """The same, with the two kernels' HZ among what was found."""
    for finding in findings:
        finding.values.update(hz=hz, host=host)
    return findings


# Clocks that ticks move are read at some point between two ticks, /proc/stat's columns in
# USER_HZ, so that 10 s are right to 1 % at best.
TIMES_SHARE = 0.02
# A tick that finds the thread in the kernel, for a signal or an interrupt, is system time.
USER_SHARE = 0.03
TIMES_S = 10


def check_times(rig, options):
    """Jiffies, times(), /proc/stat, interval timers and CPU limits agree with the clock."""
    seconds, found = options.seconds or TIMES_S, []
    for title, cpus, variant, words in cells("times", 1, 2):
        v = one(rig, title, cpus, f"/times account {seconds}", seconds + TIMES_S, words=words)

        def agrees(what, value, expected, share=TIMES_SHARE):
            found.append(within(f"{title}: {what}", value, expected, share, v))

        agrees("jiffies in s", v["jiffies"] / options.hz, v["seconds"])
        agrees("times() in s", v["times_s"], v["seconds"])
        agrees("/proc/stat's sum in s", v["all_s"], v["seconds"] * v["cpus"])
        agrees("user time in s", v["user_s"], v["cpu_s"], USER_SHARE)
        agrees("ITIMER_PROF's signals", v["prof"], v["cpu_s"] / v["interval_s"])
        agrees("ITIMER_VIRTUAL's signals", v["virtual"], v["cpu_s"] / v["interval_s"],
               USER_SHARE)
        # It is looked at in ticks only, at the next full second.
        agrees("RLIMIT_CPU's kill after s", v["killed_s"], v["limit_s"], 0.05)
        found.append(Finding(v["signal"] == 24, f"{title}: killed by signal {v['signal']}, "
                             "expected 24, SIGXCPU", v))
    return found


IDLE_LATE_S = 0.5


def check_idle(rig, options):
    """Time goes on for vCPUs that are idle, and timers wake them."""
    seconds, found = options.seconds or TIMES_S, []
    for title, cpus, variant, words in cells("idle", 1, 2, 4):
        v = one(rig, title, cpus, f"/times idle {seconds}", seconds, words=words)
        found.append(within(f"{title}: jiffies in s", v["jiffies"] / options.hz, v["seconds"],
                            TIMES_SHARE, v))
        found.append(within(f"{title}: times() in s", v["times_s"], v["seconds"], TIMES_SHARE, v))
        # Emulated, and on a busy machine, a timer is late by milliseconds.
        found.append(Finding(v["late_s"] < IDLE_LATE_S, f"{title}: a timer was late by "
                             f"{v['late_s']:.3f} s, at most {IDLE_LATE_S:g}", v))
    return found


# Less than two periods, and what wake-ups take; vCPUs that share the host's one CPU wait for
# each other as well, 6 periods were seen with two of them, with a timer 5. With
# Inputs/starve.patch it is all of the phase, in 4 to 8 phases of 18 with one vCPU.
LAG_PERIODS = 25
PARTS, PHASES_S = 3, 54


def check_phases(rig, options):
    """Time goes on for a guest that is busy for a part of each period, at each phase."""
    seconds, found = options.seconds or PHASES_S, []
    for title, cpus, variant, words in cells("phases", 1, 2, 4):
        for v in rig.like(host_cpus=1).run(title, cpus, f"sleep 1\n/times phases {seconds} || exit 1\n",
                                           PARTS, seconds, words=words).results:
            late = [phase for phase, lag in enumerate(v["lags"]) if lag > LAG_PERIODS]
            found.append(Finding(
                not late, f"{title}, busy for {v['part']:g} of each period: the coarse clock stood still for "
                f"{max(v['lags']):g} periods, at most {LAG_PERIODS}; in {len(late)} phases of "
                f"{len(v['lags'])} for more", v))
    return found


NESTED_S = 10
# Of the same guest with a timer.
NESTED_EXITS = 1.05


def check_nested(rig, options):
    """A guest whose own guest halts without an exit to it has its ticks, and no more exits."""
    seconds, found, exits = options.seconds or NESTED_S, [], {}
    for title, cpus, variant, words in cells("nested", 1):
        values = one(rig.like(host_cpus=1), title, cpus, f"/nested {seconds}", seconds, words=words)
        found += ticks_found(values, title, options.hz, rig.patched and variant == "on", TIMER_SHARE)
        exits[variant] = sum(values["exits"]["exit"].values()) / values["seconds"]
    found.append(Finding(exits["on"] <= NESTED_EXITS * exits["off"], f"nested: exits per s {exits['on']:.1f}, "
                         f"{exits['on'] / exits['off']:.3f}x of {exits['off']:.1f} with a timer, at most "
                         f"{NESTED_EXITS}x", exits))
    return found


# How long the VMM keeps a page, see guest/Inputs/hole.h; the rest of that is not to be seen.
PAGE_AWAY_S = 0.1
PAGES, PAGE_PERIODS = 20, 2


def check_paging(rig, options):
    """While a page is brought that one thread waits for, another has the CPU after two periods."""
    found = []
    for title, cpus, variant, words in cells("paging", 1):
        # A guest that is told of it would switch at once, by itself.
        v = one(rig.like(host_cpus=1), title, cpus, f"/paging {PAGES}", words=f"{words} no-kvmapf")
        waited = max(v["waits"]) / v["period_s"]
        found.append(Finding(v["away_s"] >= PAGE_AWAY_S, f"{title}: {PAGES} pages were away for "
                             f"{v['away_s']:.3f} s at least, expected {PAGE_AWAY_S:g}", v))
        found.append(Finding(0 < waited <= PAGE_PERIODS, f"{title}: another thread had the CPU after "
                             f"{waited:.2f} periods at most, expected no more than {PAGE_PERIODS}", v))
    return found


# Here it matters that ticks come, and from whom; check_rate says whether all do. On a busy
# machine vCPUs are away for a third of 3 s, and their ticks are coalesced.
FEW_S_SHARE = 0.5
ROUNDS = 50


def busy_cpus(rig):
    """vCPUs of a guest in which each has a CPU of the host: busy ones that share one take turns,
    and half of their ticks are coalesced."""
    return min(2, rig.host_cpus)


def check_hotplug(rig, options):
    """A vCPU that went and came often, under load, ticks as before."""
    found = []
    for title, cpus, variant, words in cells("hotplug", 2):
        values = one(rig, title, cpus, f"/times hotplug {ROUNDS}", ROUNDS * 2, words=words)
        found += ticks_found(values, f"{title}, after {ROUNDS} rounds", options.hz,
                             rig.patched and variant == "on", FEW_S_SHARE)
    return found


SHORT_S = 3


def check_unpatched(rig, options):
    """A guest that is not offered ticks has a timer, and so has one that knows of none."""
    found = []
    for title, pair, host_words in (
            ("a host without it", rig.like(bare="host"), ""),
            ("a host with kvm.paratick=0", rig, "kvm.paratick=0" if rig.patched else ""),
            ("a guest without it", rig.like(bare="guest"), "")):
        values = one(pair, title, busy_cpus(rig), f"/times rate {SHORT_S}", SHORT_S, words=ON,
                     host_words=host_words)
        found += ticks_found(values, title, options.hz, False, FEW_S_SHARE)
    return found


def check_refused(rig, options):
    """A guest that is refused its period has a timer, one that is not has ticks."""
    found, period_us = [], 1000000 // options.hz
    for least, served in ((period_us + 1000, False), (period_us, True)):
        title = f"a period of {period_us} us, {least} at least"
        values = one(rig, title, busy_cpus(rig), f"/times rate {SHORT_S}", SHORT_S, words=ON,
                     host_words=f"kvm.paratick_min_period_us={least}" if rig.patched else "")
        found += ticks_found(values, title, options.hz, rig.patched and served, FEW_S_SHARE)
    return found


def restarted(rig, options, how, more="", dies=None):
    """Findings of the kernel that took ticks, and of the same one, started by it, which does
    so too or is told not to."""
    found = []
    initrd = initramfs.write(os.path.join(rig.out, "second.cpio"), rig.busybox,
                             {"times": rig.files["times"]}, f"sleep 1\n/times rate {SHORT_S}\n{SAY}",
                             nested.L2, "ttyS0")
    for then, words in table.WORDS.items():
        title = f"{how}, then {then}"
        script = f"sleep 1\n/times rate {SHORT_S}\n{SAY}/kexec {how} /vmlinuz /second.cpio {words}\nexit 1\n"
        results = rig.run(title, busy_cpus(rig), script, 2, SHORT_S, words=f"{ON} {more}".rstrip(),
                          dies=dies, files={"vmlinuz": rig.guest.image, "second.cpio": initrd}).results
        for which, by_host, values in zip(("first", "second"), (True, then == "on"), results):
            found += ticks_found(values, f"{title}, the {which}", options.hz, rig.patched and by_host,
                                 FEW_S_SHARE)
    return found


def check_reboot(rig, options):
    """The kernel that another one starts in the same machine has its ticks, and no others."""
    return restarted(rig, options, "reboot")


# Kernel and initramfs, unpacked: a quarter of what L2 has.
CRASH_MEGABYTES = 96


def check_crash(rig, options):
    """The same of the kernel that takes over after a panic, with the one CPU that is left."""
    return restarted(rig, options, "crash", f"crashkernel={CRASH_MEGABYTES}M", "sysrq triggered crash")


# How long the kernel waits before it comes back, which is not on its clock.
DOWN_S = 5


def check_suspend(rig, options):
    """None comes while all is down for hibernation, and they come again when it turns back."""
    found = []
    for title, cpus, variant, words in cells("suspend", *range(1, busy_cpus(rig) + 1)):
        by_host = rig.patched and variant == "on"
        down, up = rig.run(title, cpus, f"sleep 1\n/times hibernate 1 || exit 1\n/times rate {SHORT_S}\n",
                           2, SHORT_S + DOWN_S, words=words).results
        given, coalesced = by_counters(down)
        # The clock stops before ticks do. Had they not, DOWN_S would be full of them.
        most = (down["marked_s"] * cpus + DOWN_S / 2) * options.hz
        found.append(Finding(given + coalesced <= most, f"{title}: ticks given, {given}, or coalesced, "
                             f"{coalesced}, at most {most:.0f} in {down['marked_s']:.3f} s", down))
        found += ticks_found(up, f"{title}, after", options.hz, by_host, FEW_S_SHARE)
    return found


def check_boots(rig, options):
    """--reps guests of each size boot and end; kernels that complain are told of at the end."""
    found = []
    for cpus in (1, 2, 4):
        for rep in range(options.reps):
            title = f"boot {rep + 1} of {options.reps}, {table.vcpus(cpus)}"
            values = one(rig, title, cpus, "/times idle 0.1", words=ON)
            found.append(Finding(True, f"{title}: came to its end", values))
    return found


SOAK_S = 60
# A guest that hangs is noticed after one of the runs.
SOAK_RUN_S = 60


def check_soak(rig, options):
    """--seconds of all kinds of work on more vCPUs than CPUs: no stall, no lockup."""
    runs = max(1, round((options.seconds or SOAK_S) / SOAK_RUN_S))
    title = f"mixed work, {runs} times {SOAK_RUN_S} s"
    script = f"sleep 1\nfor i in $(seq {runs}); do /workload mixed 4 {SOAK_RUN_S} || exit 1; done\n"
    # With more CPUs QEMU's guests of the guest crash at times.
    results = rig.like(host_cpus=1).run(title, 4, script, runs, SOAK_RUN_S, words=ON).results
    return [Finding(values["ops"] > 0 and values["seconds"] < SOAK_RUN_S + LATE_S,
                    f"{title}: {values['ops']} operations in {values['seconds']:.3f} s", values)
            for values in results]


@dataclass(frozen=True)
class Check:
    run: object
    by_name: bool = False  # it takes so long that --only has to ask for it

    def __str__(self):
        return self.run.__doc__ + (" Only by its name." if self.by_name else "")


CHECKS = {name: Check(*how) for name, *how in (
    ("rate", check_rate), ("rates", check_rates, True), ("nohz-full", check_nohz_full, True),
    ("times", check_times), ("idle", check_idle), ("phases", check_phases),
    ("nested", check_nested), ("paging", check_paging),
    ("hotplug", check_hotplug), ("unpatched", check_unpatched), ("refused", check_refused),
    ("reboot", check_reboot), ("crash", check_crash), ("suspend", check_suspend),
    ("boots", check_boots), ("soak", check_soak),
)}
