# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translates the lines of a protocol into instructions of each processor, as clang does, and
writes litmus tests for herd7.

The lines of a thread:
  r = load ORDER x          store ORDER x 1         fence ORDER
  r = swap ORDER x 1        r = add ORDER x 1       r = or ORDER x 1
  r = cas ORDER x 0 1       (r becomes the value before it)
  r = sleep x               what FUTEX_WAIT does: queues the thread, and loads x behind a fence
  r = wake                  what FUTEX_WAKE does: 1 if it finds a queued thread
  if r == 1 goto out        if r != s goto out      out:
  mark m                    m becomes 1: the thread came here
A thread has no loop: a test is about one attempt. A store-exclusive that fails ends it.
"""

import re


class Thread:
    """Collects the instructions of a thread. Registers are given out by name."""

    def __init__(self, machine, number):
        # herd7 wants labels that are unique in all threads.
        self.machine, self.number = machine, number
        self.code, self.registers, self.addresses, self.failures, self.labels = [], {}, {}, [], 0

    def emit(self, *instructions):
        self.code += instructions

    def register(self, name):
        return self.registers.setdefault(name, self.machine.values[len(self.registers)])

    def address(self, variable):
        return self.addresses.setdefault(variable, self.machine.pointers[len(self.addresses)])

    def failure(self):
        """A new register that a failed store-exclusive sets."""
        self.failures.append(self.machine.failed[len(self.failures)])
        return self.failures[-1]

    def label(self):
        self.labels += 1
        return f"Skip{self.number}{self.labels}"


def acquires(order):
    return order in ("ACQUIRE", "ACQ_REL", "SEQ_CST")


def releases(order):
    return order in ("RELEASE", "ACQ_REL", "SEQ_CST")


class AArch64:
    """Armv8.0: exclusive loads and stores."""

    name, syntax = "aarch64", "AArch64"
    values = [f"W{n}" for n in range(12)]
    pointers = [f"X{n}" for n in range(20, 28)]
    failed = [f"W{n}" for n in range(12, 16)]
    new, sum = "W16", "W17"
    acquiring_load = "LDAR"

    @staticmethod
    def shown(register):
        return "X" + register[1:]

    def load(self, t, order, r, x):
        name = {"RELAXED": "LDR", "ACQUIRE": self.acquiring_load, "SEQ_CST": "LDAR"}[order]
        t.emit(f"{name} {r},[{x}]")

    def store(self, t, order, x, v):
        t.emit(f"MOV {self.new},#{v}", f"{'STLR' if releases(order) else 'STR'} {self.new},[{x}]")

    def fence(self, t, order):
        t.emit("DMB ISHLD" if order == "ACQUIRE" else "DMB ISH")

    def _exclusive(self, t, order, r, x, compute, new):
        t.emit(f"{'LDAXR' if acquires(order) else 'LDXR'} {r},[{x}]", *compute)
        t.emit(f"{'STLXR' if releases(order) else 'STXR'} {t.failure()},{new},[{x}]")

    def change(self, t, order, how, r, x, v):
        t.emit(f"MOV {self.new},#{v}")
        compute = {"swap": [], "add": [f"ADD {self.sum},{r},{self.new}"], "or": [f"ORR {self.sum},{r},{self.new}"]}[how]
        self._exclusive(t, order, r, x, compute, self.sum if compute else self.new)

    def cas(self, t, order, r, x, old, new):
        skip = t.label()
        t.emit(f"MOV {self.new},#{new}")
        self._exclusive(t, order, r, x, [f"CMP {r},#{old}", f"B.NE {skip}"], self.new)
        t.emit(f"{skip}:")

    def branch(self, t, r, equal, other, label):
        t.emit(f"CMP {r},{other if other[0] == 'W' else '#' + other}", f"B.{'EQ' if equal else 'NE'} {label}")

    def mark(self, t, r):
        t.emit(f"MOV {r},#1")


class Lse(AArch64):
    """Armv8.3: atomic instructions of one step (LSE), and LDAPR, the weaker acquire."""

    name = "aarch64-lse"
    acquiring_load = "LDAPR"

    @staticmethod
    def _suffix(order):
        return ("A" if acquires(order) else "") + ("L" if releases(order) else "")

    def change(self, t, order, how, r, x, v):
        name = {"swap": "SWP", "add": "LDADD", "or": "LDSET"}[how] + self._suffix(order)
        t.emit(f"MOV {self.new},#{v}", f"{name} {self.new},{r},[{x}]")

    def cas(self, t, order, r, x, old, new):
        t.emit(f"MOV {r},#{old}", f"MOV {self.new},#{new}", f"CAS{self._suffix(order)} {r},{self.new},[{x}]")


class RiscV:
    name, syntax = "riscv64", "RISCV"
    values = [f"x{n}" for n in range(5, 16)]
    pointers = [f"x{n}" for n in range(16, 24)]
    failed = [f"x{n}" for n in range(24, 28)]
    new = "x28"

    @staticmethod
    def shown(register):
        return register

    @staticmethod
    def _suffix(order):
        return {"RELAXED": "", "ACQUIRE": ".aq", "RELEASE": ".rl"}.get(order, ".aq.rl")

    def load(self, t, order, r, x):
        t.emit(*["fence rw,rw"] * (order == "SEQ_CST"), f"lw {r},0({x})", *["fence r,rw"] * acquires(order))

    def store(self, t, order, x, v):
        t.emit(f"ori {self.new},x0,{v}", *["fence rw,w"] * releases(order), f"sw {self.new},0({x})")

    def fence(self, t, order):
        t.emit({"ACQUIRE": "fence r,rw", "RELEASE": "fence rw,w"}.get(order, "fence rw,rw"))

    def change(self, t, order, how, r, x, v):
        t.emit(f"ori {self.new},x0,{v}", f"amo{how}.w{self._suffix(order)} {r},{self.new},({x})")

    def cas(self, t, order, r, x, old, new):
        skip = t.label()
        load = ".aq.rl" if order == "SEQ_CST" else ".aq" * acquires(order)
        t.emit(f"lr.w{load} {r},0({x})", f"ori {self.new},x0,{old}", f"bne {r},{self.new},{skip}",
               f"ori {self.new},x0,{new}", f"sc.w{'.rl' * releases(order)} {t.failure()},{self.new},0({x})", f"{skip}:")

    def branch(self, t, r, equal, other, label):
        if other[0] != "x":
            t.emit(f"ori {self.new},x0,{other}")
            other = self.new
        t.emit(f"{'beq' if equal else 'bne'} {r},{other},{label}")

    def mark(self, t, r):
        t.emit(f"ori {r},x0,1")


class X86:
    """Only a fence of SEQ_CST, and nothing else, depends on the order there."""

    name, syntax = "x86-64", "X86_64"
    values = ["rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12"]
    pointers = None
    failed = ["r13", "r14", "r15"]

    @staticmethod
    def shown(register):
        return register

    def load(self, t, _, r, x):
        t.emit(f"movq ({x}),%{r}")

    def store(self, t, order, x, v):
        if order == "SEQ_CST":
            t.emit(f"movq ${v},%rax", f"xchgq %rax,({x})")
        else:
            t.emit(f"movq ${v},({x})")

    def fence(self, t, order):
        t.emit(*["mfence"] * (order == "SEQ_CST"))

    def change(self, t, _, how, r, x, v):
        if how == "swap":
            t.emit(f"movq ${v},%{r}", f"xchgq %{r},({x})")
            return
        # herd7 has no xadd: one attempt of a compare-and-swap.
        failed, done = t.failure(), t.label()
        t.emit(f"movq ({x}),%rax", f"movq %rax,%{r}", f"{how}q ${v},%{r}", f"movq %{r},%rbp", f"movq %rax,%{r}",
               f"lock cmpxchgq ({x}),%rbp", f"cmpq %rax,%{r}", f"je {done}", f"movq $1,%{failed}", f"{done}:")

    def cas(self, t, _, r, x, old, new):
        t.emit(f"movq ${old},%rax", f"movq ${new},%rbp", f"lock cmpxchgq ({x}),%rbp", f"movq %rax,%{r}")

    def branch(self, t, r, equal, other, label):
        t.emit(f"cmpq {'%' + other if other in self.values else '$' + other},%{r}", f"{'je' if equal else 'jne'} {label}")

    def mark(self, t, r):
        t.emit(f"movq $1,%{r}")


MACHINES = [AArch64(), Lse(), RiscV(), X86()]


def variable(name):
    """`lock` is part of an instruction of x86-64."""
    return "lock_" if name == "lock" else name


def _translate(machine, thread, line, orders):
    """Appends one line of a thread."""
    if line.endswith(":"):
        return thread.emit(f"{line[:-1]}{thread.number}:")
    words = line.split()
    if words[0] == "mark":
        return machine.mark(thread, thread.register(words[1]))
    if words[0] == "if":
        other = words[3] if words[3].isdigit() else thread.register(words[3])
        return machine.branch(thread, thread.register(words[1]), words[2] == "==", other, f"{words[5]}{thread.number}")
    result = thread.register(words[0]) if words[1:2] == ["="] else None
    name, *rest = words[2:] if result else words
    order = orders.get(rest[0], rest[0]) if rest else None
    place = lambda x: thread.address(x) if machine.pointers else variable(x)
    if name == "fence":
        return order != "RELAXED" and machine.fence(thread, order)
    if name == "sleep":
        machine.change(thread, "RELAXED", "add", thread.register("queued"), place("sleepers"), "1")
        machine.fence(thread, "SEQ_CST")
        return machine.load(thread, "RELAXED", result, place(rest[0]))
    if name == "wake":
        machine.fence(thread, "SEQ_CST")
        return machine.load(thread, "RELAXED", result, place("sleepers"))
    if name == "load":
        return machine.load(thread, order, result, place(rest[1]))
    if name == "store":
        return machine.store(thread, order, place(rest[1]), rest[2])
    if name == "cas":
        return machine.cas(thread, order, result, place(rest[1]), rest[2], rest[3])
    return machine.change(thread, order, name, result, place(rest[1]), rest[2])


def litmus(machine, name, protocol, orders):
    """Returns the litmus test of a protocol with these orders: its condition is what must not happen."""
    threads = {}
    for thread_name, text in protocol.threads.items():
        thread = threads[thread_name] = Thread(machine, len(threads))
        for line in text.strip().splitlines():
            if line.strip():
                _translate(machine, thread, line.strip(), orders)
    numbers = {thread_name: n for n, thread_name in enumerate(threads)}
    start = [f"{variable(x)}={v};" for x, v in protocol.start.items()]
    for thread_name, thread in threads.items():
        start += [f"{numbers[thread_name]}:{r}={variable(x)};" for x, r in thread.addresses.items()]
    rows = max(len(thread.code) for thread in threads.values())
    lines = [f"{machine.syntax} {name}", "{ " + " ".join(start) + " }"]
    lines.append(" | ".join(f"P{n}" for n in numbers.values()) + ";")
    for row in range(rows):
        lines.append(" | ".join(thread.code[row] if row < len(thread.code) else "" for thread in threads.values()) + ";")

    def shown(match):
        return f"{numbers[match[1]]}:{machine.shown(threads[match[1]].register(match[2]))}={match[3]}"

    condition = re.sub(r"(\w+)\.(\w+)=(\d+)", shown, protocol.never)
    failures = "".join(f" /\\ {numbers[n]}:{machine.shown(r)}=0" for n, t in threads.items() for r in t.failures)
    lines.append(f"exists (({condition}){failures})")
    return "\n".join(lines) + "\n"
