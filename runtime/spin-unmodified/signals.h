/*===- spin-unmodified/signals.h - Signals beside those of the program ----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The library handles a signal of its own, and faults of its guarded loads. The
 * program must not notice: what it sets by sigaction, signal, pthread_sigmask,
 * sigprocmask and sigaltstack is what it reads there again, and is what happens
 * to signals that are not the library's.
 *
 * The signal is one that does nothing by default, so that one which is pending
 * when the program executes another cannot end that, and no real-time signal:
 * if the queue of these is full, the kernel sends SIGIO in its place, which
 * ends the process.
 *
 * Two things show: /proc/PID/status has the three signals as caught, and a
 * program that is executed with all signals blocked finds this one unblocked.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_SIGNALS_H
#define VFRIENDLY_SPIN_UNMODIFIED_SIGNALS_H

#include "spin-unmodified/threads.h"
#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* Chooses the signal. Returns its number, or 0 if none is free. */
int vf_signals_choose(void);

/* The signal that was chosen, or 0. */
int vf_signal_number(void);

/* Installs the handlers, once: before the first thread is armed. Returns 0 or
 * an errno value. Callable by any thread. */
int vf_signals_start(void (*handler)(int, siginfo_t *, void *));

/* The calling thread's alternate stack and mask, when it begins and ends. */
void vf_signals_enter(struct vf_thread *thread);
void vf_signals_leave(struct vf_thread *thread);

/* Does with a signal what the program asked for. */
void vf_signals_pass_on(int number, siginfo_t *info, ucontext_t *context);

/* Returns true if faults of guarded loads are handled now: the program may have
 * replaced the handlers by system calls of its own, or block the signals. pre:
 * `context` is that of a handler. */
bool vf_signals_guard(const ucontext_t *context);

/* Returns true if a signal is pending that the interrupted thread does not
 * block. pre: called in a handler that blocks all signals. */
bool vf_signals_pending(const ucontext_t *context);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_SIGNALS_H */
