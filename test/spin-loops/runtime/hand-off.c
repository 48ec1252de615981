// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads hand a payload of plain memory on in a circle: nobody may see an
// old one, and nobody may be left waiting. More threads than CPUs, every kind of
// wait, and once more under the sanitizers with the runtime's sources.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t %if full %{20000%} %else %{4000%}
// RUN: env VF_SPIN_BUDGET_NS=0 %t 1000
//
// RUN: clang -std=gnu11 -O1 -g -fsanitize=thread -I %S/../../Inputs -I %vf_include \
// RUN:   -I %vf_src/runtime -I %vf_src/runtime/platform/generic \
// RUN:   %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t.tsan
// RUN: %t.tsan 1000
// RUN: env VF_SPIN_BUDGET_NS=0 %t.tsan 300
//
// RUN: clang -std=gnu11 -O1 -g -fsanitize=address,undefined \
// RUN:   -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include \
// RUN:   -I %vf_src/runtime -I %vf_src/runtime/platform/generic \
// RUN:   %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t.asan
// RUN: %t.asan 1000
// RUN: env VF_SPIN_BUDGET_NS=0 %t.asan 300

#include "check.h"
#include <pthread.h>

enum { THREADS = 4 };

static uint32_t turn;
static uint32_t payload[16];
static uint32_t rounds;
static uint32_t how;

static void *run(void *arg) {
  uint32_t self = (uint32_t)(uintptr_t)arg;
  for (uint32_t r = 0; r < rounds; ++r) {
    uint64_t state = 0;
    uint32_t seen, mine = r * THREADS + self;
    while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != mine)
      state = vf_spin_wait(&turn, seen, state, how);
    for (int i = 0; i < 16; ++i)
      CHECK(payload[i]++ == mine);
    set_flag(&turn, mine + 1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  static const uint32_t kinds[] = {4 | VF_SPIN_NOTIFIED, VF_SPIN_NOTIFIED, 4,
                                   VF_SPIN_NO_SLEEP};
  rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
  for (int k = 0; k < 4; ++k) {
    turn = 0;
    for (int i = 0; i < 16; ++i)
      payload[i] = 0;
    how = kinds[k];
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; ++i)
      CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; ++i)
      pthread_join(threads[i], NULL);
    CHECK(turn == rounds * THREADS);
  }
}
