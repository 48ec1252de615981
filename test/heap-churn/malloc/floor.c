// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free memory of 400 KB is below the minimum threshold and stays; with a lower
// minimum it is returned. The argument is the number of 10 ms steps to wait.
//
// TIMED: memory goes back within 20 s
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -pthread -I %vf_include %s -o %t
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t 100 | FileCheck %s --check-prefix=KEPT
// RUN: env VF_MALLOC_FLOOR=65536 VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t 2000 | FileCheck %s --check-prefix=RETURNED
// RUN: env VF_MALLOC_FLOOR=10 %vf_malloc %t 1 2>&1 | FileCheck %s --check-prefix=INVALID
// KEPT: kept
// RETURNED: returned
// INVALID: VF_MALLOC_FLOOR='10' is not a number in 65536..1000000000; using the default, 1048576

#include "vfriendly/malloc.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma weak vf_malloc_stats

enum { BLOCKS = 50, SIZE = 8192 };

static void churn(void) {
  char *blocks[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i)
    memset(blocks[i] = malloc(SIZE), 1, SIZE);
  for (int i = 0; i != BLOCKS; ++i)
    free(blocks[i]);
}

// A second thread, without which the freeing thread would do the work.
static void *sleeper(void *over) {
  while (!__atomic_load_n((int *)over, __ATOMIC_RELAXED))
    usleep(10000);
  return NULL;
}

int main(int argc, char **argv) {
  struct vf_malloc_stats stats = {0};
  int over = 0;
  pthread_t id;
  pthread_create(&id, NULL, sleeper, &over);
  // More than the 16 MB that a thread frees before it notifies the helper.
  for (int i = 0; i != 100; ++i)
    churn();
  for (int step = argc > 1 ? atoi(argv[1]) : 0; step > 0 && !stats.returns;
       --step) {
    // A second without frees would end the helper, which then returns all.
    if (step % 50 == 0)
      churn();
    usleep(10000);
    vf_malloc_stats(&stats, sizeof stats);
  }
  puts(stats.returns ? "returned" : "kept");
  __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
  pthread_join(id, NULL);
}
