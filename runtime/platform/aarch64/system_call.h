/*===- platform/aarch64/system_call.h - System calls ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_SYSTEM_CALL_H
#define VFRIENDLY_PLATFORM_SYSTEM_CALL_H

enum {
  VF_CLOCK_GETTIME = 113,
  VF_GETITIMER = 102,
  VF_NANOSLEEP = 101,
  VF_PRLIMIT64 = 261,
  VF_RT_SIGACTION = 134,
  VF_RT_SIGPROCMASK = 135,
  VF_SCHED_YIELD = 124,
  VF_TIMER_GETTIME = 108,
};

/* Returns the result of the kernel: -4095 to -1 are negated errno values. */
static inline long vf_system_call(long number, long a, long b, long c, long d) {
  register long call __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  __asm__ volatile("svc #0"
                   : "+r"(first)
                   : "r"(call), "r"(second), "r"(third), "r"(fourth)
                   : "memory", "cc");
  return first;
}

#endif /* VFRIENDLY_PLATFORM_SYSTEM_CALL_H */
