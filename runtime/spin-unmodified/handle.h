/*===- spin-unmodified/handle.h - The signal handler ----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_UNMODIFIED_HANDLE_H
#define VFRIENDLY_SPIN_UNMODIFIED_HANDLE_H

#include <signal.h>

/* First time between two signals of a thread, and the maximum, to which it
 * doubles while the thread is not found waiting. A signal that finds no wait
 * takes some 15 us: a tenth of the time at first, less than a thousandth soon.
 */
#define VF_PERIOD_MIN_NS 100000u
#define VF_PERIOD_MAX_NS 20000000u
/* The maximum while it waits and giving way does not help. */
#define VF_PERIOD_ALONE_NS 10000000u

/* Judges the interrupted thread, lets it give way if it waits, and sets the
 * time of the next signal. Signals that are not the library's are passed on. */
void vf_handle(int number, siginfo_t *info, void *context);

#endif /* VFRIENDLY_SPIN_UNMODIFIED_HANDLE_H */
