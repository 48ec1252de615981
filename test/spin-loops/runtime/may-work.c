// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that may do more than wait: two threads on one CPU hand a turn over by them, and one works in each
// iteration. The loops yield, a step of the runtime never skips a poll, and after each step there are several.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: env VF_STATS=1 %t turns 2>&1 | FileCheck %s
// RUN: env VF_STATS=1 %t work 2>&1 | FileCheck %s
// CHECK: "yields": {{[0-9][0-9]+}}

#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <vfriendly/spin_wait.h>

enum { TURNS = 1000 };

static atomic_int turn;

static void await(int wanted, int limit) {
  static uint32_t cost;
  uint64_t state = 0, polls = VF_SPIN_POLLS_UNCALLED;
  for (int i = 0; i != limit && atomic_load(&turn) != wanted; i++) {
    if (limit > 0) /* work of 100 us */
      for (double end = seconds() + 1e-4; seconds() < end;)
        ;
    if (--polls != 0)
      continue;
    struct vf_spin_bounded next = vf_spin_wait_bounded(
        NULL, 0, state, VF_SPIN_MAY_WORK, UINT64_MAX, &cost);
    CHECK(next.skip == 0);
    state = next.state;
    polls = (state & VF_SPIN_POLLS_MASK) + 1;
    CHECK(polls > 1);
  }
}

static void *odd(void *unused) {
  for (int i = 0; i != TURNS; i++) {
    await(2 * i + 1, -1);
    atomic_store(&turn, 2 * i + 2);
  }
  return unused;
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  if (!strcmp(argv[1], "work")) {
    await(1, 500);
    return 0;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, odd, NULL) == 0);
  for (int i = 0; i != TURNS; i++) {
    await(2 * i, -1);
    atomic_store(&turn, 2 * i + 1);
  }
  CHECK(pthread_join(other, NULL) == 0);
  return 0;
}
