/*===- common/sandbox.c - Filters of system calls --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Replaces prctl. A process without the capability CAP_SYS_ADMIN calls it
 * before it can install a filter, and libseccomp in any process; one that calls
 * seccomp by syscall() as root, and never prctl, is not noticed.
 *===----------------------------------------------------------------------===*/

#include "common/sandbox.h"
#include "common/process_wide.h"
#include "platform/linux/kernel.h"
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

uint32_t vf_sandbox;

/* The optional calls of other threads take some us. The wait for them is
 * limited, as they may be those of a thread that a signal handler interrupted.
 */
#define WAITS 1000
#define WAIT_NS 100000

/* prctl as the processor's calling convention has it: its further arguments are
 * long, and those that a caller left out are not read by the kernel. */
typedef int control(int, unsigned long, unsigned long, unsigned long,
                    unsigned long);
VF_API control vf_own_prctl __asm__("prctl");

/* The process that counts, and what a child of a fork inherited of its parent's
 * count: of threads that the child does not have, and perhaps of a call that
 * a signal handler interrupted to fork. */
static pid_t process;
static uint32_t inherited;

void vf_sandbox_forked(void) {
  process = getpid();
  inherited = __atomic_load_n(&vf_sandbox, __ATOMIC_RELAXED) & ~VF_SANDBOXED;
}

static void begin(void) {
  uint32_t count =
      __atomic_fetch_or(&vf_sandbox, VF_SANDBOXED, __ATOMIC_RELAXED);
  if (count & VF_SANDBOXED)
    return;
  /* Another number: a child of a fork without handlers (_Fork, the system
   * call), or of vfork. The threads of either parent go on without its filter.
   */
  uint32_t others = getpid() == process ? inherited : count;
  for (int i = 0; i != WAITS && count > others; ++i) {
    vf_sleep_ns(WAIT_NS);
    count = __atomic_load_n(&vf_sandbox, __ATOMIC_RELAXED) & ~VF_SANDBOXED;
  }
  if (vf_before_sandbox)
    vf_before_sandbox();
}

static control *next;

/* Not at the first call, which may be that of a child of a fork, in which the
 * loader's lock may be held for ever. */
__attribute__((constructor)) static void find(void) {
  next = (control *)dlsym(RTLD_NEXT, "prctl");
  process = getpid();
}

int vf_own_prctl(int what, unsigned long a, unsigned long b, unsigned long c,
                 unsigned long d) {
  if (what == PR_SET_NO_NEW_PRIVS || what == PR_SET_SECCOMP)
    begin();
  return next ? next(what, a, b, c, d)
              : (int)syscall(SYS_prctl, what, a, b, c, d);
}
