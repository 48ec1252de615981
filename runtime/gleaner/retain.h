/*===- gleaner/retain.h - Keeping idle CPUs awake for a while -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   struct gl_retain *retain = gl_retain_start(&cpus);
 *   gl_retain_set(retain, &cpus, 200e-6);    // on, for 200 µs per idle period
 *   gl_retain_set(retain, NULL, 0);          // off: its threads sleep
 *
 * One thread per CPU runs only if nothing else wants the CPU (SCHED_IDLE), and
 * spins there: the CPU does not halt, so the hypervisor does not take it away,
 * and a wake-up takes one interrupt but no vCPU switch. Linux' scheduler treats
 * a CPU that runs such a thread as idle when it places threads.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_GLEANER_RETAIN_H
#define VFRIENDLY_GLEANER_RETAIN_H

#include "gleaner/sense.h"

struct gl_retain;

/* Prepares retention of these CPUs; threads start when they are first needed.
 * Returns null without memory. */
struct gl_retain *gl_retain_start(const struct gl_cpus *cpus);

/* Retains the CPUs, or none if cpus is null, up to timeout_s in each idle
 * period. A CPU that nothing else used during a timeout is left alone, at first
 * for as long again, then twice as long and so on up to 50 ms. */
void gl_retain_set(struct gl_retain *retain, const struct gl_cpus *cpus,
                   double timeout_s);

/* Writes what was done since the last call on the sensed CPUs. Returns the CPU
 * time that all threads have used since then. */
double gl_retain_read(struct gl_retain *retain, const struct gl_sense *sense,
                      struct gl_spun *spun);

/* Returns the number of threads that spin now or would if their CPU were idle:
 * Linux counts these as runnable. */
unsigned gl_retain_awake(const struct gl_retain *retain);

/* Returns how much longer a wake-up takes if the CPU was halted than if a
 * thread of the lowest priority kept it awake, in seconds; 0 if no longer. Uses
 * the first two CPUs, for 20 ms, or at most 100 on a busy machine. Returns -1
 * if there is only one or if it cannot be measured. */
double gl_measure_wake_cost(const struct gl_cpus *cpus);

#endif /* VFRIENDLY_GLEANER_RETAIN_H */
