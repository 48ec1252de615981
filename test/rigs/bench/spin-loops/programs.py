# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of waits, the variants of each, and how they are built and run.

kinds/ROLE-NAME.h is the one descriptor of a kind; ROLE.c is the workload that
includes it. The benchmark and the tests build from these.
"""

import os
import subprocess
from dataclasses import dataclass, field

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))


# Polls before a bounded kind gives up: a hand-over between running threads, a
# short and a long spin (Redis' I/O threads take the last).
TRIES = (100, 4_000, 1_000_000)


def _descriptors():
    return sorted(os.path.splitext(e)[0] for e in os.listdir(os.path.join(HERE, "kinds")))


def kinds():
    """The waits without a bound."""
    return [d for d in _descriptors() if not d.endswith("-bounded")]


def bounded_kinds(numbers=TRIES):
    """DESCRIPTOR-TRIES: each bounded descriptor with each number of polls."""
    return [f"{d}-{tries}" for d in _descriptors() if d.endswith("-bounded") for tries in numbers]


def is_bounded(kind):
    return "-bounded-" in kind


def is_giveup(kind):
    """Whether nobody ends the waits of this kind."""
    return kind.startswith("giveup-")


def variants_of(kind, names):
    """Those of the variants that say something about this kind: a wait that
    nobody ends has no peer by hand."""
    return [n for n in names if not (is_giveup(kind) and n not in ("original", "rewritten"))]


@dataclass(frozen=True)
class Variant:
    """How a kind becomes a program. `program` names the build it shares."""

    program: str
    plugin: bool = False
    linked: bool = False
    flags: tuple = ()
    environment: dict = field(default_factory=dict, hash=False)


def _peer(name):
    return Variant(f"peer-{name}", flags=(f"-DWAIT_{name.upper()}",))


# What others are compared with comes first: it runs first in each repetition.
VARIANTS = {
    "original": Variant("original"),
    "rewritten": Variant("rewritten", plugin=True, linked=True),
    "no-notify": Variant(
        "rewritten", plugin=True, linked=True, environment={"VF_SPIN_NOTIFY": "off"}
    ),
    "rewritten-alone": Variant("alone", plugin=True),
    "rewritten-pause": Variant(
        "pause", plugin=True, linked=True, flags=("-mllvm", "-vf-spin=pause")
    ),
    "pause": _peer("pause"),
    "yield": _peer("yield"),
    "futex": _peer("futex"),
    "pthread": _peer("pthread"),
}
PEERS = ("pause", "yield", "futex", "pthread")


def compile_program(tree, kind, variant, folder, flags=(), descriptor=None):
    """Builds one program and returns its path. flags may set a workload's
    macros; descriptor replaces the kind's own header."""
    role = kind.split("-")[0]
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, f"{kind}.{variant.program}")
    name = kind
    if is_bounded(kind):
        name, tries = kind.rsplit("-", 1)
        flags = (*flags, f"-DTRIES={tries}")
    descriptor = descriptor or os.path.join(HERE, "kinds", f"{name}.h")
    bench.build(
        [tree.tool("clang"), "-O2", "-Wall", "-Wextra", "-pthread"]
        + (tree.plugin_flags() if variant.plugin else [])
        + [*variant.flags, *flags, f'-DKIND="{descriptor}"', f"-I{HERE}"]
        + [os.path.join(HERE, f"{role}.c"), os.path.join(HERE, "harness.c"), "-o", program]
        + (tree.link_flags() if variant.linked else [])
    )
    return program


def rewritten_waits(tree, program):
    """Whether the program calls the runtime or its fallback at all."""
    done = subprocess.run(
        [tree.tool("llvm-nm"), program], capture_output=True, text=True, check=True
    )
    return "vf_spin_wait" in done.stdout


def run(program, threads, rounds, timeout, environment=None):
    """One measured run. Raises Broken if it failed: a payload got lost."""
    one = measure.run([program, str(threads), str(rounds)], timeout, environment)
    if one.status == "failed":
        settings = "".join(f"{k}={v} " for k, v in (environment or {}).items())
        raise bench.Broken(f"{settings}{program} {threads} {rounds}: {one.errors.strip()}")
    one.values.setdefault("threads", threads)
    one.values.setdefault("rounds", rounds)
    return one


def per_round(one):
    """Nanoseconds a round, by the program's own clock."""
    if one.status == "timeout":
        return measure.Figure(one.wall * 1e9 / one.values["rounds"], ">")
    return measure.Figure(one.values["ns"] / one.values["rounds"])


def cpu_per_round(one):
    sign = ">" if one.status == "timeout" else ""
    return measure.Figure(one.cpu * 1e9 / one.values["rounds"], sign)
