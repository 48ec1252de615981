/*===- alone/spin-wait/limit.h - Limits of CPU time without libvfrt -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Takes the place of the runtime's spin-wait/limit.h: a rewritten object file
 * reads no files, so it knows no limit.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_LIMIT_H
#define VFRIENDLY_SPIN_WAIT_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

static inline void vf_limit_look(uint64_t now) { (void)now; }
static inline bool vf_limit_is_near(void) { return false; }
static inline bool vf_limit_counts(uint64_t began) {
  return (void)began, false;
}
static inline uint64_t vf_limit_budget(uint64_t budget, uint64_t began) {
  return (void)began, budget;
}

#endif /* VFRIENDLY_SPIN_WAIT_LIMIT_H */
