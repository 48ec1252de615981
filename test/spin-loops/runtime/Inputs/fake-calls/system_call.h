/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Stands in for runtime/platform/PROCESSOR/system_call.h: time passes only where a test
 * says so, and every system call is written down. */

#ifndef VFRIENDLY_PLATFORM_SYSTEM_CALL_H
#define VFRIENDLY_PLATFORM_SYSTEM_CALL_H

enum call {
  VF_CLOCK_GETTIME,
  VF_GETITIMER,
  VF_NANOSLEEP,
  VF_PRLIMIT64,
  VF_RT_SIGACTION,
  VF_RT_SIGPROCMASK,
  VF_SCHED_YIELD,
  VF_TIMER_GETTIME,
  VF_CALLS
};

long vf_system_call(long number, long a, long b, long c, long d);

#endif
