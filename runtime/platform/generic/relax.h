/*===- platform/generic/relax.h - One spin-wait hint ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * No hint is known for this processor: the function only keeps the compiler
 * from merging pauses. The back-off is limited by time, not by a count, so an
 * empty pause is still correct.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) { __asm__ volatile("" ::: "memory"); }

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
