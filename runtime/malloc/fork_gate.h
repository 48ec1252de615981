/*===- malloc/fork_gate.h - No lock of jemalloc is held at a fork ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   vf_fork_gate_close();
 *   ... fork ...
 *   vf_fork_gate_open(is_child);
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_MALLOC_FORK_GATE_H
#define VFRIENDLY_MALLOC_FORK_GATE_H

#include "platform/linux/kernel.h"
#include "relax.h"
#include <stdbool.h>

/* Number of times that a thread which forks polls a lock of another before it
 * sleeps between polls, for about 60 us with the kernel's timer slack. Locks
 * are held for less than 1 us, except during system calls and by threads that
 * are preempted. */
#define VF_FORK_POLLS 200
#define VF_FORK_SLEEP_NS 10000

/* Called between two polls, the first time with polls == 0. */
static inline void vf_fork_wait(unsigned polls) {
  if (polls < VF_FORK_POLLS)
    vf_relax();
  else
    vf_sleep_ns(VF_FORK_SLEEP_NS);
}

/* Returns when no other thread holds a lock of jemalloc; none can take one
 * until vf_fork_gate_open. The calling thread can.
 *
 * pre: one thread at a time; no other function of this header is running. */
void vf_fork_gate_close(void);

/* Called by the thread that closed the gate, in the parent or in the child. */
void vf_fork_gate_open(bool is_child);

#endif /* VFRIENDLY_MALLOC_FORK_GATE_H */
