#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random bounded spins: they end in the iteration, and with the counters, of the loop as written.

  counters.py --clang FILE --plugin FILE --out DIR [--loops N] [--first SEED] [-O LEVEL]

Each loop polls and counts: up or down, by any step, in any integer type, signed or unsigned,
around the end of its type, to a bound that is a constant, a parameter or an outer loop's
counter, with a second counter or a second bound; and is left by break, return or its condition.
It is built twice. The reference counts its polls and stops at the one it is told to. The other is
built with the plugin, against a runtime that takes random numbers of polls off the count and
raises the flag at a random call. Polls made and polls skipped till then tell at which poll the
reference stops: result and counters must be the same. Polls that are calls are counted; of
others it is told how many were left, which is exact but for one or two that LLVM may move out of
the loop. A loop that keeps all iterations (VF_SPIN_MAY_WORK) does not tell that: nothing is skipped,
and its flag is raised only if its polls are calls.
"""

import argparse
import os
import random
import subprocess
import sys

LOOPS_A_PROGRAM = 100
TIMEOUT = 60  # A program runs for a second, a compiler for a few.

PRELUDE = """
#include "counters.h"
#include <pthread.h>
#ifdef REFERENCE
#define NAME(f) f##_reference
#define FLAG reference_poll()
#define WORD reference_poll()
#define LOCK reference_poll()
#define SWAP reference_poll()
#define CALL reference_poll()
#define BOTH reference_poll()
#else
#define NAME(f) f##_rewritten
#define FLAG (atomic_load_explicit(&flag, memory_order_acquire) != 0)
#define WORD (word != 0)
#define LOCK (!atomic_exchange(&lock, 1))
#define SWAP try_swap()
#define CALL (pthread_mutex_trylock(&mutex) == 0)
#define BOTH (FLAG | (atomic_load_explicit(&other, memory_order_relaxed) != 0))
pthread_mutex_t mutex;
atomic_int flag, other, lock = 1, swap = 1;
volatile int word;
void set_all(int free) { flag = other = free; word = free; lock = !free; swap = !free; }
static int try_swap(void) {
  int expected = 0;
  return atomic_compare_exchange_strong(&swap, &expected, 1);
}
#endif
"""

HEADER = """
#include <stdatomic.h>
#include <stdint.h>
int reference_poll(void);
void set_all(int free);
extern uint64_t seen;
static inline void see(uint64_t value) { seen = (seen ^ value) * 0x9e3779b97f4a7c15u + 1; }
"""

MAIN = """
#include "counters.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <vfriendly/spin_wait.h>

/* A loop that polls more often than this is not compared: it may be endless. */
#define MOST 200000u
/* LLVM may move so many polls out of the loop, before those that are left. */
#define MOVED 2
uint64_t seen;
static uint64_t polls, stop_at;
static jmp_buf too_long;
int reference_poll(void) {
  if (polls > MOST)
    longjmp(too_long, 1);
  return polls++ == stop_at;
}

static uint64_t random_state = SEED;
static uint64_t draw(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

static int calls, raise_at, raised;
static uint64_t left_then, made, skipped, polls_then;
/* The loops' own: counts polls. */
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  (void)mutex;
  ++made;
  return !raised;
}
struct vf_spin_bounded vf_spin_wait_bounded(const volatile void *addr, uint64_t observed, uint64_t state,
                                            uint32_t how, uint64_t left, uint32_t *cost) {
  uint64_t choices[] = {0, 1, 7, left, left - 1, left + 5, UINT64_MAX, draw(left) + 1, draw(left) + 1};
  uint64_t skip = choices[draw(sizeof choices / sizeof *choices)];
  if (draw(3) != 0 && skip > left / 4)
    skip = left / 4;
  int keeps = how & VF_SPIN_MAY_WORK;
  if (keeps)
    skip = 0;
  skipped += skip < left ? skip : left;
  if (++calls == raise_at && (made || !keeps)) {
    raised = 1;
    left_then = left - (skip < left ? skip : left);
    polls_then = made + skipped;
    set_all(1);
  }
  uint64_t blocks[] = {1, 1, 2, 3, 64, draw(500) + 1, 65536};
#ifdef BREAK
  skip += left > 9 && skip < left;
#endif
  return (struct vf_spin_bounded){UINT64_C(1) << 63 | (blocks[draw(7)] - 1), skip};
}

