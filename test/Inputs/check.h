/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the runtime's tests share. CHECK prints what failed and ends the test. */

#ifndef VF_TEST_CHECK_H
#define VF_TEST_CHECK_H

#include "vfriendly/spin_wait.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      abort();                                                                 \
    }                                                                          \
  } while (0)

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* What the pass makes of: while (*flag == old); */
static inline void wait_while(uint32_t *flag, uint32_t old, uint32_t how) {
  uint64_t state = 0;
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == old)
    state = vf_spin_wait(flag, old, state, how);
}

/* What the pass makes of: *flag = value; */
static inline void set_flag(uint32_t *flag, uint32_t value) {
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
  vf_spin_notify_if_waiting(flag);
}

#endif
