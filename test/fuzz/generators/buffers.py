# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random MLIR modules: buffers of all sizes and lifetimes in nested scf and affine loops.

A module is a function of its seed that returns a checksum of what it read. It reads only what
it has written, so that it means the same with any allocator; which of its buffers the passes
may move, pool or place is for the passes to find out.
"""

import random

MAX_DEPTH = 3
# Enough for vf-first-touch, which leaves less than 64 KiB alone.
LARGE = 20000
PRELUDE = """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %k31 = arith.constant 31 : i32
  %z = arith.subi %n, %c2 : index
  %acc = memref.alloca() : memref<1xi32>
  memref.store %zero, %acc[%c0] : memref<1xi32>
  %unranked = memref.cast %acc : memref<1xi32> to memref<*xi32>
"""


class Buffer:
    def __init__(self, name, type_, size, symbol, owned=True):
        self.name, self.type, self.size, self.symbol, self.owned = name, type_, size, symbol, owned
        self.inner = 4 if "x4xi32" in type_ else 0
        self.vector = "vector" in type_
        self.plain = type_ == "memref<?xi32>"


class Module:
    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.lines, self.count, self.indent = [], 0, "  "
        self.parallel = False
        # How many loops are open that have no iteration if %z is 0.
        self.guards = 0

    def text(self):
        seed = self.seed
        self.body([], [], 0, False)
        return (f"func.func private @inc{seed}(%m: memref<?xi32>) {{\n  %c0 = arith.constant 0 : index\n  %one = arith.constant 1 : i32\n"
                f"  %v = memref.load %m[%c0] : memref<?xi32>\n  %w = arith.addi %v, %one : i32\n"
                f"  memref.store %w, %m[%c0] : memref<?xi32>\n  return\n}}\n"
                f"func.func @f{seed}(%n: index, %p: i1, %flag: memref<1xi32>) -> i32 {{\n{PRELUDE}" + "\n".join(self.lines) +
                "\n  %result = memref.load %acc[%c0] : memref<1xi32>\n  return %result : i32\n}\n")

    # Writing.

    def emit(self, text):
        self.lines.append(self.indent + text)

    def let(self, text):
        self.count += 1
        self.emit(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def open(self, text):
        self.emit(text)
        self.indent += "  "

    def close(self, text="}"):
        self.indent = self.indent[:-2]
        self.emit(text)

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def chance(self, percent):
        return self.random.random() * 100 < percent

    # Values.

    def size(self, ivs, buffers):
        """Returns a positive index, and whether affine operations take it as a symbol."""
        kind, constant = self.random.random(), self.random.randint(1, 40)
        if kind < .25:
            return self.let(f"arith.constant {constant} : index"), True
        if kind < .32:
            return "%n", True
        if kind < .35:
            return self.let("memref.dim %unranked, %c0 : memref<*xi32>"), True
        if kind < .45:
            base = self.let(f"arith.constant {constant} : index") if self.chance(50) else "%n"
            return self.let(f"affine.apply affine_map<()[s] -> (s + {constant})>()[{base}]"), True
        if kind < .55 and buffers:
            return self.dim(self.random.choice(buffers))
        if kind < .65:
            by = self.random.choice(["%c2", "%n"] if not self.guards else ["%z"])
            return self.let(f"arith.addi {self.let(f'arith.divsi %n, {by} : index')}, %c1 : index"), False
        if kind < .9 and ivs:
            return self.let(f"arith.addi {self.random.choice(ivs)}, {self.random.choice(['%c1', '%n'])} : index"), False
        if ivs and self.chance(50):
            return self.let(f"affine.max affine_map<(d) -> (d + 2, {constant})>({self.random.choice(ivs)})") if ivs[-1].startswith("%a") \
                else self.let(f"arith.maxsi {ivs[-1]}, %c2 : index"), False
        return self.let(f"arith.muli %n, {self.let(f'arith.constant {constant % 5 + 1} : index')} : index"), False

    def dim(self, buffer, number=0):
        number = 1 if buffer.inner and self.chance(30) else number
        at = f"%c{number}" if self.chance(70) else self.let(f"arith.constant {number} : index")
        return self.let(f"memref.dim {buffer.name}, {at} : {buffer.type}"), buffer.symbol or number == 1

    def value(self, ivs):
        of = self.random.choice(ivs + ["%n"])
        return self.let(f"arith.addi {self.let(f'arith.index_cast {of} : index to i32')}, %one : i32")

    def element(self, value, buffer):
        return self.let(f"vector.broadcast {value} : i32 to vector<8xi32>") if buffer.vector else value

    # What a body consists of.

    def alloc(self, ivs, buffers):
        kind = self.random.random()
        align = self.random.choice(["", "", " {alignment = 16 : i64}", " {alignment = 64 : i64}"])
        if kind < .12:
            name = self.let(f"memref.alloc(){align} : memref<16xi32>")
            buffer = Buffer(name, "memref<16xi32>", None, True)
        else:
            type_ = "memref<?xi32>" if kind < .7 else "memref<?x4xi32>" if kind < .85 else "memref<?xvector<8xi32>>"
            size, symbol = self.size(ivs, buffers)
            # Below the natural one of vectors their loads would trap.
            align = align.replace("16", "32") if "vector" in type_ else align
            buffer = Buffer(self.let(f"memref.alloc({size}){align} : {type_}"), type_, size, symbol)
        self.fill(buffer, ivs)
        return buffer

    def loop(self, buffer, parallel=False):
        """Opens a loop over the first dimension, and returns its induction variable."""
        if buffer.size and self.chance(30):
            size, symbol = buffer.size, buffer.symbol
        else:
            size, symbol = self.let(f"memref.dim {buffer.name}, %c0 : {buffer.type}"), buffer.symbol
        if parallel:
            iv = self.name()
            self.open(f"scf.parallel ({iv}) = (%c0) to ({size}) step (%c1) {{")
        elif symbol and self.chance(70):
            iv = f"%a{self.name()[1:]}"
            self.open(f"affine.for {iv} = 0 to {size} {{")
        else:
            iv = self.name()
            self.open(f"scf.for {iv} = %c0 to {size} step %c1 {{")
        return iv

    def fill(self, buffer, ivs):
        value = self.value(ivs)
        if not buffer.vector and self.chance(20):
            self.emit(f"linalg.fill ins({value} : i32) outs({buffer.name} : {buffer.type})")
            return
        iv = self.loop(buffer, parallel=self.chance(20))
        here = self.let(f"arith.addi {value}, {self.let(f'arith.index_cast {iv} : index to i32')} : i32")
        store = "affine.store" if iv.startswith("%a") and self.chance(70) else "memref.store"
        here = self.element(here, buffer)
        for column in range(buffer.inner or 1):
            at = f"{iv}, {self.let(f'arith.constant {column} : index')}" if buffer.inner else iv
            self.emit(f"{store} {here}, {buffer.name}[{at}] : {buffer.type}")
        self.close()

    def count_in(self, value, parallel):
        if parallel:
            self.let(f"memref.atomic_rmw addi {value}, %acc[%c0] : (i32, memref<1xi32>) -> i32")
            return
        old = self.let("memref.load %acc[%c0] : memref<1xi32>")
        new = self.let(f"arith.addi {self.let(f'arith.muli {old}, %k31 : i32')}, {value} : i32")
        self.emit(f"memref.store {new}, %acc[%c0] : memref<1xi32>")

    def read(self, buffer, parallel):
        iv = self.loop(buffer)
        load = "affine.load" if iv.startswith("%a") and self.chance(70) else "memref.load"
        at = iv + (f", %c{self.random.randint(0, 2)}" if buffer.inner else "")
        value = self.let(f"{load} {buffer.name}[{at}] : {buffer.type}")
        if buffer.vector:
            value = self.let(f"vector.reduction <add>, {value} : vector<8xi32> into i32")
        self.count_in(value, parallel)
        self.close()

    def alias(self, buffer):
        if not buffer.plain:
            return None
        size = buffer.size or self.let(f"memref.dim {buffer.name}, %c0 : {buffer.type}")
        kind = self.random.randint(0, 3)
        if kind == 0:
            type_ = "memref<?xi32, strided<[1], offset: ?>>"
            return Buffer(self.let(f"memref.cast {buffer.name} : memref<?xi32> to {type_}"), type_, buffer.size, buffer.symbol, False)
        if kind == 1:
            self.emit(f"func.call @inc{self.seed}({buffer.name}) : (memref<?xi32>) -> ()")
            return None
        type_ = "memref<?xi32, strided<[1]>>"
        made = f"memref.subview {buffer.name}[0] [{size}] [1] : memref<?xi32>" if kind == 2 else \
            f"memref.reinterpret_cast {buffer.name} to offset: [0], sizes: [{size}], strides: [1] : memref<?xi32>"
        return Buffer(self.let(f"{made} to {type_}"), type_, size, kind == 2 and buffer.symbol, False)

    def free(self, buffer):
        name, type_, way = buffer.name, buffer.type, self.random.random()
        if way < .8:
            self.emit(f"memref.dealloc {name} : {type_}")
        elif way < .84 and buffer.plain:
            cast = self.let(f"memref.cast {name} : {type_} to memref<*xi32>")
            self.emit(f"memref.dealloc {cast} : memref<*xi32>")
        elif way < .9:
            self.open("scf.if %p {")
            self.emit(f"memref.dealloc {name} : {type_}")
            if self.chance(50):
                self.close("} else {")
                self.indent += "  "
                self.emit(f"memref.dealloc {name} : {type_}")
            self.close()
        elif way < .95 and buffer.plain:
            size = self.let(f"memref.dim {name}, %c0 : {type_}")
            more = self.let(f"arith.addi {size}, %c2 : index")
            again = self.let(f"memref.realloc {name}({more}) : {type_} to {type_}")
            self.count_in(self.let(f"memref.load {again}[%c0] : {type_}"), self.parallel)
            self.emit(f"memref.dealloc {again} : {type_}")

    def carried(self, ivs):
        """Each iteration frees the buffer of the last one."""
        first, size = self.let("memref.alloc(%n) : memref<?xi32>"), self.random.choice(["%n", "%c2"])
        self.fill(Buffer(first, "memref<?xi32>", "%n", True), ivs)
        last, iv, result = self.name(), self.name(), self.name()
        self.open(f"{result} = scf.for {iv} = %c0 to %c2 step %c1 iter_args({last} = {first}) -> memref<?xi32> {{")
        now = self.let(f"memref.alloc({size}) : memref<?xi32>")
        self.fill(Buffer(now, "memref<?xi32>", size, True), ivs + [iv])
        self.count_in(self.let(f"memref.load {last}[%c0] : memref<?xi32>"), self.parallel)
        self.emit(f"memref.dealloc {last} : memref<?xi32>")
        self.emit(f"scf.yield {now} : memref<?xi32>")
        self.close()
        self.count_in(self.let(f"memref.load {result}[%c1] : memref<?xi32>"), self.parallel)
        self.emit(f"memref.dealloc {result} : memref<?xi32>")

    def kept(self, ivs):
        """Each iteration frees its own buffer or an earlier one, and keeps the other, perhaps by another name."""
        plain = "memref<?xi32>"
        type_ = plain if self.chance(30) else "memref<?xi32, strided<[1], offset: ?>>"

        def named(value):
            return value if type_ == plain else self.let(f"memref.cast {value} : {plain} to {type_}")

        first, size = self.let(f"memref.alloc(%n) : {plain}"), self.random.choice(["%n", "%c2"])
        self.fill(Buffer(first, plain, "%n", True), ivs)
        first = named(first)
        last, iv, result, kept = self.name(), self.name(), self.name(), self.name()
        end = self.random.choice(["%c2", "%n"])
        self.open(f"{result} = scf.for {iv} = %c0 to {end} step %c1 iter_args({last} = {first}) -> {type_} {{")
        now = self.let(f"memref.alloc({size}) : {plain}")
        self.fill(Buffer(now, plain, size, True), ivs + [iv])
        alias = named(now)
        self.count_in(self.let(f"memref.load {now}[%c1] : {plain}"), self.parallel)
        condition = "%p" if self.chance(30) else self.let(f"arith.cmpi {self.random.choice(['eq', 'ne'])}, {iv}, %c1 : index")
        self.open(f"{kept} = scf.if {condition} -> ({type_}) {{")
        self.emit(f"memref.dealloc {now} : {plain}")
        self.emit(f"scf.yield {last} : {type_}")
        self.close("} else {")
        self.indent += "  "
        self.emit(f"memref.dealloc {last} : {type_}")
        self.emit(f"scf.yield {alias} : {type_}")
        self.close()
        self.emit(f"scf.yield {kept} : {type_}")
        self.close()
        self.count_in(self.let(f"memref.load {result}[%c1] : {type_}"), self.parallel)
        self.emit(f"memref.dealloc {result} : {type_}")

    def poll(self):
        """A wait that has ended before it begins; the module has one thread."""
        self.open("scf.while : () -> () {")
        seen = self.let("memref.load %flag[%c0] : memref<1xi32>")
        again = self.let(f"arith.cmpi eq, {seen}, %zero : i32")
        self.emit(f"scf.condition({again})")
        self.close("} do {")
        self.indent += "  "
        self.emit("scf.yield")
        self.close()

    def large(self, ivs):
        size = self.let(f"arith.constant {LARGE} : index")
        buffer = Buffer(self.let(f"memref.alloc({size}) : memref<?xi32>"), "memref<?xi32>", size, True)
        self.fill(buffer, ivs)
        iv = self.loop(buffer, parallel=True)
        value = self.let(f"memref.load {buffer.name}[{iv}] : memref<?xi32>")
        self.emit(f"memref.store {self.let(f'arith.addi {value}, %one : i32')}, {buffer.name}[{iv}] : memref<?xi32>")
        self.close()
        self.read(buffer, False)
        self.emit(f"memref.dealloc {buffer.name} : memref<?xi32>")

    def nest(self, ivs, buffers, depth, parallel):
        kind, end = self.random.random(), self.random.choice(["%c2", "%c2", "%n", "%c0", "%z"])
        iv, guarded = self.name(), kind < .45 and end == "%z"
        self.guards += guarded
        if kind < .45:
            self.open(f"scf.for {iv} = %c0 to {end} step %c1 {{")
        elif kind < .7:
            iv = f"%a{iv[1:]}"
            self.open(f"affine.for {iv} = 0 to {self.random.choice(['3', '1', end])} {{")
        elif kind < .8:
            self.open(f"scf.parallel ({iv}) = (%c0) to (%c2) step (%c1) {{")
            parallel = True
        elif kind < .9:
            self.open("scf.if %p {")
            iv = None
        else:
            self.open(f"scf.while ({iv} = %c0) : (index) -> index {{")
            self.emit(f"scf.condition({self.let(f'arith.cmpi ult, {iv}, {end} : index')}) {iv} : index")
            self.close("} do {")
            self.indent += "  "
            iv = self.name()
            self.emit(f"^bb0({iv}: index):")
        self.body(ivs + ([iv] if iv else []), buffers, depth + 1, parallel)
        if .9 <= kind:
            self.emit(f"scf.yield {self.let(f'arith.addi {iv}, %c1 : index')} : index")
        self.close()
        self.guards -= guarded

    def body(self, ivs, buffers, depth, parallel):
        mine = []
        for _ in range(self.random.randint(2, 4)):
            kind, known = self.random.random(), buffers + mine
            self.parallel = parallel
            if kind < .4:
                mine.append(self.alloc(ivs, known))
            elif kind < .55 and known:
                self.read(self.random.choice(known), parallel)
            elif kind < .62 and mine:
                made = self.alias(self.random.choice(mine))
                mine += [made] if made else []
            elif kind < .67 and mine and mine[-1].owned:
                self.read(mine[-1], parallel)
                self.free(mine.pop())
            elif kind < .71:
                self.carried(ivs)
            elif kind < .74:
                self.kept(ivs)
            elif kind < .76:
                self.poll()
            elif kind < .78 and depth == 0:
                self.large(ivs)
            elif depth < MAX_DEPTH:
                self.nest(ivs, known, depth, parallel)
        self.parallel = parallel
        for buffer in mine:
            if self.chance(60):
                self.read(buffer, parallel)
        for buffer in self.random.sample(mine, len(mine)):
            if buffer.owned:
                self.free(buffer)
