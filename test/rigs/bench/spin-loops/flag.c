/*===- flag.c - A token goes round a ring of threads ---------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A round is one lap. The payload travels with the token in a variable of its
 * own; each thread expects the count its predecessor must have left there.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include "waiting.h"
#ifdef WAIT_PTHREAD
#include "peers/flag.h"
#else
#include KIND
#endif

static struct OWN_LINE station {
  struct flag flag;
  PAYLOAD long payload;
} stations[MAX_THREADS];

void workload_prepare(int threads) {
  for (int i = 0; i < threads; i++)
    flag_init(&stations[i].flag);
}

void workload_open(int threads) {
  (void)threads;
  flag_raise(&stations[0].flag);
}

long workload_run(int self, int threads, long rounds) {
  struct station *here = &stations[self];
  struct station *next = &stations[(self + 1) % threads];
  long mismatches = 0;
  for (long round = 0; round < rounds; round++) {
    flag_await_and_lower(&here->flag);
    long token = here->payload;
    if (token != round * threads + self)
      mismatches++;
    next->payload = token + 1;
    flag_raise(&next->flag);
  }
  return mismatches;
}

long workload_verify(int threads, long rounds) {
  return stations[0].payload != threads * rounds;
}
