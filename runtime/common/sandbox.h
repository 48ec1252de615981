/*===- common/sandbox.h - Filters of system calls --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process that will filter its system calls (seccomp) must be able to list
 * those that it makes, and its author does not know this library. So a
 * preloaded library makes only calls that its work cannot do without, once the
 * process has called prctl to install a filter or to be allowed to. All others
 * are optional:
 *
 *   if (vf_begin_optional()) {
 *     ... system calls ...
 *     vf_end_optional();
 *   }
 *
 * Of a filter that another program installed before this one began, the library
 * does not know.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_SANDBOX_H
#define VFRIENDLY_COMMON_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/* VF_SANDBOXED, and the number of threads in optional calls: in one word, so
 * that it has one order of changes. */
#define VF_SANDBOXED ((uint32_t)1 << 31)
extern uint32_t vf_sandbox;

/* Returns false if system calls may be filtered: the caller must do without its
 * optional ones. May be nested. */
static inline bool vf_begin_optional(void) {
  if (!(__atomic_add_fetch(&vf_sandbox, 1, __ATOMIC_RELAXED) & VF_SANDBOXED))
    return true;
  __atomic_fetch_sub(&vf_sandbox, 1, __ATOMIC_RELAXED);
  return false;
}

static inline void vf_end_optional(void) {
  __atomic_fetch_sub(&vf_sandbox, 1, __ATOMIC_RELAXED);
}

/* To be called in a child of a fork, which has one thread. */
void vf_sandbox_forked(void);

/* Called when no thread makes optional calls any more, before there is a
 * filter. A library may define it. */
void vf_before_sandbox(void) __attribute__((weak));

#endif /* VFRIENDLY_COMMON_SANDBOX_H */
