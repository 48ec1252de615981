// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded spins count the same before and after their fix. The runtime's part
// is played by a function that skips what it likes, more than is left included,
// and raises the flag at a call. At each call, what the loop says is left is
// compared with the polls made and skipped so far; at the end, the counter with
// what it is after so many polls.
//
// RUN: clang -std=gnu11 -O2 -I %vf_include %s -o %t.before %vf_link
// RUN: %t.before | FileCheck %s
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11 -I %vf_include > %t.out
// RUN: grep -c '[+-]= vf_spin_budget(' %t.c | FileCheck %s --check-prefix=FIXED
// RUN: clang -std=gnu11 -O2 -DIS_FIXED -I %vf_include %t.c -o %t.after %vf_link
// RUN: %t.after | FileCheck %s
// RUN: clang -std=gnu11 -O1 -fsanitize=undefined -fno-sanitize-recover=undefined -DIS_FIXED -I %vf_include %t.c -o %t.checked %vf_link
// RUN: %t.checked | FileCheck %s
//
// FIXED: {{^}}15{{$}}
// CHECK: 15 loops, 0 wrong

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vfriendly/spin_wait.h>

enum { Bound = 20000, Runs = 400 };
#define BOUND (Bound + 1)
static _Atomic int ready;
static volatile int flag;

static uint64_t random_state = 1;
static uint64_t draw(uint64_t below) {
  random_state =
      random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random_state >> 33) % below;
}

/* Of the running loop: how often it polls if nobody comes, and whether its last
 * poll is made with a count that has ended. */
static uint64_t total, last;
static uint64_t calls, raise_at, polls, polls_then;
static int wrong;

struct vf_spin_bounded vf_spin_wait_bounded(const volatile void *addr,
                                            uint64_t observed, uint64_t state,
                                            uint32_t how, uint64_t left,
                                            uint32_t *cost) {
  polls += state == 0 ? VF_SPIN_POLLS_UNCALLED
                      : (state & VF_SPIN_POLLS_MASK) + 1;
  wrong += left == 0 || left != total - last - polls;
  uint64_t choices[] = {0, 1, 7, left, left - 1, left + 5, UINT64_MAX,
                        draw(left + 1)};
  uint64_t skip = choices[draw(sizeof choices / sizeof *choices)];
  if (skip > left / 4 && draw(4) != 0)
    skip = left / 4;
  polls += skip < left ? skip : left;
  if (++calls == raise_at) {
    polls_then = polls;
    flag = 1;
    ready = 1;
  }
  (void)addr, (void)observed, (void)how, (void)cost;
  return (struct vf_spin_bounded){(VF_SPIN_POLLS_MASK + 1) | draw(200), skip};
}

static inline int is_ready(void) {
  int seen = 0;
  do {
    seen = ready;
  } while (0);
  return seen;
}

/* Each returns its counter. */
static int64_t up(void) {
  int i;
  for (i = 0; i < Bound; i++)
    if (ready)
      break;
  return i;
}
static int64_t up_named(void) {
  int i;
  for (i = 0; BOUND > i; ++i) {
    if (atomic_load(&ready)) { break; }
  }
  return i;
}
static int64_t up_to(void) {
  long i, most = Bound;
  for (i = 1; i <= most && !ready; ++i);
  return i;
}
static int64_t up_unequal(void) {
  int i;
  for (i = 0; i != Bound; i += 1) { if (is_ready()) break; }
  return i;
}
static int64_t up_before(void) {
  int n = 0;
  while (!ready && ++n < Bound)
    ;
  return n;
}
static int64_t up_after(void) {
  unsigned n = 0;
  while (n++ < Bound && !ready) {}
  return n;
}
static int64_t up_after_poll(void) {
  unsigned n = 0, most = Bound;
  while (!ready && n++ <= most)
    ;
  return n;
}
static int64_t down(void) {
  int i;
  for (i = Bound; i > 0; i--)
    if (ready)
      break;
  return i;
}
static int64_t down_to_zero(void) {
  for (int i = Bound; i >= 0; i--)
    if (flag)
      return i;
  return -1;
}
static int64_t down_short(void) {
  unsigned short n = total;
  for (; n && !ready; --n)
    ;
  return n;
}
static int64_t down_before(void) {
  unsigned n = Bound;
  while (!ready && --n)
    ;
  return n;
}
static int64_t down_after(void) {
  unsigned n = Bound;
  while (n-- && !ready)
    ;
  return (int)n;
}
static int64_t down_after_poll(void) {
  uint64_t n = Bound;
  while (!ready && n-- >= 5) ;
  return n;
}
static int64_t down_long(void) {
  long n = Bound;
  for (; !ready && n-- > 7;)
    ;
  return n;
}
static int64_t down_limit(void) {
  unsigned limit = 9, n;
  for (n = Bound; n > limit; n -= 1)
    if (ready)
      return n;
  return n;
}

/* After P polls the counter is From + Step * P. */
static const struct {
  int64_t (*run)(void);
  int64_t from, step;
  uint64_t total, last;
} loops[] = {
    {up, 0, 1, Bound, 0},
    {up_named, 0, 1, BOUND, 0},
    {up_to, 1, 1, Bound, 0},
    {up_unequal, 0, 1, Bound, 0},
    {up_before, 0, 1, Bound, 1},
    {up_after, 1, 1, Bound, 0},
    {up_after_poll, 0, 1, Bound + 2, 1},
    {down, Bound, -1, Bound, 0},
    {down_to_zero, Bound, -1, Bound + 1, 0},
    {down_short, Bound, -1, Bound, 0},
    {down_before, Bound, -1, Bound, 1},
    {down_after, Bound - 1, -1, Bound, 0},
    {down_after_poll, Bound, -1, Bound - 3, 1},
    {down_long, Bound, -1, Bound - 6, 1},
    {down_limit, Bound, -1, Bound - 9, 0},
};

int main(void) {
  int count = sizeof loops / sizeof *loops;
  for (int l = 0; l != count; ++l) {
    uint64_t all_calls = 0;
    total = loops[l].total;
    last = loops[l].last;
    for (int run = 0; run != Runs; ++run) {
      flag = 0;
      ready = 0;
      calls = polls = 0;
      polls_then = total;
      raise_at = 1 + draw(12);
      int64_t counter = loops[l].run();
      wrong += counter != loops[l].from + loops[l].step * (int64_t)polls_then;
      all_calls += calls;
    }
#ifdef IS_FIXED
    wrong += all_calls < Runs;
#endif
  }
  printf("%d loops, %d wrong\n", count, wrong);
  return 0;
}
