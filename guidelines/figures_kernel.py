# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables that ./dev kernel-test measures: paratick and pv-shootdown."""
from figures_common import digits, fail

PARATICK = ("HLT", "INTR", "VINTR", "TSC_DEADLINE", "ICR", "all")


def guests(n):
    return f"{n} guest{'s' if n > 1 else ''}"


def exits_of_paratick(report):
    periodic = report["parameters"]["periodic"]
    heads = [*PARATICK, *(["all, periodic"] if periodic else [])]
    yield f"| workload | vCPUs | exits per | {' | '.join(heads)} | all, on / off |"
    yield f"|---|---|---|{'---|' * len(heads)}---|"
    for row in report["summary"]:
        for unit, kinds in row["per"].items():
            cells = [f"{digits(kinds[k]['off'])} → {digits(kinds[k]['on'])}" for k in PARATICK]
            cells += [digits(kinds["all"]["periodic"])] if periodic else []
            yield (f"| {row['workload']} | {row['vcpus']} | {unit} | {' | '.join(cells)} | "
                   f"{kinds['all']['ratio']:.2f} |")


def command_of_paratick(report):
    p = report["parameters"]
    options = [f"--version {p['version']}"] if p["version"] != "6.1" else []
    options += [f"--{k}" for k in ("checks", "periodic") if p[k]]
    unsaid = {"host_cpus": 2, "reps": 3, "also": None, "only": None}
    options += [f"--{k.replace('_', '-')} {p[k]}" for k, usual in unsaid.items() if p[k] != usual]
    return " ".join(["./dev kernel-test paratick", *options])


def measured_paratick(report, what="off → on"):
    p = report["parameters"]
    if p["checks"] or p["patches"] or report["failures"]:
        fail("not all was measured: run ./dev kernel-test paratick --host-cpus 1, once more")
    return (f"`{command_of_paratick(report)}`,\ncommit `{report['commit'][:10]}`, {report['kernel']} as guest and host, "
            f"{guests(p['reps'])} for each, medians, {what}:\n")


def paratick(report):
    if report["parameters"]["only"] or report["parameters"]["also"]:
        fail("not all was measured: run ./dev kernel-test paratick --host-cpus 1, without --only")
    yield measured_paratick(report)
    yield from exits_of_paratick(report)


def paratick_totals(report):
    if report["parameters"]["only"] or not report["parameters"]["periodic"]:
        fail("not all was measured: run ./dev kernel-test paratick --host-cpus 1 --periodic, without --only")
    yield measured_paratick(report, "all exits")
    yield "| workload | vCPUs | exits per | off | periodic | on | on / off |"
    yield "|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        for unit, kinds in row["per"].items():
            counts = [digits(kinds["all"][k]) for k in ("off", "periodic", "on")]
            yield (f"| {row['workload']} | {row['vcpus']} | {unit} | {' | '.join(counts)} | "
                   f"{kinds['all']['ratio']:.2f} |")


def paratick_formulas(report):
    yield from paratick(report)
    yield ("\nThe same runs beside the formulas for exits a second that ticks cost: 2 n HZ if n vCPUs tick all the time, "
           "2 (load n HZ + times\nthat a vCPU goes idle) if idle ones do not. What was counted is TSC_DEADLINE writes and timer interrupts.\n")
    yield "| workload | vCPUs | load | formula, periodic | formula, tickless | counted off | counted on |"
    yield "|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        t = row["ticks"]
        yield (f"| {row['workload']} | {row['vcpus']} | {t['load']:.2f} | "
               f"{' | '.join(digits(t[k]) for k in ('periodic', 'tickless', 'off', 'on'))} |")


def paratick_beside(report):
    yield measured_paratick(report)
    yield from exits_of_paratick(report)


SHOOTDOWN = ("HLT", "ICR", "INTR", "all", "interrupts")


def pv_shootdown(report):
    p = report["parameters"]
    if p["checks"] or p["only"] or p["patches"] or p["also"] or report["failures"]:
        fail("not all was measured: run ./dev kernel-test pv-shootdown, without --only")
    yield (f"One run of `./dev kernel-test pv-shootdown --host-cpus 1 --reps {p['reps']}`, commit `{report['commit'][:10]}`, {report['kernel']} as guest "
           f"and host,\nin an emulated machine whose clock counts instructions; {guests(p['reps'])} for each, for each operation, off → on. "
           "ICR are writes, which are exits too.\n")
    yield f"| workload | vCPUs | {' | '.join(SHOOTDOWN)} | all, on / off |"
    yield f"|---|---|{'---|' * len(SHOOTDOWN)}---|"
    for row in report["summary"]:
        kinds = row["per"]
        cells = [f"{digits(kinds[k]['off'])} → {digits(kinds[k]['on'])}" for k in SHOOTDOWN]
        yield f"| {row['workload']} | {row['vcpus']} | {' | '.join(cells)} | {kinds['all']['ratio']:.2f} |"


def paratick_rates(report):
    if report["parameters"]["seconds"] or report["parameters"]["patches"]:
        fail("a shorter run, or another series: run ./dev kernel-test paratick --checks --only rates")
    found = {}
    for sample in report["samples"]:
        v = sample["values"]
        if sample["check"] != "rates":
            continue
        if not sample["good"]:
            fail(f"a check failed: {sample['text']}")
        for ticks in v["ptk"]:
            pair, off = (v["hz"], v["host"]), ticks / v["seconds"] / v["hz"] - 1
            # A guest with a timer has none.
            if ticks and abs(off) >= abs(found.get(pair, (0,))[-1]):
                found[pair] = ticks, v["seconds"], off
    if not found:
        fail("no rates were measured: run ./dev kernel-test paratick --checks --only rates")
    yield (f"Ticks against the asked rate over {v['asked_s']:g} s, of the busy vCPU that is farthest off, from one run of\n"
           f"`{command_of_paratick(report)}`, commit `{report['commit'][:10]}`, {report['kernel'].rsplit('-hz', 1)[0]}:\n")
    yield "| guest's HZ | host's HZ | ticks | in s | off by |"
    yield "|---|---|---|---|---|"
    for (hz, host), (ticks, seconds, off) in found.items():
        yield f"| {hz} | {host} | {ticks} | {seconds:.3f} | {100 * off:+.3f} % |"
