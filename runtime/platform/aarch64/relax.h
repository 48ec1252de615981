/*===- platform/aarch64/relax.h - One spin-wait hint ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * ISB, not YIELD: YIELD is a no-op on most cores, so a "pause" of it hammers
 * the line; ISB drains the pipeline, some 10-40 ns. (Rust's spin_loop and MySQL
 * made the same choice after measuring it.) WFE is not used: without an
 * exclusive monitor armed on the polled line, which the caller's own load does
 * not do, it sleeps until the next event-stream tick, up to 100 us.
 *
 * Assembled and its encoding checked by test/spin-loops/runtime/relax.test;
 * never run by this project.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) { __asm__ volatile("isb" ::: "memory"); }

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
