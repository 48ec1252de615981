/*===- malloc/alone.c - Calls that need a process with one thread ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The kernel refuses some namespaces to a process with several threads, and a
 * filter of system calls would end the process when the helper makes a call.
 * So the helper ends before.
 *===----------------------------------------------------------------------===*/

#include "common/process_wide.h"
#include "common/sandbox.h"
#include "malloc/helper.h"
#include "platform/linux/kernel.h"
#include <dlfcn.h>
#include <errno.h>

/* Of a thread that was joined, the kernel may still have to take the number off
 * the process: tries, and the pause between them. */
#define TRIES 50
#define PAUSE_NS 100000

void vf_before_sandbox(void) { vf_helper_stop(); }

typedef int enters(int, int);

/* Calls libc's function without a helper. */
static int alone(const char *name, int first, int second) {
  bool stopped = vf_helper_stop();
  enters *next = (enters *)dlsym(RTLD_NEXT, name);
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  int result = next(first, second);
  for (int i = 0; stopped && i != TRIES && result != 0 && errno == EINVAL;
       ++i) {
    vf_sleep_ns(PAUSE_NS);
    result = next(first, second);
  }
  return result;
}

VF_API int unshare(int what);
VF_API int unshare(int what) { return alone("unshare", what, 0); }

VF_API int setns(int file, int what);
VF_API int setns(int file, int what) { return alone("setns", file, what); }
