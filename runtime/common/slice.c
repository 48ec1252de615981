/*===- common/slice.c - Longer time slices for holders --------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The interface is in the kernel's Documentation/userspace-api/rseq.rst.
 *
 * Who writes struct vf_rseq's control: this thread sets and clears request; the
 * kernel clears it and sets granted when it grants, and clears both when it
 * takes the CPU away. The kernel may end a process with SIGSEGV that makes a
 * system call with both set. So request is set only while the whole control is
 * 0, which a grant changes only while request is set.
 *
 * A signal handler may come between any two steps. It leaves request as it
 * found it: clear, or set. A grant that it gives back in place of the code that
 * it interrupted was due.
 *
 * There is no thread-local variable: each plug-in with a copy of the library
 * would take a part of the little space that the loader has for them.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "common/slice.h"
#include "common/environment.h"
#include "platform/linux/rseq.h"
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/prctl.h and linux/rseq.h of Linux 7.0; libc's headers are older. */
#define SET_SLICE_EXTENSION 79
#define SLICE_EXTENSION_SET 2ul
#define SLICE_EXTENSION_ENABLE 1ul
#define RSEQ_SLICE_YIELD 471 /* on all processors */
#define AVAILABLE (1u << 4)
#define ENABLED (1u << 5)
struct vf_rseq {
  uint32_t cpu_id_start, cpu_id;
  uint64_t rseq_cs;
  uint32_t flags, node_id, mm_cid;
  union {
    uint32_t all;
    struct {
      uint8_t request, granted;
      uint16_t reserved;
    };
  } control;
};
/* What every registered struct has: libc before 2.41 registers 32 bytes, to
 * which Linux 7.2 does not offer the feature. */
_Static_assert(sizeof(struct vf_rseq) == 32, "as the kernel has it");

ptrdiff_t vf_slice_at; /* Zero: there is no such feature. */

/* Whether threads may be enabled by a system call, and none was refused. */
static bool may_ask;

static bool ask(void) {
  return syscall(SYS_prctl, SET_SLICE_EXTENSION, SLICE_EXTENSION_SET,
                 SLICE_EXTENSION_ENABLE, 0, 0) == 0;
}

static void yield(void) { syscall(RSEQ_SLICE_YIELD); }

struct vf_slice_kernel vf_slice_kernel = {ask, yield};

/* For the kernel, which interrupts this thread: what it sees are the thread's
 * own steps in their order. */
static inline void keep_order(void) { __asm__ volatile("" ::: "memory"); }

static volatile struct vf_rseq *own(void) {
  return (volatile struct vf_rseq *)((char *)__builtin_thread_pointer() +
                                     vf_slice_at);
}

/* Not inline: once in each thread. */
static __attribute__((noinline)) bool enable(uint32_t flags) {
  if (!(flags & AVAILABLE) || !__atomic_load_n(&may_ask, __ATOMIC_RELAXED))
    return false;
  int saved = errno;
  bool enabled = vf_slice_kernel.enable();
  errno = saved;
  if (!enabled)
    __atomic_store_n(&may_ask, false, __ATOMIC_RELAXED);
  return enabled;
}

bool vf_slice_begin(void) {
  volatile struct vf_rseq *rseq = own();
  uint32_t flags = rseq->flags;
  if (rseq->control.all != 0 || (!(flags & ENABLED) && !enable(flags)))
    return false;
  rseq->control.request = 1;
  keep_order();
  return true;
}

void vf_slice_end(void) {
  volatile struct vf_rseq *rseq = own();
  keep_order();
  rseq->control.request = 0;
  if (__builtin_expect(rseq->control.granted != 0, 0)) {
    int saved = errno;
    vf_slice_kernel.yield();
    errno = saved;
  }
}

/* Whether a thread may make a system call that the program's author does not
 * know of can only the user say: a filter may end the process for it. */
void vf_slice_find(ptrdiff_t rseq_at) {
  vf_slice_at = rseq_at;
  if (rseq_at != 0 && !(own()->flags & AVAILABLE))
    vf_slice_at = 0;
  if (vf_slice_at != 0)
    may_ask = vf_env_choice("VF_SLICE", "off", "on", false);
}

__attribute__((constructor)) void vf_slice_prepare(void) {
  if (vf_slice_at == 0)
    vf_slice_find(vf_rseq_at());
}
