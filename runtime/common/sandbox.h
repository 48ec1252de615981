/*===- common/sandbox.h - Filters of system calls --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A process that will filter its system calls (seccomp) must be able to list
 * those that it makes, and its author does not know this library. So a
 * preloaded library makes only calls that its work cannot do without, once the
 * process has called prctl to install a filter or to be allowed to: for a
 * filter that another program installed before this one began, it must be
 * sparing from the start.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_COMMON_SANDBOX_H
#define VFRIENDLY_COMMON_SANDBOX_H

#include <stdbool.h>

extern int vf_sandboxed;

/* Returns true if system calls may be filtered. Never false again then. */
static inline bool vf_is_sandboxed(void) {
  return __builtin_expect(__atomic_load_n(&vf_sandboxed, __ATOMIC_RELAXED), 0);
}

/* Called when vf_is_sandboxed becomes true, before there is a filter. A library
 * may define it. */
void vf_before_sandbox(void) __attribute__((weak));

#endif /* VFRIENDLY_COMMON_SANDBOX_H */
