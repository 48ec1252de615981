/*===- spin-wait/alone/generic.c - Waits without libvfrt, on any processor ===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * This file makes no system calls: a wait calls the C library's sched_yield
 * until it ends, and a bounded wait spins as written. In a program without that
 * function all waits spin as written.
 *===----------------------------------------------------------------------===*/

#include "spin-wait/alone/alone.h"

/* Never fails on Linux, so it leaves errno alone. */
extern int sched_yield(void) __attribute__((weak));

uint64_t vf_spin_alone(uint64_t state, uint64_t how) {
  if (how & VF_SPIN_AWAKE)
    return state + 1;
  if (state >= 2 * VF_SPIN_POLLS_UNCALLED && sched_yield)
    sched_yield();
  return state + 1;
}

uint64_t vf_spin_alone_bounded(uint64_t state, uint64_t how, uint64_t left,
                               uint32_t *cost, uint64_t *skip) {
  (void)state, (void)how, (void)left, (void)cost;
  *skip = 0;
  return VF_SPIN_POLLS_MASK;
}
