/*===- spin-unmodified/trigger.h - A signal after a thread's CPU time -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   watcher: if (vf_trigger_start(thread, 100000) == 0) ...
 *   handler: if (vf_trigger_is_mine(thread, info))
 *              ... vf_trigger_again(thread, 200000);
 *   watcher: vf_trigger_stop(thread);
 *
 * The thread gets the signal once after it has computed for so long; then only
 * after vf_trigger_again. There are two means:
 *
 *   perf    an event of the thread's time in user mode. The signal never
 *           interrupts a system call.
 *   clock   a timer of the thread's CPU time, where the kernel forbids perf. It
 *           is served at the kernel's ticks, so it is used only if these are at
 *           most a millisecond apart; it may interrupt a system call, which
 *           SA_RESTART lets go on where that is possible.
 *
 * A watcher that sent signals itself would interrupt 2 % of all system calls;
 * and a breakpoint in the loop kills threads that block SIGTRAP.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_TRIGGER_H
#define VFRIENDLY_SPIN_UNMODIFIED_TRIGGER_H

#include "spin-unmodified/threads.h"
#include <signal.h>

enum vf_trigger_means { VF_TRIGGER_NONE, VF_TRIGGER_PERF, VF_TRIGGER_CLOCK };

/* Finds out which means there is, by trying it on the calling thread. */
enum vf_trigger_means vf_trigger_find(void);

/* Returns 0 or an errno value. pre: vf_trigger_find has found a means; the
 * caller owns the thread (threads.h). */
int vf_trigger_start(struct vf_thread *thread, uint64_t ns);

/* Sends the next signal after ns more. pre: called by the thread itself, in
 * HANDLING. Async-signal-safe. */
void vf_trigger_again(struct vf_thread *thread, uint64_t ns);

/* Sends no more. A signal that is pending is still delivered. */
void vf_trigger_stop(struct vf_thread *thread);

/* After a fork: releases the child's copy of a descriptor. */
void vf_trigger_forget(struct vf_thread *thread);

/* Returns true if the signal is of the thread's trigger, false if somebody else
 * has sent it. */
bool vf_trigger_is_mine(const struct vf_thread *thread, const siginfo_t *info);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_TRIGGER_H */
