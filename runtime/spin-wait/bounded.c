/*===- spin-wait/bounded.c - Waits that give up after a count -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "platform/linux/kernel.h"
#include "spin-wait/block.h"
#include "spin-wait/cpu_time.h"
#include "spin-wait/foreign.h"
#include "spin-wait/tuning.h"

#include "spin-wait/bounded_steps.h"

VF_API struct vf_spin_bounded vf_spin_wait_bounded(const volatile void *addr,
                                                   uint64_t observed,
                                                   uint64_t state, uint32_t how,
                                                   uint64_t left,
                                                   uint32_t *cost) {
  return vf_bounded_step(addr, observed, state, how, left, cost);
}
