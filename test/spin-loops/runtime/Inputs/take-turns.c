/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two threads take turns for some seconds; each turn takes some microseconds.
 * take-turns SECONDS MICROSECONDS */

#include "check.h"
#include <pthread.h>

static uint32_t turn;
static double end, turn_s;

static void *take(void *self) {
  uint32_t me = self != NULL;
  while (seconds() < end) {
    wait_while(&turn, !me, sizeof turn | VF_SPIN_NOTIFIED);
    for (double done = seconds() + turn_s; seconds() < done;)
      ;
    set_flag(&turn, !me);
  }
  set_flag(&turn, !me); /* The other one may still wait for its turn. */
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  end = seconds() + atof(argv[1]);
  turn_s = atof(argv[2]) / 1e6;
  pthread_t other;
  CHECK(pthread_create(&other, NULL, take, &turn) == 0);
  take(NULL);
  return pthread_join(other, NULL);
}
