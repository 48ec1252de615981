/*===- platform/x86-64/system_call.h - System calls -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_SYSTEM_CALL_H
#define VFRIENDLY_PLATFORM_SYSTEM_CALL_H

enum {
  VF_CLOCK_GETTIME = 228,
  VF_GETITIMER = 36,
  VF_NANOSLEEP = 35,
  VF_PRLIMIT64 = 302,
  VF_RT_SIGACTION = 13,
  VF_RT_SIGPROCMASK = 14,
  VF_SCHED_YIELD = 24,
  VF_TIMER_GETTIME = 224,
};

/* Returns the result of the kernel: -4095 to -1 are negated errno values. */
static inline long vf_system_call(long number, long a, long b, long c, long d) {
  long result;
  register long fourth __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                   : "rcx", "r11", "memory", "cc");
  return result;
}

#endif /* VFRIENDLY_PLATFORM_SYSTEM_CALL_H */
