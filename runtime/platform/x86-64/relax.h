/*===- platform/x86-64/relax.h - One spin-wait hint -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * PAUSE takes 24 ns on the Zen 5 on which this was tuned, 40 to 60 ns on Intel
 * processors since Skylake, and a few ns on earlier ones. Pause-loop exiting
 * (PLE) in the hypervisor counts these instructions.
 *
 * TPAUSE and UMWAIT (WAITPKG) and MWAITX are not used. The spin phase polls
 * every half microsecond for at most 50 us, so a deeper wait could only save
 * power; hypervisors rarely let a guest execute these instructions without an
 * exit; and the development machine has none of them, so nothing could be
 * measured.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_RELAX_H
#define VFRIENDLY_PLATFORM_RELAX_H

static inline void vf_relax(void) { __asm__ volatile("pause" ::: "memory"); }

#endif /* VFRIENDLY_PLATFORM_RELAX_H */
