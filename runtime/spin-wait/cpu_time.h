/*===- spin-wait/cpu_time.h - Waits that only CPU time ends ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A signal handler that sets a flag may run once the process has used so much
 * CPU time. A loop that waits for the flag brings that about itself: asleep, it
 * would wait for ever, and a wait that yields to a thread that computes gets no
 * time either. So while such a signal may come, waits only pause.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_SPIN_WAIT_CPU_TIME_H
#define VFRIENDLY_SPIN_WAIT_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if a wait may neither yield nor sleep now. The answer is up to
 * 10 ms old, one for all threads: a timer that was set since costs as much. */
bool vf_cpu_time_counts(uint64_t now);

#endif /* VFRIENDLY_SPIN_WAIT_CPU_TIME_H */
