/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stands in for runtime/platform/linux/kernel.h: time passes only where a test
 * says so, and every system call is written down. */

#ifndef VFRIENDLY_PLATFORM_KERNEL_H
#define VFRIENDLY_PLATFORM_KERNEL_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

struct vf_deadline {
  clockid_t clock;
  struct timespec at;
};
enum vf_scope { VF_PRIVATE, VF_ACROSS };

extern uint64_t fake_now, fake_yield_ns, fake_clock_ns, fake_slept;
extern uint64_t fake_yields, fake_sleeps, fake_blocks, fake_wakes;
extern int fake_futex_result;
extern uint32_t fake_sleepers;

static inline uint64_t vf_now_ns(void) { return fake_now += fake_clock_ns; }

static inline uint32_t vf_cpus(void) { return 2; }

/* The CPU time that this process's other threads get during each yield. */
extern uint64_t fake_used, fake_used_by_yield;
static inline uint64_t vf_process_ns(void) { return fake_used; }

static inline uint32_t vf_self(void) { return 1; }

static inline void vf_yield(void) {
  fake_yields++;
  fake_used += fake_used_by_yield;
  fake_now += fake_yield_ns;
}

static inline void vf_sleep_ns(uint64_t ns) {
  fake_sleeps++;
  fake_slept = ns;
  fake_now += ns + 72000;
}

/* A word that a thread changes during each such sleep, without a notify; null if
 * none does. */
extern uint32_t *fake_stored;

static inline int vf_futex_wait(uint32_t *word, uint32_t value, uint64_t ns) {
  if (*word != value)
    return EAGAIN;
  fake_blocks++;
  fake_slept = ns;
  if (fake_stored)
    ++*fake_stored;
  fake_now += fake_futex_result == ETIMEDOUT ? ns : 30000;
  return fake_futex_result;
}

static inline uint32_t vf_futex_wake_all(uint32_t *word) {
  (void)word;
  fake_wakes++;
  return fake_sleepers;
}

#endif
