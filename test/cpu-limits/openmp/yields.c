// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sched_yield of libvfomp.so on a made-up clock: loops sleep beside threads that compute and near
// a limit, for at most half of the time waited; other calls yield.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-wait/limit.c %vf_src/runtime/spin-wait/shared.c %vf_src/runtime/common/environment.c %vf_src/runtime/common/report.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t
//
// And on the real one, beside a thread that computes on the same CPU.
// RUN: clang -std=gnu11 -O1 -pthread -DREAL -I %S/../../Inputs -I %vf_include %s -o %t.real
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 taskset -c 0 %t.real 2>&1 | FileCheck %s --check-prefix=SLEPT
// RUN: env LD_PRELOAD=%vf_lib/libvfomp.so VF_STATS=1 VF_OMP=off taskset -c 0 %t.real 2>&1 | FileCheck %s --check-prefix=OFF
// SLEPT: "yields_slept": {{[1-9]}}
// OFF: "yields_slept": 0

#include "check.h"

#ifdef REAL
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int ended;

static void *compute(void *unused) {
  for (double end = seconds() + 0.2; seconds() < end;)
    ;
  atomic_store(&ended, 1);
  return unused;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, compute, NULL) == 0);
  while (!atomic_load(&ended))
    CHECK(sched_yield() == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
#else
#include "platform/linux/kernel.h"

static uint64_t now = 1000000000, yield_takes, slept;
static unsigned yields, sleeps;

static uint64_t fake_now(void) { return now += 20; }
static void fake_yield(void) {
  now += yield_takes;
  yields++;
}
static void fake_sleep(uint64_t ns) {
  now += ns + 50000;
  slept += ns;
  sleeps++;
}
#define vf_now_ns fake_now
#define vf_yield fake_yield
#define vf_sleep_ns fake_sleep
#include "cpu-limits/yields.c"

void vf_omp_count(enum vf_omp_counter counter, uint64_t n) {
  (void)counter;
  (void)n;
}
static bool on = true;
bool vf_omp_is_on(void) { return on; }

/* A loop of calls that begins some time after the last one. */
static void loop(unsigned calls, uint64_t takes) {
  now += 1000000;
  yield_takes = takes;
  yields = sleeps = 0;
  slept = 0;
  for (unsigned i = 0; i < calls; i++)
    CHECK(sched_yield() == 0);
}

static void quick_yields_stay(void) {
  loop(10000, 400);
  CHECK(yields == 10000 && sleeps == 0);
}

static void slices_are_avoided(void) {
  loop(1, 3000000);
  CHECK(yields == 1 && sleeps == 0);
  /* Later loops pause at first, so short waits stay short. */
  loop(CALLS_BEFORE_SLEEP, 3000000);
  CHECK(yields == 0 && sleeps == 0);
  loop(CALLS_BEFORE_SLEEP + AVOIDED, 3000000);
  CHECK(yields == 0 && sleeps == AVOIDED);
  /* A trial that fails doubles the sleeps before the next one. */
  loop(1, 3000000);
  CHECK(yields == 1 && mine.avoid == 2 * AVOIDED);
  for (int i = 0; i < 20; i++)
    loop(CALLS_BEFORE_SLEEP + 1 + mine.avoid, 3000000);
  CHECK(mine.avoided == AVOIDED_MAX);
  /* One that succeeds ends them. */
  loop(CALLS_BEFORE_SLEEP + mine.avoid, 400);
  quick_yields_stay();
  CHECK(mine.avoid == 0 && mine.avoided == 0);
}

/* Calls between which something is done are no loop that waits. */
static void calls_after_work_do_not_sleep(void) {
  loop(1, 3000000);
  for (int i = 0; i < 1000; i++) {
    now += 2 * GAP_NS;
    sched_yield();
  }
  CHECK(sleeps == 0);
  mine.avoid = mine.avoided = 0;
}

static void limits_make_loops_sleep(void) {
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_OF);
  loop(CALLS_BEFORE_SLEEP, 400);
  CHECK(yields == CALLS_BEFORE_SLEEP && sleeps == 0);
  loop(CALLS_BEFORE_SLEEP + 1, 400);
  CHECK(sleeps == 1 && slept == SLEEP_MIN_NS);
  uint64_t begin = now;
  loop(CALLS_BEFORE_SLEEP + 50, 400);
  CHECK(sleeps == 50 && slept > 10 * SLEEP_MAX_NS && slept <= 50 * SLEEP_MAX_NS);
  CHECK(now - begin < 60 * SLEEP_MAX_NS);
  vf_set(&vf_limit_1.thrifty, 0);
  quick_yields_stay();
}

static void off_yields(void) {
  vf_set(&vf_limit_1.thrifty, VF_THRIFT_OF);
  on = false;
  loop(1000, 3000000);
  CHECK(yields == 1000 && sleeps == 0);
}

int main(void) {
  quick_yields_stay();
  slices_are_avoided();
  calls_after_work_do_not_sleep();
  limits_make_loops_sleep();
  off_yields();
  return 0;
}
#endif
