/*===- cpu-limits/steer.h - How long OpenMP's threads spin ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 *   LD_PRELOAD=libvfomp.so program
 *   VF_OMP=off    leaves all to OpenMP's runtime
 *   VF_STATS=1    prints what was decided, and why
 *
 * Waits count CPU time near the limit of a container, and OpenMP's threads
 * sleep where CPUs or CPU time are short. The first part is spin-wait/limit.h;
 * this is the second.
 *
 * A thread of OpenMP that waits, for the next parallel region or at a barrier,
 * spins for milliseconds before it sleeps. That is the quickest way to wait if
 * each thread has a CPU, and the slowest if the awaited thread needs this CPU
 * or the CPU time of the group is limited. This library switches the waits of
 * the OpenMP runtimes in a process between spinning as usual, spinning shortly
 * and sleeping at once:
 *
 *   spin ------ threads wait for CPUs, by context switches and -----> sleep
 *        <----- the kernel's count of that time                 -----
 *        ------ the group is near its CPU limit ----> short spin
 *        <----- (spin-wait/limit.h)             -----
 *              each back after a time, as a trial
 *
 * A short spin takes about as much CPU time as a sleep. Under a limit of one
 * CPU, two threads that spin between regions of 15 us are stopped for half of
 * the time, and still take 29 us a region; if they sleep, 56 us.
 *
 * Threads that sleep show no sign of whether they could spin again, so spinning
 * is tried after a time that doubles with each trial that fails.
 *
 * A thread of this library decides, as no function of gcc's OpenMP runtime that
 * could be replaced is called often. It is started after the OpenMP runtime has
 * created its first thread, so no process gets a second thread by it.
 *
 * What the user sets stays in force: with OMP_WAIT_POLICY, GOMP_SPINCOUNT or
 * KMP_BLOCKTIME this library leaves that runtime alone.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_OPENMP_STEER_H
#define VFRIENDLY_OPENMP_STEER_H

#include <stdbool.h>
#include <stdint.h>

/* Counters of VF_STATS=1, in the order in which they are printed. */
enum vf_omp_counter {
  VF_OMP_LIBGOMP, /* copies of gcc's runtime that are steered */
  VF_OMP_LIBOMP,  /* copies of LLVM's */
  VF_OMP_UNKNOWN, /* copies that are not: the user's settings, or unknown
                     versions */
  VF_OMP_CROWDED, /* times that threads were seen to share CPUs */
  VF_OMP_LIMITED, /* readings that saw the group near its limit */
  VF_OMP_TRIALS,  /* times that they began to spin as usual again */
  VF_OMP_SPIN_MS, /* how long they spun, spun shortly, and slept */
  VF_OMP_SHORT_MS,
  VF_OMP_SLEEP_MS,
  VF_OMP_COUNTERS
};
void vf_omp_count(enum vf_omp_counter counter, uint64_t n);

/* How waits should wait. */
enum vf_omp_waits { VF_OMP_SPIN, VF_OMP_SHORT, VF_OMP_SLEEP };
enum vf_omp_waits vf_omp_waits(void);

/* Starts the deciding thread if this process has none. */
void vf_omp_start(void);

/* Called if `caller`, an address of code, has created a thread: if it belongs
 * to a copy of gcc's runtime, steers it. Starts the deciding thread if it
 * belongs to an OpenMP runtime. */
void vf_omp_created_by(const void *caller);

/* Called by the deciding thread: keeps new copies of gcc's runtime loaded, and
 * makes their waits wait as decided. May wait for a dlopen of the program. */
void vf_libgomp_keep(void);

/* Makes the waits of all copies of gcc's runtime that are kept loaded wait like
 * this. */
void vf_libgomp_set(enum vf_omp_waits waits);

/* Called in a forked child. */
void vf_libgomp_in_child(void);

/* Returns true if the environment variable is set. */
bool vf_omp_user_sets(const char *name);

/* Returns false if VF_OMP=off. */
bool vf_omp_is_on(void);

#endif /* VFRIENDLY_OPENMP_STEER_H */
