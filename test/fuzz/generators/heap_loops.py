# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loops that allocate memory, use all of it and free it.

They do so in all orders, and leave by goto, break, exceptions and longjmp. The program prints a
checksum. Odd seeds are in C, even ones in C++.
"""

import random

PRELUDE = """#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int fuel, nums[4] = {3, 17, 40, 150};
static unsigned sum;
static int burn(void) { return fuel-- > 0; }
#ifndef FACTOR // The test of the fuzzer sets these.
#define FACTOR 31
#endif
#ifndef EPILOGUE
#define EPILOGUE
#endif
#define APART __attribute__((noinline)) static
APART void see(unsigned v) { sum = sum * FACTOR + v; }
APART unsigned look(const unsigned char *p, size_t n) { unsigned r = 7; for (size_t i = 0; i < n; ++i) r = r * 5 + p[i]; return r; }
APART void fill(unsigned char *p, size_t n, int v) { for (size_t i = 0; i < n; ++i) p[i] = (unsigned char)(v + (int)i); }
static unsigned char *shared;
APART void keep(unsigned char *p) { shared = p; }
APART void use_shared(void) { if (shared) see(shared[0]); }
"""
C_ONLY = """static jmp_buf out;
APART void jump(int c) { if (c) longjmp(out, 1); }
"""
CXX_ONLY = """#include <memory>
#include <new>
#include <vector>
struct Thrown { int v; };
APART void jump(int c) { if (c) throw Thrown{c}; }
struct alignas(64) Wide { unsigned char b[192]; };
"""


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.cxx = seed % 2 == 0
        # A program that leaks may leak less after the pass.
        self.loses = self.r.random() < 0.2
        self.count = 0
        self.depth = 0
        self.functions = []
        self.held = []  # (name, size, free) of what is taken here, the innermost last.
        self.loops = []  # How many of them each loop around this has outside.

    def name(self, start):
        self.count += 1
        return f"{start}{self.count}"

    def pick(self, *choices):
        return self.r.choice(choices)

    def number(self):
        return self.pick("x & 7", "i", "(int)(x >> 3) & 15", "nums[i & 3]", "i + 1", str(self.r.randrange(9)))

    def condition(self):
        c = self.pick("x & 1", "(x & 7) == 3", "i == 2", "(x + (unsigned)i) % 5 == 1", "n > 20", "nums[x & 3] > 10",
                      "(x >> 4) & 1", "fuel & 1")
        return f"!({c})" if self.r.random() < 0.3 else c

    def size(self):
        return self.pick(
            str(self.r.choice([1, 8, 16, 24, 64, 100, 128])), str(self.r.choice([129, 200, 500])), "n", "n",
            "n + 1", "(x & 63)", "(x & 63) + 1", "(size_t)nums[i & 3]", "(size_t)nums[x & 3] + 2",
            "(size_t)(50 - i)", "(size_t)(i + 5)", "(size_t)(i & 15) * 3 + 1")

    def take(self, size):
        """Returns how a block is allocated and freed, and whether it is zeroed."""
        kind = self.r.randrange(8 if self.cxx and not self.must_not_throw() else 5)
        if kind < 3:
            return f"(unsigned char *)malloc({size})", "free(%s);", False
        if kind == 3:
            return f"(unsigned char *)calloc({size}, 1)", "free(%s);", True
        if kind == 4:
            return f"(unsigned char *)calloc(2, {size})", "free(%s);", True
        if kind == 5:
            return f"new unsigned char[{size}]", "delete[] %s;", False
        if kind == 6:
            return f"new (std::nothrow) unsigned char[{size}]()", "delete[] %s;", True
        return f"(unsigned char *)::operator new({size})", f"::operator delete(%s, {size});", False

    def leave(self, since, end):
        """Leaves by the statement end, and frees the blocks allocated since."""
        frees = "".join(free % name for name, _, free in reversed(self.held[since:])
                        if not (self.loses and self.r.random() < 0.4))
        return f"{{ {frees} {end} }}"

    def ways_out(self):
        ways = [self.leave(0, "return (int)x;")]
        if self.loops:
            ways += [self.leave(self.loops[-1], "break;"), self.leave(self.loops[-1], "continue;")] * 2
        return self.r.choice(ways)

    def must_not_throw(self):
        """Returns True if an exception or longjmp would leak a block that is freed by hand."""
        return bool(self.held) and not self.loses

    def jump(self):
        """Leaves this function by longjmp or an exception."""
        if self.must_not_throw():
            return "see(x);"
        return f"jump({self.condition()} && fuel % 11 == 0);"

    def use(self, name, size):
        n = self.name("k")
        q = self.name("q")
        return self.pick(
            f"see(look({name}, {size}));",
            f"fill({name}, {size}, (int)x);",
            f"memset({name}, (int)x, {size});",
            f"for (size_t {n} = 0; {n} < {size}; ++{n}) {name}[{n}] ^= (unsigned char)x;",
            f"if ({size}) x += {name}[x % ({size})];",
            f"if ({size}) {name}[({size}) - 1] = (unsigned char)i;",
            f"{{ unsigned char *{q} = {name}; while ({q} < {name} + {size} && *{q}) ++{q}; x += (unsigned)({q} - {name}); }}",
            f"{{ const unsigned char *{q} = {name} + {size}; while ({q} != {name}) x = x * 3 + *--{q}; }}",
            f"{{ unsigned char *{q} = ({size}) ? (unsigned char *)memchr({name}, (int)(x & 3), {size}) : 0; if ({q}) see((unsigned)({q} - {name})); }}",
            f"if (({size}) >= 4) {{ uint32_t w; memcpy(&w, {name}, 4); x ^= w; }}",
            f"if (({size}) >= 4) {{ *(uint32_t *){name} = x; x += *(uint32_t *){name} >> 3; }}",
            f"if (({size}) >= 4) {{ *(float *){name} = (float)(x & 255); x += (unsigned)*(float *){name}; }}",
            f"if (({size}) > 6) {{ strcpy((char *){name}, \"abcd\"); see((unsigned)strlen((char *){name})); }}",
            f"if (({size}) > 24) {{ snprintf((char *){name}, {size}, \"%d,%u\", i, x); x += (unsigned)strlen((char *){name}); }}",
            f"if ({self.condition()}) {{ keep({name}); use_shared(); shared = 0; }}" if self.r.random() < 0.15
            else f"see({name} == 0);",
        )

    def region(self):
        name, size = self.name("p"), self.size()
        # The size must have one meaning throughout.
        s = self.name("s")
        call, free, zero = self.take(s)
        if self.r.random() < 0.25 and size.isdigit():
            s_text, s = "", size
            call, free, zero = self.take(size)
        else:
            s_text = f"size_t {s} = {size};"
        text = f"{s_text} unsigned char *{name} = {call}; "
        text += f"if (!{name}) {{ see(77); {self.ways_out()} }} " if self.r.random() < 0.8 else f"if (!{name}) abort_it();"
        if zero:
            text += f"see(look({name}, {s})); "
        else:
            text += self.pick(f"memset({name}, (int)(x & 127), {s}); ", f"fill({name}, {s}, i); ")
        self.held.append((name, s, free))
        text += self.block(4)
        for _ in range(self.r.randrange(1, 4)):
            text += self.use(name, s)
        # Code that may take long, after the last use.
        text += self.loop() if self.depth < 3 and self.r.random() < 0.2 else ""
        self.held.pop()
        text += self.pick(free % name, free % name, f"if ({name}) {{ {free % name} }}",
                          f"if ({self.condition()}) {{ {free % name} }} else {{ see(x); {free % name} }}")
        return f"{{ {text} }}"

    def scoped(self):
        """A block that a C++ destructor frees on every path."""
        name, size = self.name("v"), self.size()
        text = self.pick(
            f"std::vector<unsigned char> {name}({size}); see(look({name}.data(), {name}.size()));",
            f"std::unique_ptr<unsigned char[]> {name}(new unsigned char[{size}]()); see({name}.get() == 0);",
            f"std::vector<int> {name}({size}, (int)x); for (int each : {name}) x += (unsigned)each;",
            f"std::unique_ptr<Wide> {name}(new Wide()); {name}->b[x % 192] = 1; see(look({name}->b, 192));",
            f"std::vector<unsigned char> {name}; for (int k = 0; k < (int)(x & 31); ++k) {name}.push_back((unsigned char)k); see((unsigned)look({name}.data(), {name}.size()));")
        inner = self.jump() if self.r.random() < 0.4 else ""
        return f"{{ {text} {inner} {self.block(2)} see(x); }}"

    def statement(self):
        kind = self.r.randrange(13)
        if kind < 2 and self.held:
            name, size, _ = self.r.choice(self.held)
            return self.use(name, size)
        if kind < 4:
            return "x = x * 5 + 1;"
        if kind == 4:
            return f"see({self.number()});"
        if kind == 5:
            return f"if ({self.condition()}) {self.ways_out()}"
        if kind == 6:
            return f"if ({self.condition()}) {{ {self.statement()} }}"
        if kind == 7 and self.functions and not self.must_not_throw():
            return f"x += (unsigned){self.r.choice(self.functions)}(i & 3, n, x);"
        if kind == 8:
            return self.jump()
        if kind < 11 and self.depth < 4:
            return self.scoped() if self.cxx and not self.must_not_throw() and self.r.random() < 0.4 else self.region()
        return self.loop() if self.depth < 3 else "++x;"

    def block(self, most):
        self.depth += 1
        text = " ".join(self.statement() for _ in range(self.r.randrange(most)))
        self.depth -= 1
        return text

    def found(self):
        """A loop that ends with the block of its last iteration, or without one."""
        p, n = self.name("p"), self.name("l")
        size = self.pick("n", "200", "(x & 31) + 8")
        return (f"{{ unsigned char *{p}; for (int i = 0; i < 9; ++i) {{ if (!burn()) goto none{n}; {p} = (unsigned char *)malloc({size} + 8); "
                f"if (!{p}) goto none{n}; fill({p}, 8, (int)x); {self.pick('', f'see(look({p}, 8));')} x = x * 7 + {p}[3]; "
                f"if ({self.condition()}) goto got{n}; free({p}); {self.pick('', 'see(x);')} }} goto none{n}; "
                f"got{n}: see(look({p}, 8)); free({p}); none{n}:; }}")

    def loop(self):
        self.depth += 1
        self.loops.append(len(self.held))
        end = f"if (!burn()) {self.leave(len(self.held), 'break;')}"
        body = self.region() if self.r.random() < 0.7 else self.block(4)
        more = self.block(3)
        kind = self.r.randrange(6)
        c = self.condition()
        n = self.name("l")
        if kind < 2:
            text = f"for (int i = 0; i < {self.r.choice([1, 4, 9, 20])}; ++i) {{ {end} {body} {more} }}"
        elif kind == 2:
            text = f"while (burn() && !({c})) {{ x = x * 3 + 1; {body} {more} }}"
        elif kind == 3:
            text = f"do {{ {end} x += 3; {body} {more} }} while ({c});"
        elif kind == 4:
            text = f"for (int i = 12; i > 0; i -= 2) {{ {end} {more} {body} if ({c}) break; }}"
        else:
            text = self.found()
        self.loops.pop()
        self.depth -= 1
        return text

    def function(self, k):
        attribute = self.pick("", "", "APART ", "APART ")
        name = f"f{k}"
        self.held, self.loops = [], []
        body = " ".join([self.loop(), self.statement(), self.loop()])
        self.functions.append(name)
        return (f"{attribute or 'static '}int {name}(int i, size_t n, unsigned x) {{ if (!burn()) return 0; "
                f"{body} return (int)x; }}\n")

    def text(self):
        functions = "".join(self.function(k) for k in range(3))
        calls = "".join(f"see((unsigned){f}(i, (size_t)nums[i & 3], sum));" for f in self.functions)
        if self.cxx:
            calls = f"try {{ {calls} }} catch (Thrown &t) {{ see(1); }} catch (std::bad_alloc &) {{ see(2); }}"
        else:
            calls = f"if (!setjmp(out)) {{ {calls} }} else see(1);"
        return (PRELUDE + (CXX_ONLY if self.cxx else C_ONLY) +
                "APART void abort_it(void) { see(99); fflush(stdout); _Exit(0); }\n" + functions +
                "int main(void) { static char room[64]; setvbuf(stdout, room, _IOFBF, sizeof room);\n"
                f"for (volatile int j = 0; j < 6; ++j) {{ int i = j; fuel = 300; {calls} }}\n"
                'EPILOGUE; printf("%u\\n", sum); return 0; }\n')
