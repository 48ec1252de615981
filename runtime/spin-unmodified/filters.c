/*===- spin-unmodified/filters.c - Programs that filter system calls ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A filter of seccomp may end the process at a call that the library makes, in
 * its watcher or in the handler of a filtered thread. So the library ends
 * before a filter is installed: by prctl (common/sandbox.c), or by syscall, as
 * programs with all capabilities may do.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "common/sandbox.h"
#include "spin-unmodified/arm.h"
#include "spin-unmodified/next.h"
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>

static const char reason[] = "the program filters system calls";

void vf_before_sandbox(void) { vf_arm_stop(reason); }

VF_API long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long),
       d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (number == SYS_seccomp &&
      (a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT))
    vf_arm_stop(reason);
  return vf_spin_next()->syscall(number, a, b, c, d, e, f);
}