typedef uint64_t body(int64_t a, int64_t b);
#define LOOP(f) body f##_reference, f##_rewritten;
#include "loops.inc"
#undef LOOP
static const struct { const char *name; body *reference, *rewritten; } loops[] = {
#define LOOP(f) {#f, f##_reference, f##_rewritten},
#include "loops.inc"
};

/* Returns whether the reference came to an end. */
static int refer(body *f, int64_t a, int64_t b, uint64_t stop, uint64_t *result) {
  polls = 0, stop_at = stop, seen = 0;
  if (setjmp(too_long))
    return 0;
  *result = f(a, b) ^ seen;
  return 1;
}

int main(void) {
  static const int64_t arguments[][2] = {ARGUMENTS};
  unsigned compared = 0, waited = 0, wrong = 0, many = sizeof loops / sizeof *loops;
  for (unsigned i = 0; i < many; ++i) {
    int ever = 0;
    for (unsigned j = 0; j < sizeof arguments / sizeof *arguments; ++j)
      for (raise_at = 0; raise_at < (NESTED(i) ? 1 : 4); ++raise_at) {
        int64_t a = arguments[j][0], b = arguments[j][1];
        uint64_t expected, all, result;
        if (!refer(loops[i].reference, a, b, UINT64_MAX, &expected))
          continue;
        all = polls;
        calls = raised = 0, made = skipped = seen = 0;
        set_all(0);
        result = loops[i].rewritten(a, b) ^ seen;
        ever |= calls != 0;
        ++compared;
        if (raised) {
          refer(loops[i].reference, a, b, made ? polls_then : all - left_then, &expected);
          for (unsigned moved = 1; !made && result != expected && moved <= MOVED; ++moved)
            refer(loops[i].reference, a, b, all - left_then - moved, &expected);
        }
        if (result == expected)
          continue;
        if (++wrong < 10)
          fprintf(stderr, "%s(%lld, %lld), raised at call %d: %#llx instead of %#llx\\n", loops[i].name,
                  (long long)a, (long long)b, raised ? raise_at : 0, (unsigned long long)result,
                  (unsigned long long)expected);
      }
    waited += ever;
  }
  printf("%u %u %u %u\\n", many, waited, compared, wrong);
  return wrong != 0;
}
"""

TYPES = {
    "int8_t": (8, True), "uint8_t": (8, False), "int16_t": (16, True), "uint16_t": (16, False),
    "int32_t": (32, True), "uint32_t": (32, False), "int64_t": (64, True), "uint64_t": (64, False),
}


class Loop:
    """One function with one loop."""

    def __init__(self, r, name):
        self.r, self.name = r, name
        # What is left of one wait does not tell the polls that came before it: never raised.
        self.nested = 0
        self.text = self.write()

    def write(self):
        r = self.r
        kind = r.choice(list(TYPES))
        bits, signed = TYPES[kind]
        poll = r.choice(["CALL"] * 5 + ["FLAG"] * 2 + ["BOTH"] * 2 + ["WORD", "LOCK", "SWAP"])
        step = r.choice([1, 1, 1, 1, 2, 3, 7, 64])
        down = r.random() < 0.4
        # What may overflow in a signed type would be undefined: of int and longer, it starts near
        # zero and ends by a comparison that no step can miss.
        wide = signed and bits >= 32
        bound = r.choice(["a", "a", "b", str(r.choice([0, 1, 63, 64, 65, 99, 100, 129, 256, 1000, 4000, 16001, 16384, 65535, 100000]))])
        start = r.choice(["0", "0", "1", "5", "b", "-3"])
        relation = r.choice(["<", "<=", "!="]) if not down else r.choice([">", ">=", "!="])
        if down:
            start, bound = bound, start
        if wide and (relation == "!=" or "b" in (start, bound)):
            relation = ">" if down else "<"
            step = min(step, 7)
        if wide:
            start, bound = (f"(({kind})({e}) % 1000000)" for e in (start, bound))
        sign = "-" if down else "+"
        advance = f"c {sign}= {step}"
        second = r.choice(["", "", f"d += {r.choice([1, 3, 5])};", "d -= 2;", "d += (uint32_t)a;"])
        also = r.choice(["", "", "", f" && d != {r.choice([77, 1001, 30000])}u"])
        leave = r.choice(["break;", "break;", f"{{ see(c); return {r.randrange(9)}; }}", "goto out;"])
        pause = r.choice(["", "", "", "PAUSE;"])
        test = f"({kind})c {relation} ({kind})({bound}){also}"
        form = r.randrange(5)
        if form == 0:  # for: tests, then polls
            loop = f"for (; {test}; {advance}) {{ if ({poll}) {leave} {second} {pause} }}"
        elif form == 1:  # do while: polls, then tests
            loop = f"do {{ if ({poll}) {leave} {second} {pause} {advance}; }} while ({test});"
        elif form == 2:  # both in one condition, the poll first
            loop = f"while (!{poll} && ({test})) {{ {advance}; {second} {pause} }}"
        elif form == 3 and not wide:  # --n, to zero
            both = ["--c", f"!{poll}"]
            r.shuffle(both)
            loop = f"while ({both[0]} && {both[1]}) {{ {second} }}"
        else:  # a break in the middle
            loop = f"for (;;) {{ if ({poll}) {leave} {second} if (!({test})) break; {advance}; {pause} }}"
        around, after = "", ""
        if r.random() < 0.15:
            self.nested = 1
            around = f"for (int o = 0; o < 2; ++o) {{ see(o); if (o == 1) {{ c = ({kind})({start}); "
            after = "} }"
        return (f"uint64_t NAME({self.name})(int64_t a, int64_t b) {{\n"
                f"  {kind} c = ({kind})({start}); uint32_t d = (uint32_t)b;\n"
                f"  {around}{loop}{after}\n  goto out;\nout:\n  see((uint64_t)c); see(d);\n  return 11;\n}}\n")


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **options)
    return done.returncode, done.stdout, done.stderr


def one_program(options, seed, count):
    r = random.Random(seed)
    folder = os.path.join(options.out, str(seed))
    os.makedirs(folder, exist_ok=True)
    made = [Loop(r, f"loop_{seed}_{n}") for n in range(count)]
    files = {
        "counters.h": HEADER,
        "loops.c": PRELUDE + "#define PAUSE __builtin_ia32_pause()\n".replace(
            "__builtin_ia32_pause()", "__builtin_ia32_pause()" if os.uname().machine == "x86_64" else "((void)0)")
        + "\n".join(l.text for l in made),
        "loops.inc": "".join(f"LOOP({l.name})\n" for l in made),
        "main.c": MAIN,
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    nested = ",".join(str(l.nested) for l in made)
    values = [0, 1, 2, 64, 65, 130, 1000, 4001, 70000, 150000, -1, -200, 2**31 - 5, -2**31 + 9, 2**32 - 100]
    arguments = ",".join(f"{{{r.choice(values)}, {r.choice(values)}}}" for _ in range(6)) + ",{5000, 3},{99999, 0}"
    include = ["-I", folder, "-I", options.include]
    level = f"-O{options.O}"
    for command in (
        [options.clang, "-w", "-O1", "-fno-strict-overflow", "-DREFERENCE", "-c", "loops.c", "-o", "reference.o"],
        [options.clang, "-w", level, f"-fpass-plugin={options.plugin}", "-c", "loops.c", "-o", "rewritten.o"],
        [options.clang, "-w", "-O1", f"-DSEED={seed}", f"-DARGUMENTS={arguments}",
         f"-DNESTED(i)=((const char[]){{{nested}}})[i]", *options.define, "-c", "main.c", "-o", "main.o"],
        [options.clang, "reference.o", "rewritten.o", "main.o", "-o", "loops"],
    ):
        status, _, errors = run(command + (include if "-c" in command else []), cwd=folder)
        if status:
            sys.exit(f"seed {seed}: {' '.join(command)}: {errors.strip()}")
    status, said, errors = run([os.path.join(folder, "loops")])
    if status not in (0, 1) or not said:
        sys.exit(f"seed {seed}: ended with status {status}: {errors.strip()}")
    if errors:
        print(f"seed {seed}, in {folder}:\n{errors.strip()}")
    return [int(n) for n in said.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clang", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--loops", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("-O", default="2")
    parser.add_argument("--define", action="append", default=[])
    options = parser.parse_args()
    for name in ("plugin", "include", "out"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    options.define = [f"-D{d}" for d in options.define]
    total = [0, 0, 0, 0]
    while total[0] < options.loops:
        count = min(LOOPS_A_PROGRAM, options.loops - total[0])
        for i, n in enumerate(one_program(options, options.first, count)):
            total[i] += n
        options.first += 1
    loops, waited, compared, wrong = total
    print(f"{loops} loops, {waited} of them waited, {compared} runs, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
