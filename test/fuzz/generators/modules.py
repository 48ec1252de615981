# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules: any control flow, over what the passes look at.

Functions with random edges between blocks, irreducible ones too, whose blocks read, write
and wait for memory of all widths at all sorts of addresses, allocate and free. They are not
meant to run; they are valid, and a pass must neither crash on one nor make it invalid.
"""

import random

SINGLE = 'syncscope("singlethread") '
ORDERS = ["monotonic", "acquire", "seq_cst"]
TYPES = ["i1", "i8", "i16", "i32", "i64", "i128", "float", "double", "half", "ptr"]
ATOMIC = ["i8", "i16", "i32", "i64", "i128", "float", "double", "ptr"]
ALIGN = {"i1": 1, "i8": 1, "i16": 2, "half": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8, "i128": 16}
TRIPLES = ["x86_64-pc-linux-gnu"] * 6 + ["aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu", "i386-pc-linux-gnu", "x86_64-pc-windows-msvc",
           "armv7-none-eabi", "nvptx64-nvidia-cuda", "wasm32-unknown-unknown", "x86_64-unknown-none", "arm64-apple-macosx"]
HEADER = """@g32 = global i32 0
@g64 = internal global i64 7
@gp = global ptr null
@ga = internal global [16 x i32] zeroinitializer
@gt = thread_local global i32 0
@gc = constant i32 3
@gx = extern_weak global i32
@ge = external global i32
@gs = addrspace(1) global i32 0
@gf = global float 0.0
@gw = internal global { ptr, i32, [4 x i8] } zeroinitializer
@al = alias i32, ptr @g32
@text = private constant [4 x i8] c"%p\\0A\\00"
declare ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0) "alloc-family"="malloc"
declare ptr @calloc(i64, i64) allockind("alloc,zeroed") allocsize(0,1) "alloc-family"="malloc"
declare ptr @realloc(ptr allocptr, i64) allockind("realloc") allocsize(1) "alloc-family"="malloc"
declare void @free(ptr allocptr) allockind("free") "alloc-family"="malloc"
declare ptr @_Znwm(i64)
declare void @_ZdlPv(ptr)
declare i64 @strlen(ptr)
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @sched_yield()
declare i32 @usleep(i32)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare void @pthread_exit(ptr) noreturn
declare i32 @pthread_mutex_trylock(ptr)
declare void @other()
declare i32 @ask(ptr)
declare void @stop() noreturn nounwind
declare i32 @__gxx_personality_v0(...)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.assume(i1)
declare i32 @llvm.vector.reduce.or.v4i32(<4 x i32>)
declare preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr, i64, i64, i32)
@slots = internal global [1024 x ptr] zeroinitializer
define internal ptr @thread(ptr %p) {
  br label %step
step:
  %at = phi ptr [ %p, %0 ], [ %next, %step ]
  store ptr %at, ptr %at
  %next = getelementptr i8, ptr %at, i64 8
  %more = icmp ne ptr %next, getelementptr (i8, ptr @slots, i64 8192)
  br i1 %more, label %step, label %end
end:
  ret ptr null
}
"""
# Pointer types, including those that programs rarely use.
CONSTANTS = ["null", "undef", "poison", "@g32", "@g64", "@gp", "@ga", "@gt", "@gc", "@gx", "@ge", "@gf", "@gw", "@al", "@f0", "@malloc",
             "@slots", "inttoptr (i64 64 to ptr)", "inttoptr (i64 4096 to ptr)", "inttoptr (i64 -8 to ptr)", "getelementptr (i8, ptr null, i64 4)",
             "getelementptr inbounds ([16 x i32], ptr @ga, i64 0, i64 3)", "getelementptr (i8, ptr @gw, i64 8)",
             "addrspacecast (ptr addrspace(1) @gs to ptr)", "inttoptr (i64 ptrtoint (ptr @g32 to i64) to ptr)"]


class Module:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.seed, self.count = seed, 0

    def new(self):
        self.count += 1
        return f"%v{self.count}"

    def constant(self, type):
        if type == "ptr":
            return self.r.choice(CONSTANTS)
        if type in ("float", "double", "half"):
            return self.r.choice(["0.0", "1.0", "-2.0", "poison", "undef", "zeroinitializer"])
        if type == "i1":
            return self.r.choice(["true", "false", "poison", "undef"])
        return self.r.choice(["0", "0", "1", "-1", "2", "7", "64", "poison", "undef"])

    def value(self, type, here):
        """Returns a dominating value: of this block, the entry or the arguments."""
        every = self.entry.get(type, []) + here.get(type, [])
        return self.r.choice(every[-6:]) if every and self.r.random() < 0.8 else self.constant(type)

    def pointer(self, here):
        return self.value("ptr", here)

    def instruction(self, here):
        """Returns lines; what they define is added to here."""
        r, name = self.r, self.new()
        v = lambda type: self.value(type, here)
        p = self.pointer(here)
        kind = r.choice(["load", "load", "load", "atomic", "atomic", "volatile", "store", "store", "rmw", "cmpxchg", "compare", "compare", "compare",
                         "arithmetic", "arithmetic", "select", "gep", "cast", "call", "call", "allocate", "free", "fence", "vector", "space", "freeze", "float"])
        t = r.choice(TYPES)
        text, made = "", None
        if kind == "load":
            text, made = f"load {t}, ptr {p}, align {r.choice([1, ALIGN[t]])}", t
        elif kind == "volatile":
            text, made = f"load volatile {t}, ptr {p}, align {ALIGN[t]}", t
        elif kind == "atomic":
            t = r.choice(ATOMIC)
            text, made = f"load atomic {r.choice(['', 'volatile '])}{t}, ptr {p} {r.choice(['', SINGLE])}{r.choice(ORDERS + ['unordered'])}, align {ALIGN[t]}", t
        elif kind == "store":
            t = r.choice(ATOMIC)
            return r.choice([f"store {t} {v(t)}, ptr {p}, align {ALIGN[t]}", f"store volatile {t} {v(t)}, ptr {p}",
                             f"store atomic {t} {v(t)}, ptr {p} {r.choice(['monotonic', 'release', 'seq_cst'])}, align {ALIGN[t]}"])
        elif kind == "rmw":
            op = r.choice(["xchg", "add", "sub", "and", "or", "xor", "nand", "umax", "min", "uinc_wrap", "fadd", "fmax", "xchg ptr"])
            t = "ptr" if "ptr" in op else "float" if op[0] == "f" else r.choice(["i8", "i16", "i32", "i64", "i128"])
            text, made = f"atomicrmw {r.choice(['', 'volatile '])}{op.split()[0]} ptr {p}, {t} {v(t)} {r.choice(ORDERS)}", t
        elif kind == "cmpxchg":
            t = r.choice(["i8", "i16", "i32", "i64", "i128", "ptr"])
            pair, ok, expected = self.new(), self.new(), v(t)
            here.setdefault(t, []).append(name)
            here.setdefault("i1", []).append(ok)
            return (f"{pair} = cmpxchg {r.choice(['', 'weak '])}{r.choice(['', 'volatile '])}ptr {p}, {t} {expected}, {t} {self.constant(t)} "
                    f"{r.choice(ORDERS)} {r.choice(ORDERS)}\n  {ok} = extractvalue {{ {t}, i1 }} {pair}, 1\n  {name} = extractvalue {{ {t}, i1 }} {pair}, 0")
        elif kind == "compare":
            t = r.choice(["i8", "i16", "i32", "i64", "i128", "ptr"])
            text, made = f"icmp {r.choice(['eq', 'ne', 'ult', 'sgt', 'uge'])} {t} {v(t)}, {v(t)}", "i1"
        elif kind == "float":
            text, made = f"fcmp {r.choice(['oeq', 'une', 'olt', 'uno', 'true'])} float {v('float')}, {v('float')}", "i1"
        elif kind == "arithmetic":
            t = r.choice(["i1", "i8", "i32", "i64", "i128"])
            text, made = f"{r.choice(['add', 'sub', 'and', 'or', 'xor', 'mul', 'shl', 'lshr', 'add nsw'])} {t} {v(t)}, {v(t)}", t
        elif kind == "select":
            text, made = f"select i1 {v('i1')}, {t} {v(t)}, {t} {v(t)}", t
        elif kind == "freeze":
            text, made = f"freeze {t} {v(t)}", t
        elif kind == "gep":
            text, made = r.choice([f"getelementptr i8, ptr {p}, i64 {v('i64')}", f"getelementptr inbounds i32, ptr {p}, i32 {v('i32')}",
                                   f"getelementptr {{ ptr, i32, [4 x i8] }}, ptr {p}, i64 0, i32 {r.randrange(3)}"]), "ptr"
        elif kind == "cast":
            text, made = r.choice([(f"ptrtoint ptr {p} to i64", "i64"), (f"inttoptr i64 {v('i64')} to ptr", "ptr"), (f"zext i1 {v('i1')} to i32", "i32"),
                                   (f"trunc i64 {v('i64')} to i32", "i32"), (f"sext i32 {v('i32')} to i64", "i64"), (f"bitcast i32 {v('i32')} to float", "float"),
                                   (f"trunc i32 {v('i32')} to i1", "i1"), (f"zext i8 {v('i8')} to i32", "i32")])
        elif kind == "call":
            text, made = r.choice([("call i32 @sched_yield()", "i32"), (f"call i64 @strlen(ptr {p})", "i64"), ("call i32 @usleep(i32 1)", "i32"), (f"call i32 @ask(ptr {p})", "i32"),
                                   (f"call i32 @pthread_mutex_trylock(ptr {p})", "i32"), (f"call i32 (ptr, i64, ptr, ...) @snprintf(ptr {p}, i64 9, ptr @text, ptr {self.pointer(here)})", "i32"),
                                   (f"call i32 {p}(ptr {self.pointer(here)})", "i32"), (f"call i32 @f0(i32 {v('i32')}, i64 {v('i64')}, ptr {p}, i1 {v('i1')})", "i32"),
                                   (f"call i32 @pthread_create(ptr {p}, ptr null, ptr @thread, ptr {self.pointer(here)})", "i32"),
                                   ("call i32 asm sideeffect \"\", \"=r,~{memory}\"()", "i32"),
                                   (f"call preserve_mostcc i64 @vf_spin_wait_or_fallback(ptr {p}, i64 {v('i64')}, i64 {v('i64')}, i32 {r.choice(['0', '4', '260', '512', v('i32')])})", "i64")])
            if r.random() < 0.3:
                return r.choice(["call void @other()", 'call void asm sideeffect "", "~{memory}"()', f"call void @llvm.memset.p0.i64(ptr {p}, i8 0, i64 {v('i64')}, i1 false)",
                                 f"call void @llvm.memcpy.p0.p0.i64(ptr {p}, ptr {self.pointer(here)}, i64 8, i1 {r.choice(['true', 'false'])})", f"call void @llvm.assume(i1 {v('i1')})"])
        elif kind == "allocate":
            text, made = r.choice([f"call ptr @malloc(i64 {r.choice(['8', '64', '65536', v('i64')])})", f"call ptr @calloc(i64 4, i64 {v('i64')})", f"call ptr @realloc(ptr {p}, i64 16)",
                                   "call ptr @_Znwm(i64 24)", "alloca i32, i32 4", "alloca [8 x i64]"]), "ptr"
        elif kind == "free":
            own = [x for x in here.get("ptr", []) if x.startswith("%")]
            return f"call void {r.choice(['@free', '@free', '@_ZdlPv'])}(ptr {r.choice(own) if own else p})"
        elif kind == "fence":
            return f"fence {r.choice(['acquire', 'release', 'seq_cst', SINGLE + 'seq_cst'])}"
        elif kind == "space":
            text, made = r.choice([(f"load {r.choice(['atomic i32, ptr addrspace(1) @gs acquire, align 4', 'volatile i32, ptr addrspace(1) @gs', 'i32, ptr addrspace(1) null'])}", "i32"),
                                   ("load volatile i32, ptr addrspace(1) inttoptr (i64 8 to ptr addrspace(1))", "i32")])
        elif kind == "vector":
            a, b, c = self.new(), self.new(), self.new()
            here.setdefault("i32", []).append(name)
            here.setdefault("i1", []).append(c)
            return (f"{a} = load {r.choice(['', 'volatile '])}<4 x i32>, ptr {p}, align 4\n  {b} = insertelement <4 x i32> {a}, i32 {self.constant('i32')}, i32 {r.randrange(4)}\n"
                    f"  {name} = {r.choice([f'extractelement <4 x i32> {b}, i32 1', f'call i32 @llvm.vector.reduce.or.v4i32(<4 x i32> {b})'])}\n  {c} = icmp eq i32 {name}, 0")
        here.setdefault(made, []).append(name)
        return f"{name} = {text}"

    def wait(self, here, block, blocks):
        """Returns what polls, and a terminator that polls again or leaves."""
        r = self.r
        t = r.choice(["i8", "i32", "i32", "i64", "ptr"])
        p, seen, more = self.pointer(here), self.new(), self.new()
        how = r.choice([f"load atomic {t}, ptr {p} {r.choice(ORDERS[:2])}, align {ALIGN[t]}", f"load volatile {t}, ptr {p}", f"load {t}, ptr {p}"])
        here.setdefault(t, []).append(seen)
        here.setdefault("i1", []).append(more)
        to = [f"label %b{block}", f"label %b{r.randrange(1, blocks)}"]
        r.shuffle(to)
        body = [f"{seen} = {how}", f"{more} = icmp {r.choice(['eq', 'ne'])} {t} {seen}, {self.constant(t)}"]
        return body, r.choice([f"br i1 {more}, {', '.join(to)}"] * 6 + [self.jump(here, to)])

    def jump(self, here, to):
        """Returns a terminator that goes where an address or assembly says."""
        if to[0] != to[1] and self.r.random() < 0.3:
            return f'callbr void asm sideeffect "", "!i"() to {to[0]} [ {to[1]} ]'
        return f"indirectbr ptr {self.pointer(here)}, [ {', '.join(to)} ]"

    def terminator(self, here, blocks, returns):
        r = self.r
        to = lambda: f"%b{r.randrange(1, blocks)}"
        last = [x for x in here.get("i1", []) if x.startswith("%")]
        condition = last[-1] if last and r.random() < 0.8 else self.value("i1", here)
        kind = r.randrange(17)
        if kind < 8:
            return f"br i1 {condition}, label {to()}, label {to()}"
        if kind < 11:
            return f"br label {to()}"
        if kind == 11:
            return f"switch i32 {self.value('i32', here)}, label {to()} [ i32 0, label {to()} i32 {r.randrange(1, 9)}, label {to()} ]"
        if kind == 12:
            return f"ret i32 {self.value('i32', here)}"
        if kind == 13:
            return r.choice(["unreachable", "call void @stop()\n  unreachable", "call void @pthread_exit(ptr null)\n  unreachable"])
        if kind == 14:
            return f"invoke void @other() to label %n{returns} unwind label %pad"
        if kind == 15:
            return self.jump(here, [f"label {to()}", f"label {to()}"])
        return f"ret i32 {self.value('i32', here)}"

    def function(self, number):
        r = self.r
        blocks = r.choice([2, 3, 3, 4, 5, 7, 12])
        self.entry = {"i32": ["%a"], "i64": ["%b"], "ptr": ["%p"], "i1": ["%c"]}
        entry = [self.instruction(self.entry) for _ in range(r.randrange(5))]
        bodies, ends, phis = {}, {}, {}
        lands = False
        heres = {}
        for block in range(1, blocks):
            here = heres[block] = {}
            # Types of what other blocks send here; the values follow when they are known.
            phis[block] = [(self.new(), r.choice(["i32", "i64", "ptr", "i1"])) for _ in range(r.choice([0, 0, 1, 2]))]
            for name, type in phis[block]:
                here.setdefault(type, []).append(name)
            bodies[block] = [self.instruction(here) for _ in range(r.choice([0, 1, 2, 3, 6]))]
            if r.random() < 0.3:
                polls, ends[block] = self.wait(here, block, blocks)
                bodies[block] += polls
            else:
                ends[block] = self.terminator(here, blocks, block)
            lands |= "invoke" in ends[block]
        lines = [f"define {r.choice(['', '', 'internal '])}i32 @f{number}(i32 %a, i64 %b, ptr %p, i1 %c) {r.choice(ATTRIBUTES)} "
                 f"{'personality ptr @__gxx_personality_v0 ' if lands else ''}{{", "entry:"]
        lines += ["  " + text for text in entry] + ["  br label %b1"]
        # Which block comes from where, as often as its edges.
        sources = {block: (["%entry"] if block == 1 else []) for block in range(1, blocks)}
        for block in ends:
            for word in ends[block].replace(",", " ").split():
                if word.startswith("%b") and word[2:].isdigit() and "label" in ends[block]:
                    sources[int(word[2:])].append(f"%b{block}")
        for block in range(1, blocks):
            lines.append(f"b{block}:")
            if not sources[block]:
                for name, type in phis[block]:
                    lines.append(f"  {name} = freeze {type} poison")
            for name, type in phis[block] if sources[block] else []:
                chosen = {s: self.value(type, heres.get(int(s[2:]) if s[2:].isdigit() else 0, {})) for s in set(sources[block])}
                lines.append(f"  {name} = phi {type} " + ", ".join(f"[ {chosen[s]}, {s} ]" for s in sources[block]))
            lines += ["  " + text for text in bodies[block]] + ["  " + ends[block]]
            if "invoke" in ends[block]:
                lines += [f"n{block}:", "  ret i32 0"]
        if lands:
            lines += ["pad:", "  %lp = landingpad { ptr, i32 } cleanup", "  resume { ptr, i32 } %lp"]
        return "\n".join(lines) + "\n}\n"

    def chain(self):
        """One wait, or block of memory, at the end of very many operations."""
        r, n = self.r, self.r.choice([3000, 20000])
        start, step = r.choice([
            ("%x0 = load atomic ptr, ptr @gp acquire, align 8", "%x{i} = load ptr, ptr %x{b}"),
            ("%x0 = load atomic ptr, ptr @gp acquire, align 8", "%x{i} = getelementptr i8, ptr %x{b}, i64 1"),
            ("%x0 = load volatile ptr, ptr @gp", "%x{i} = select i1 %c, ptr %x{b}, ptr %p"),
            ("%x0 = call ptr @malloc(i64 64)", "%x{i} = getelementptr i8, ptr %x{b}, i64 1"),
            ("%x0 = call ptr @malloc(i64 64)", "%x{i} = freeze ptr %x{b}"),
            ("%x0 = call ptr @malloc(i64 64)", "store ptr %x{b}, ptr @gp\n  %x{i} = load ptr, ptr @gp"),
            ("%x0 = load volatile ptr, ptr @gp", "%x{i} = load ptr, ptr %x{b}\n  br label %l{i}\nl{i}:"),
            ("%x0 = call ptr @malloc(i64 64)", "br label %l{i}\nl{i}:\n  %x{i} = phi ptr [ %x{b}, %l{b} ]"),
        ])
        body = "\n  ".join(step.format(i=i, b=i - 1) for i in range(1, n + 1))
        free = "call void @free(ptr %x0)" if "malloc" in start else ""
        return (f"define void @chain(ptr %p, i1 %c) {{\n  br label %l0\nl0:\n  {start}\n  {body}\n"
                f"  %f = load i32, ptr %x{n}\n  %z = icmp eq i32 %f, 0\n  {free}\n  br i1 %z, label %l0, label %out\nout:\n  ret void\n}}\n")

    def text(self):
        r = self.r
        triple = r.choice(TRIPLES)
        text = f'target triple = "{triple}"\n' + HEADER + "".join(self.function(k) for k in range(r.choice([1, 1, 2, 3])))
        return text + self.chain() if self.seed % 500 == 250 else text


ATTRIBUTES = ["", "", "", "", "nounwind", "noinline optnone", "sanitize_thread", "sanitize_address", "null_pointer_is_valid", "minsize optsize", "strictfp",
              "mustprogress", "willreturn", "cold noinline", "noreturn", "\"target-cpu\"=\"x86-64-v3\"", "uwtable", "nofree nosync", "norecurse",
              "section \".x\"", "gc \"statepoint-example\"", "convergent"]
