// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Needs _GNU_SOURCE.

#pragma once

#include <sched.h>
#include <stdlib.h>

// Binds the calling thread to a CPU. Aborts where that is impossible.
static inline void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    abort();
}
