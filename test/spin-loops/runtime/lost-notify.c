// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Missing notifies cost time, never progress: eight threads in a barrier, some
// iterations long enough for all to block. A hang ends in lit's time-out.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: env VF_STATS=1 VF_SPIN_NOTIFY=off %t 2> %t.off
// RUN: FileCheck --check-prefix=OFF %s < %t.off
// OFF: "timeouts": {{[1-9]}}
// OFF-SAME: "wakes": 0, "notifies": 0
//
// The same program with notifies: they wake somebody.
//
// RUN: env VF_STATS=1 %t 2> %t.on
// RUN: FileCheck --check-prefix=ON %s < %t.on
// ON: "wakes": {{[1-9]}}

#include "check.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 300 };

static uint32_t arrived, round_done, passed;

static void *run(void *arg) {
  for (uint32_t r = 0; r < ROUNDS; ++r) {
    if (arg == NULL && r % 50 == 0)
      sleep_ms(20);
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == THREADS) {
      arrived = 0;
      set_flag(&round_done, r + 1);
    } else {
      wait_while(&round_done, r, (r & 1 ? 0 : 4) | VF_SPIN_NOTIFIED);
    }
    __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  double begin = seconds();
  for (uintptr_t i = 0; i < THREADS; ++i)
    CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  CHECK(passed == THREADS * ROUNDS);
  CHECK(seconds() - begin < 60);
}
