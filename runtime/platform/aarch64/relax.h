/*===- platform/aarch64/relax.h - One spin-wait hint ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Uses ISB and not YIELD. YIELD is a no-op on most cores, so a loop of YIELD
 * polls the cache line at full speed; ISB drains the pipeline, which takes
 * about 10 to 40 ns. (Rust's spin_loop and MySQL made the same choice after
 * measurements.) WFE is not used: it sleeps until the next tick of the event
 * stream, up to 100 us, unless an exclusive monitor is armed on the polled
 * line, which the caller's plain load does not do.
 *
 * A test assembles this code and checks its encoding
 * (test/spin-loops/runtime/relax.test); this project has never executed it.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) { __asm__ volatile("isb" ::: "memory"); }

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
