# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C programs of functions with nested loops, gotos, switches and calls.

They work on atomic, volatile, plain, local and thread-local memory. A program has one thread
and ends by itself: a loop that works takes fuel, and returns when that is used up; one that
waits does so for a condition that already holds, or for a bounded number of iterations. It prints a checksum.
"""

import platform
import random

X86 = platform.machine() == "x86_64"

PRELUDE = """#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
static int fuel = 20000;
static int burn(void) { return fuel-- > 0; }
static unsigned sum;
#ifndef FACTOR // The test of the test sets it.
#define FACTOR 31
#endif
struct pair { int a; volatile int b; _Atomic int c; struct pair *next; };
static struct pair pairs[4];
static int plain[4];
static volatile int vol[4];
static atomic_int at[4];
static _Thread_local int own[4];
static unsigned char bytes[4];
static long wide[4];
static double real[4];
__attribute__((noinline)) static void see(unsigned v) { sum = sum * FACTOR + v; }
__attribute__((noinline)) static int same(int v) { return v; }
static int peek(int *p) { return *p; }
static int peek_volatile(volatile int *p) { return *p; }
static int try_lock(atomic_int *l) { int z = 0; return atomic_compare_exchange_strong(l, &z, 1); }
static void unlock(atomic_int *l) { atomic_store(l, 0); }
"""


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.depth = 0
        self.labels = 0
        self.functions = []

    def index(self):
        return self.r.choice(["0", "1", "2", "3", "i & 3", "x & 3"])

    def place(self):
        i = self.index()
        return self.r.choice([
            f"plain[{i}]", f"vol[{i}]", f"own[{i}]", f"bytes[{i}]", f"wide[{i}]",
            f"p->a", f"p->b", f"pairs[{i}].a", f"pairs[{i}].b", "x", "lv",
        ])

    def read(self):
        i = self.index()
        return self.r.choice([
            self.place(), self.place(),
            f"atomic_load(&at[{i}])",
            f"atomic_load_explicit(&at[{i}], memory_order_relaxed)",
            f"atomic_load(&p->c)", f"peek(&plain[{i}])",
            f"peek_volatile(&vol[{i}])", f"(int)real[{i}]", str(self.r.randrange(4)),
            f"__atomic_load_n(&plain[{i}], __ATOMIC_ACQUIRE)",
        ])

    def tries(self):
        i = self.index()
        return self.r.choice([
            f"atomic_exchange(&at[{i}], {self.r.randrange(3)})",
            f"!try_lock(&at[{i}])",
            f"atomic_fetch_add(&at[{i}], {self.r.randrange(2)})",
            f"atomic_fetch_or(&at[{i}], {self.r.randrange(4)})",
            f"!__sync_bool_compare_and_swap(&plain[{i}], {self.r.randrange(2)}, {self.r.randrange(3)})",
            f"atomic_compare_exchange_weak(&p->c, &e, e + 1)",
            f"__sync_lock_test_and_set(&vol[{i}], 1)",
        ])

    def condition(self):
        a = self.tries() if self.r.random() < 0.25 else self.read()
        op = self.r.choice(["==", "!=", "<", ">", "&"])
        text = f"(({a}) {op} ({self.read() if self.r.random() < .4 else self.r.randrange(4)}))"
        if self.r.random() < 0.2:
            text = f"({text} {self.r.choice(['&&', '||'])} {self.condition()})"
        return text

    def statement(self):
        i = self.index()
        kind = self.r.randrange(16)
        if kind < 4:
            return f"{self.place()} = {self.read()};"
        if kind == 4:
            return f"atomic_store(&at[{i}], {self.read()});"
        if kind == 5:
            return f"unlock(&at[{i}]);"
        if kind == 6:
            return f"see({self.read()});"
        if kind == 7:
            return "p = p->next;"
        if kind == 8:
            return '__asm__ volatile("" ::: "memory");'
        if kind == 9:
            return "atomic_thread_fence(memory_order_seq_cst);"
        if kind == 10:
            return f"if ({self.condition()}) {{ {self.statement()} }}"
        if kind == 11 and self.functions:
            return f"x += {self.r.choice(self.functions)}(i & 3, &pairs[{i}]);"
        if kind == 12:
            return "x = (x * 5 + 1) & 255;"
        if kind == 13:
            return f"real[{i}] += 1;"
        if kind == 14:
            return f"(void)({self.tries()});"
        return self.loop() if self.depth < 3 else "++x;"

    def body(self, most):
        return " ".join(self.statement() for _ in range(self.r.randrange(most)))

    def neutral(self):
        """Returns a statement that a wait may execute between polls."""
        return self.r.choice(["", "", "", '__asm__ volatile("" ::: "memory");', "x ^= 1;",
                              "atomic_thread_fence(memory_order_acquire);", "sched_yield();",
                              "__builtin_ia32_pause();" if X86 else "", "e = 0;"])

    def wait(self):
        """Returns a wait for a condition that already holds, or for a bounded number of iterations."""
        n = self.labels = self.labels + 1
        i = self.index()
        v = self.r.randrange(1, 5)
        set_, get = self.r.choice([
            (f"plain[{i}] = {v}", f"plain[{i}]"), (f"vol[{i}] = {v}", f"vol[{i}]"),
            (f"plain[{i}] = {v}", f"peek(&plain[{i}])"),
            (f"vol[{i}] = {v}", f"peek_volatile(&vol[{i}])"),
            (f"bytes[{i}] = {v}", f"bytes[{i}]"), (f"wide[{i}] = {v}", f"wide[{i}]"),
            (f"real[{i}] = {v}", f"real[{i}]"), (f"p->a = {v}", "p->a"),
            (f"p->b = {v}", "p->b"), (f"p->next->a = {v}", "p->next->a"),
            (f"atomic_store(&p->c, {v})", "atomic_load(&p->c)"),
            (f"atomic_store(&at[{i}], {v})", f"atomic_load(&at[{i}])"),
            (f"atomic_store(&at[{i}], {v})",
             f"atomic_load_explicit(&at[{i}], memory_order_relaxed)"),
            (f"plain[{i}] = {v}", f"__sync_fetch_and_add(&plain[{i}], 0)"),
            (f"atomic_store(&at[{i}], {v})", f"atomic_exchange(&at[{i}], {v})"),
            (f"own[{i}] = {v}", f"own[{i}]"), (f"lv = {v}", "lv"),
        ])
        # The index may be x, which the loop may change.
        if "x &" in i:
            set_ = f"x = x & 3; {set_}"
        wrong = self.r.choice([f"{get} != {v}", f"{get} < {v}", f"{v} != {get}", f"!({get} == {v})"])
        if self.r.random() < 0.3:
            set_, wrong = f"atomic_store(&at[{i}], 0)", self.r.choice([
                f"atomic_exchange(&at[{i}], 1)", f"!try_lock(&at[{i}])",
                f"atomic_load(&at[{i}]) || atomic_exchange(&at[{i}], 1)",
                f"atomic_fetch_or(&at[{i}], 2) & 2"])
        if self.r.random() < 0.3:  # Bounded, so it need not be the case.
            count = f"n{n}"
            bound = f"int {count} = {self.r.randrange(1, 6)};"
            wrong = self.r.choice([f"{count}-- > 0 && ({wrong})", f"({wrong}) && --{count} > 0"])
            set_ = f"{bound} {self.r.choice([set_, 'see(x)'])}"
        body = self.neutral()
        text = self.r.choice([
            f"while ({wrong}) {{ {body} }}",
            f"do {{ {body} }} while ({wrong});",
            f"for (;;) {{ if (!({wrong})) break; {body} }}",
            f"for (;;) {{ {body} if ({wrong}) continue; break; }}",
            f"again{n}: {body} if ({wrong}) goto again{n};",
            f"again{n}: switch (!({wrong})) {{ case 1: break; default: {body} goto again{n}; }}",
            f"while ({wrong}) {{ while ({wrong}) {{ {body} }} }}",
            f"if (x & 1) goto in{n}; top{n}: {body} in{n}: if ({wrong}) goto top{n};",
            f"{{ void *to{n}[] = {{&&top{n}, &&end{n}}}; top{n}: {body} goto *to{n}[!({wrong})]; end{n}:; }}",
        ])
        return f"{{ {set_}; {text} }}"

    def take(self):
        """Returns a lock that is tried a number of times and then written, mostly at an address that the loop computes."""
        i, v, n = self.index(), self.r.randrange(1, 5), self.r.choice(["4", "same(400)", "i * 200", "(x & 511)"])
        at = self.r.choice(["p->c", "p->next->c", "p->b", "p->next->b", "p->next->a", f"at[{i}]", f"vol[{i}]", f"pairs[{i}].c"])
        written = self.r.choice([f"{at} = {v + 1};", f"atomic_store(&{at}, {v + 1});" if at.endswith("c") else f"{at} = 0;"])
        end = self.r.choice(["break;", "return x;", f"see({at}); break;"])
        body = self.neutral() or ("__builtin_ia32_pause();" if X86 else "sched_yield();")
        return (f"{{ {self.r.choice([f'{at} = {v};', 'see(x);'])} for (int t = 0, most = {n}; t < most; ++t) "
                f"{{ if ({at} == {v}) {{ {written} {end} }} {body} }} }}")

    def rare(self):
        """Returns a wait that does more than poll in iterations which a counter selects.

        After some of them the condition holds, or the loop is left. The checksum tells in which
        iterations they were. The counter starts anywhere; a signed one does not overflow.
        """
        n = self.labels = self.labels + 1
        period = self.r.choice([3, 200, 256, 1000, 4096, self.r.randrange(161, 3000)])
        type_ = self.r.choice(["unsigned", "unsigned", "int", "unsigned long", "long", "unsigned short"])
        start = self.r.choice(["0", "0", "1", "(x & 3)", str(self.r.randrange(10000)), f"-{self.r.randrange(1, period + 9)}"])
        k = self.r.choice([str(period), f"k{n}", f"k{n}"])
        last = self.r.randrange(period)
        count, rare, reset = self.r.choice([
            ("", f"++n{n} % {k} == 0", ""), ("", f"n{n}++ % {k} == 0", ""), ("", f"++n{n} % {period} == {last}", ""),
            ("", f"(n{n}++ & {255 if period < 1000 else 1023}) == {last & 255}", ""),
            ("", f"++n{n} > {k}", f"n{n} = {self.r.choice(['0', '7', start])};"), ("", f"++n{n} >= {k}", f"n{n} = 0;"),
            ("", f"++n{n} == {k}", f"n{n} = 0; k{n} += 37;"), (f"--n{n};", f"n{n} <= 0", f"n{n} = {k};"),
            (f"n{n} += {self.r.randrange(1, 4)};", f"n{n} % {k} < {self.r.randrange(1, 4)}", ""),
            (f"++n{n};", f"n{n} % {k} == 0 && {self.read()} < 3", f"n{n} += 5;"),
        ])
        i = self.r.randrange(4)
        set_, get = self.r.choice([(f"atomic_store(&at[{i}], 9);", f"atomic_load(&at[{i}])"), (f"vol[{i}] = 9;", f"vol[{i}]"),
                                   ("atomic_store(&p->c, 9);", "atomic_load_explicit(&p->c, memory_order_acquire)")])
        hint = self.r.choice(["__builtin_ia32_pause();" if X86 else "", "__builtin_ia32_pause();" if X86 else "", "sched_yield();", ""])
        most = self.r.randrange(1, 5)
        work = (f"if ({rare}) {{ see((unsigned)n{n}); {self.r.choice(['', 'see(x);', '++x;'])} {reset} "
                f"if (++v{n} == {most}) {self.r.choice([set_, 'break;'])} }}")
        polls = f"if ({get} == 9) break; {hint}"
        steps = self.r.choice([f"{polls} {count} {work}", f"{count} {work} {polls}"])
        # Without fuel, which is an effect, only where the rare branch surely comes.
        fuel = "if (!burn()) break;" if "+=" in count or "&&" in rare else ""
        if "--" in count or f"n{n} == " in rare:  # Not far beyond 0, or beyond the period.
            start = "1"
        return (f"{{ {type_} n{n} = {start}, v{n} = 0, k{n} = {self.r.choice([f'same({period})', f'plain[{i}] < 0 ? {period + 7} : {period}'])}; "
                f"if ({get} == 9) {set_.replace('9', '0')} for (;;) {{ {fuel} {steps} }} see((unsigned)n{n}); }}")

    def loop(self):
        if self.r.random() < 0.5:
            return self.r.choice([self.wait, self.wait, self.wait, self.rare, self.take])()
        self.depth += 1
        end = "if (!burn()) return x;"
        # Most spin loops are small, and have nothing in them.
        inner = "" if self.r.random() < 0.5 else self.body(3)
        kind = self.r.randrange(8)
        c = self.condition()
        n = self.labels = self.labels + 1
        if kind == 0:
            text = f"while (burn() && {c}) {{ {inner} }}"
        elif kind == 1:
            text = f"do {{ {end} {inner} }} while ({c});"
        elif kind == 2:
            text = f"for (int i = 0; i < {self.r.randrange(1, 9)}; ++i) {{ {end} if ({c}) break; {inner} }}"
        elif kind == 3:
            text = f"again{n}: {end} {inner} if ({c}) goto again{n};"
        elif kind == 4:
            text = (f"for (;;) {{ {end} switch (({self.read()}) & 3) {{ case 0: {inner} continue; "
                    f"case 1: goto out{n}; case 2: if ({c}) return x; break; default: break; }} "
                    f"if ({self.condition()}) break; }} out{n}:;")
        elif kind == 5:  # Two heads: irreducible.
            text = (f"if ({c}) goto left{n}; right{n}: {end} {inner} if ({self.condition()}) goto done{n}; "
                    f"left{n}: {end} if ({self.condition()}) goto right{n}; done{n}:;")
        elif kind == 6:  # A computed goto as the latch.
            text = (f"{{ void *next{n}[] = {{&&top{n}, &&end{n}}}; top{n}: {end} {inner} "
                    f"goto *next{n}[!({c})]; end{n}:; }}")
        else:
            text = (f"while ({self.tries()}) {{ {end} while ({c}) {{ {end} }} {inner} }}")
        self.depth -= 1
        return text

    def function(self, n):
        attribute = self.r.choice(["", "", "__attribute__((noinline)) ", '__attribute__((annotate("vfriendly:keep"))) '])
        body = " ".join([self.loop()] + [self.statement() for _ in range(3)] + [self.loop()])
        name = f"f{n}"
        text = (f"{attribute}static int {name}(int i, struct pair *p) {{ int x = i, e = 0; "
                f"volatile int lv = 1; if (!burn()) return 0; {body} return x + e; }}\n")
        self.functions.append(name)
        return text

    def text(self):
        functions = "".join(self.function(n) for n in range(3))
        main = "int main(void) { for (int i = 0; i < 4; ++i) pairs[i].next = &pairs[(i + 1) & 3];\n"
        main += "for (int i = 0; i < 12; ++i) {\n"
        for name in self.functions:
            main += f"fuel = 20000; see({name}(i & 3, &pairs[i & 3]));\n"
        main += """plain[i & 3]++; vol[i & 3]++; atomic_fetch_add(&at[i & 3], 1); own[i & 3]++; }
for (int i = 0; i < 4; ++i) { see(plain[i]); see(vol[i]); see(at[i]); see(own[i]);
see(bytes[i]); see(wide[i]); see((unsigned)real[i]); see(pairs[i].a); see(pairs[i].b); see(pairs[i].c); }
printf("%u\\n", sum); }
"""
        return PRELUDE + functions + main
