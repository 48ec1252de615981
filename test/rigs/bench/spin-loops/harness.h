/*===- harness.h - Threads, gate, clock and verdict of one run -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What a workload gives and gets. harness.c is main(): it starts the threads,
 * opens the workload when all of them wait, times them from there and prints
 * one JSON line. It sleeps while it waits, so no variant of a wait changes it.
 *
 *   PROGRAM THREADS ROUNDS
 *
 * Exits 0, or 1 if a payload did not arrive, or 2 on a usage error.
 *===----------------------------------------------------------------------===*/

#ifndef HARNESS_H
#define HARNESS_H

/* Bounds static arrays; 64 threads is the soak, 8x the CPUs of a 32-CPU
 * machine the largest benchmark cell. */
#define MAX_THREADS 256

/* Two lines: the adjacent-line prefetcher pairs them. */
#define OWN_LINE __attribute__((aligned(128)))

/* pre: 1 <= threads <= MAX_THREADS. Called once, before any thread starts.
 * Closes the workload: from here on the threads' first wait lasts. */
void workload_prepare(int threads);

/* Called once by the main thread, which is participant number `threads`, when
 * the others wait. The clock starts here: otherwise the threads of a short run
 * pass one after the other as they start, and whether a queue ever forms (which
 * a fair lock then keeps to the end) is luck, 0.2 or 130 us a round in one cell.
 */
void workload_open(int threads);

/* Called in each thread, self from 0 to threads - 1. Returns how many payloads
 * were not what had been published. */
long workload_run(int self, int threads, long rounds);

/* Called once, after the threads ended. Returns mismatches as above. */
long workload_verify(int threads, long rounds);

#endif /* HARNESS_H */
