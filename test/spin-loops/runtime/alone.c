// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What rewritten code does in a program without libvfrt, on a fake kernel: which step a
// wait takes when, and that a bounded wait keeps its limit.
//
// RUN: clang -std=gnu11 -O1 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/Inputs/fake-calls -I %S/../../Inputs -I %vf_src/runtime/spin-wait/alone -I %vf_src/runtime -I %vf_src/runtime/platform/generic -I %vf_include %s %vf_src/runtime/spin-wait/alone/linux.c -o %t
// RUN: %t
//
// On other processors: no system calls, and so no clock.
// RUN: clang -std=gnu11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_src/runtime -I %vf_include -DGENERIC %s %vf_src/runtime/spin-wait/alone/generic.c -o %t.generic
// RUN: %t.generic

#include "check.h"
#include "spin-wait/alone/alone.h"
#include <string.h>

#ifdef GENERIC

static int yields;
int sched_yield(void) { return ++yields, 0; }

int main(void) {
  uint64_t state = VF_SPIN_POLLS_UNCALLED, skip = 1;
  for (int i = 0; i < 64; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(yields == 0 && state > VF_SPIN_POLLS_UNCALLED);
  for (int i = 0; i < 10000; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(yields == 10000);
  /* There is no clock, so no time to subtract. */
  CHECK(vf_spin_alone_bounded(0, 4, 1000, NULL, &skip) == VF_SPIN_POLLS_MASK);
  CHECK(skip == 0 && yields == 10000);
  return 0;
}

#else
#include "system_call.h"

static uint64_t now, yield_ns, clock_ns, calls[VF_CALLS];
static bool timer_runs;

long vf_system_call(long number, long a, long b, long c, long d) {
  (void)c, (void)d;
  CHECK(number >= 0 && number < VF_CALLS);
  ++calls[number];
  switch (number) {
  case VF_CLOCK_GETTIME:
    CHECK(a == 1);
    now += clock_ns;
    ((long *)b)[0] = (long)(now / 1000000000u);
    ((long *)b)[1] = (long)(now % 1000000000u);
    return 0;
  case VF_SCHED_YIELD:
    now += yield_ns;
    return 0;
  case VF_NANOSLEEP:
    now += (uint64_t)((long *)a)[1];
    return 0;
  case VF_GETITIMER:
    memset((void *)b, 0, 32);
    ((long *)b)[3] = a == 2 && timer_runs;
    return 0;
  }
  return -22;
}

static void reset(void) {
  memset(calls, 0, sizeof calls);
  yield_ns = 440, clock_ns = 100;
  timer_runs = false;
  now += 20000000; /* so that the timers are asked again */
}

static void a_wait_pauses_yields_and_sleeps(void) {
  reset();
  uint64_t state = VF_SPIN_POLLS_UNCALLED;
  for (int i = 0; i < 63; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(calls[VF_SCHED_YIELD] == 0);
  for (int i = 0; i < 4096; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(calls[VF_SCHED_YIELD] == 4096 && calls[VF_NANOSLEEP] == 0);
  state = vf_spin_alone(state, 4);
  CHECK(calls[VF_SCHED_YIELD] == 4096 && calls[VF_NANOSLEEP] == 1);
  state = vf_spin_alone(state, 4 | VF_SPIN_NO_SLEEP);
  CHECK(calls[VF_SCHED_YIELD] == 4097 && calls[VF_NANOSLEEP] == 1);
}

static void cpu_time_that_counts_is_used(void) {
  reset();
  timer_runs = true;
  uint64_t state = VF_SPIN_POLLS_UNCALLED;
  for (int i = 0; i < 1000000; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(calls[VF_SCHED_YIELD] == 0 && calls[VF_NANOSLEEP] == 0);
  timer_runs = false;
  for (int i = 0; i < 300000; ++i)
    state = vf_spin_alone(state, 4);
  CHECK(calls[VF_SCHED_YIELD] == 4096 - 1 && calls[VF_NANOSLEEP] > 0);
}

/* Waits for at most that many polls of poll_ns each; returns those made. */
static uint64_t wait_bounded(uint64_t polls, uint64_t poll_ns, uint32_t how, uint32_t *cost) {
  uint64_t state = 0, made = 0;
  for (uint64_t left = polls, until = VF_SPIN_POLLS_UNCALLED; left != 0;) {
    --left, ++made;
    now += poll_ns;
    if (--until != 0 || left == 0)
      continue;
    uint64_t skip = polls;
    state = vf_spin_alone_bounded(state, how, left, cost, &skip);
    CHECK(skip <= left);
    left -= skip;
    until = (state & VF_SPIN_POLLS_MASK) + 1;
  }
  return made;
}

static void bounded_waits_poll_where_nobody_wants_the_cpu(void) {
  reset();
  uint32_t cost = 0;
  uint64_t begin = now;
  uint64_t made = wait_bounded(1000000, 2, 4, &cost);
  /* Two milliseconds, with a yield for each budget of 50 us, less its time. */
  CHECK(made > 900000 && made <= 1000000);
  CHECK(calls[VF_SCHED_YIELD] > 20 && calls[VF_SCHED_YIELD] < 60);
  CHECK(now - begin > 1900000 && now - begin < 2300000);
  CHECK(calls[VF_NANOSLEEP] == 0);
}

static void bounded_waits_give_way_and_keep_their_limit(void) {
  reset();
  uint32_t cost = 0;
  wait_bounded(100000, 2, 4, &cost);
  calls[VF_SCHED_YIELD] = 0;
  yield_ns = 20000; /* Others run. */
  uint64_t begin = now, made = wait_bounded(1000000, 2, 4, &cost);
  CHECK(calls[VF_SCHED_YIELD] > 50);
  CHECK(made < 100000);
  CHECK(now - begin > 1500000 && now - begin < 2500000);
}

static void bounded_waits_use_cpu_time_that_counts(void) {
  reset();
  timer_runs = true;
  yield_ns = 20000;
  uint32_t cost = 0;
  CHECK(wait_bounded(1000000, 2, 4, &cost) == 1000000);
  CHECK(calls[VF_SCHED_YIELD] == 0);
}

int main(void) {
  a_wait_pauses_yields_and_sleeps();
  cpu_time_that_counts_is_used();
  bounded_waits_poll_where_nobody_wants_the_cpu();
  bounded_waits_give_way_and_keep_their_limit();
  bounded_waits_use_cpu_time_that_counts();
  return 0;
}
#endif
