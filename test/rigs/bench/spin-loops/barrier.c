/*===- barrier.c - All threads meet, then look at what others published --===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A round: publish, meet, read the neighbour's payload. Two sets of cells: a
 * thread two rounds ahead would have passed a barrier the reader still waits at.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include "waiting.h"
#ifdef WAIT_PTHREAD
#include "peers/barrier.h"
#else
#include KIND
#endif

static OWN_LINE struct barrier meeting;
static OWN_LINE struct barrier doors; /* the main thread comes to this one too */
static struct OWN_LINE cell {
  PAYLOAD long value;
} cells[2][MAX_THREADS];

void workload_prepare(int threads) {
  barrier_init(&meeting, threads);
  barrier_init(&doors, threads + 1);
}

void workload_open(int threads) {
  (void)threads;
  int sense = 0;
  barrier_wait(&doors, &sense);
}

long workload_run(int self, int threads, long rounds) {
  int neighbour = (self + 1) % threads;
  int sense = 0;
  barrier_wait(&doors, &sense);
  sense = 0;
  long mismatches = 0;
  for (long round = 0; round < rounds; round++) {
    cells[round % 2][self].value = round * threads + self;
    barrier_wait(&meeting, &sense);
    if (cells[round % 2][neighbour].value != round * threads + neighbour)
      mismatches++;
  }
  return mismatches;
}

long workload_verify(int threads, long rounds) {
  (void)threads, (void)rounds;
  return 0;
}
