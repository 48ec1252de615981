// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait spins for about as long as blocking would take here: learnt from the wake-ups
// that did not wait for a CPU, unless the environment says how long.
//
// RUN: clang -std=gnu11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/spin-wait/*.c %vf_src/runtime/common/*.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t
// RUN: env VF_SPIN_BUDGET_NS=1234 %t 1234
// RUN: env VF_SPIN_BUDGET_NS=0 %t 0
// RUN: env VF_SPIN_BUDGET_NS=now %t 2>&1 | count 1

#include "check.h"
#include "spin-wait/tuning.h"
#include <stdbool.h>

static bool is_about(uint32_t ns) {
  uint32_t budget = vf_spin_budget_ns();
  return budget > ns - ns / 4 && budget < ns + ns / 4;
}

static void wake(uint64_t quick, uint64_t slow, int each) {
  for (int i = 0; i < 2000; ++i)
    vf_wake_took(i % each == 0 ? quick : slow);
}

int main(int argc, char **argv) {
  if (argc == 2) {
    wake(100000, 100000, 1);
    CHECK(vf_spin_budget_ns() == (uint32_t)atoi(argv[1]));
    return 0;
  }
  CHECK(vf_spin_budget_ns() == VF_BUDGET_DEFAULT_NS);
  vf_wake_took(UINT64_MAX); // A clock that went back.
  CHECK(is_about(VF_BUDGET_DEFAULT_NS));
  wake(100000, 100000, 1);
  CHECK(is_about(100000 + VF_SLEEP_COSTS_NS));
  // Three of four waited for a time slice besides.
  wake(30000, 3000000, 4);
  CHECK(is_about(30000 + VF_SLEEP_COSTS_NS));
  wake(1, 1, 1);
  CHECK(vf_spin_budget_ns() == VF_WAKE_MIN_NS + VF_SLEEP_COSTS_NS);
  wake(3000000, 3000000, 1);
  CHECK(vf_spin_budget_ns() == VF_WAKE_MAX_NS + VF_SLEEP_COSTS_NS);
  return 0;
}
