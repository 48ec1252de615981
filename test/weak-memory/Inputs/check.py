# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py --quotes: compares protocols.py with the orders in the runtime's sources.
check.py WORK_DIR [--only NAME] [--show]: runs herd7 on each protocol for each processor, then with
each order weakened to relaxed, a fence removed, and each other fault, and compares what it finds
with what protocols.py says. herd7 is the one on PATH, or what `./dev herd7` built."""

import argparse
import glob
import os
import re
import sys

import herd7
import machines
from protocols import PROTOCOLS

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "runtime")
LETTERS = {"aarch64": "A", "aarch64-lse": "L", "riscv64": "R", "x86-64": "X"}
ORDER = re.compile(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)")


def source(name, cache={}):
    """The text of a source file with single blanks, without comments."""
    if name not in cache:
        with open(os.path.join(RUNTIME, name), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", file.read(), flags=re.S)
        cache[name] = " ".join(text.split())
    return cache[name]


def order_of(quotes):
    """The order that all quotes have, which are in their sources."""
    orders = set()
    for name, quote in quotes:
        if quote not in source(name):
            sys.exit(f"check.py: {name} no longer has: {quote}\nAdapt test/weak-memory/Inputs/protocols.py to what it does now.")
        orders.add(ORDER.search(quote)[1])
    if len(orders) != 1:
        sys.exit(f"check.py: quotes of one order differ: {quotes}")
    return orders.pop()


def check_quotes():
    """Fails for an order in the sources that no protocol quotes."""
    covered = {}
    count = 0
    for protocol in PROTOCOLS:
        for _, quotes in protocol.orders.values():
            order_of(quotes)
            for name, quote in quotes:
                for match in re.finditer(re.escape(quote), source(name)):
                    covered.setdefault(name, set()).update(range(match.start(), match.end()))
    missing = []
    for path in sorted(glob.glob(os.path.join(RUNTIME, "**", "*.[ch]"), recursive=True)):
        name = os.path.relpath(path, RUNTIME)
        for match in ORDER.finditer(source(name)):
            count += 1
            # The second order of a compare-and-swap belongs to the first.
            before = source(name)[:match.start()]
            if match.start() not in covered.get(name, ()) and not ORDER.search(before[-30:]):
                missing.append(f"{name}: ... {source(name)[max(0, match.start() - 60):match.end()]}")
    for line in missing:
        print(f"in no protocol: {line}")
    print(f"{count} orders, {len(missing)} in no protocol")
    return bool(missing)


def variants(protocol):
    """(what, orders, threads, machines where the state is reached)"""
    orders = {name: order_of(quotes) for name, (_, quotes) in protocol.orders.items()}
    yield "as it is", orders, protocol, "ALRX" if protocol.happens else ""
    if protocol.happens:
        return
    for name, (found, _) in protocol.orders.items():
        yield f"{name} relaxed", {**orders, name: "RELAXED"}, protocol, found
    for what, (line, other, found) in protocol.breaks.items():
        threads = {name: text.replace(line, other) for name, text in protocol.threads.items()}
        if threads == protocol.threads:
            sys.exit(f"check.py: {protocol.name} has no line: {line}")
        yield what, orders, type(protocol)(protocol.name, protocol.says, threads, protocol.never, protocol.orders, protocol.start), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="?")
    parser.add_argument("--quotes", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true", help="print each result, not only what is not as expected")
    args = parser.parse_args()
    if args.quotes:
        return check_quotes()
    if not herd7.find():
        sys.exit("check.py: no herd7: ./dev herd7 builds it")
    chosen = [p for p in PROTOCOLS if args.only in p.name]
    rows = [(p, *variant) for p in chosen for variant in variants(p)]
    results = [""] * len(rows)
    for machine in machines.MACHINES:
        folder = os.path.join(args.work, machine.name)
        os.makedirs(folder, exist_ok=True)
        names = [f"{p.name}--{what.replace(' ', '-')}" for p, what, *_ in rows]
        tests = {name: machines.litmus(machine, name, threads, orders) for name, (_, _, orders, threads, _) in zip(names, rows)}
        seen = herd7.run(folder, tests)
        print(f"{machine.name}: {len(tests)} tests", flush=True)
        for i, name in enumerate(names):
            results[i] += LETTERS[machine.name] * seen[name]
    wrong = planted = found = 0
    for (protocol, what, _, _, expected), result in zip(rows, results):
        differs = sorted(result) != sorted(expected)
        wrong += differs
        if what != "as it is":
            planted, found = planted + 1, found + bool(result)
        if differs or args.show:
            print(f"{protocol.name}, {what}: reached on {result or 'none'}" + (f", EXPECTED {expected or 'none'}" if differs else ""))
    without = [p.name for p in chosen if not p.happens and not any(r for (q, w, *_), r in zip(rows, results) if q is p and w != "as it is")]
    for name in without:
        print(f"{name}: no planted fault is found")
    print(f"{len(chosen)} protocols for {len(machines.MACHINES)} processors, {planted} planted faults, {found} found, {wrong + len(without)} not as expected")
    return bool(wrong or without)


if __name__ == "__main__":
    sys.exit(main())
