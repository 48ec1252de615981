// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sensitivity is set while the program runs: with a large one free memory
// stays, with 0 it goes back at the next free. A value out of range changes nothing.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t

#include "check.h"
#include "vfriendly/malloc.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#pragma weak vf_malloc_stats
#pragma weak vf_malloc_set_sensitivity

/* 2 MB each: above what the CPUs keep, and freed to the pool at once. */
enum { MB = 1 << 20, SIZE = 2 * MB, COUNT = 8, USED = 20 * MB };

static size_t resident_free(void) {
  struct vf_malloc_stats stats;
  vf_malloc_stats(&stats, sizeof stats);
  return stats.resident_free;
}

static void peak(void) {
  char *blocks[COUNT];
  for (int i = 0; i != COUNT; ++i) {
    blocks[i] = malloc(SIZE);
    CHECK(blocks[i]);
    memset(blocks[i], 1, SIZE);
  }
  for (int i = 0; i != COUNT; ++i)
    free(blocks[i]);
}

int main(void) {
  CHECK(vf_malloc_set_sensitivity(10001) == EINVAL);
  char *used = malloc(USED);
  memset(used, 1, USED);
  /* The threshold, a tenth of the used memory and 400 kB, times 100; with 0 it
   * is 1 MiB. */
  CHECK(vf_malloc_set_sensitivity(10000) == 0);
  for (int i = 0; i != 3; ++i)
    peak();
  CHECK(resident_free() >= SIZE * COUNT);
  CHECK(vf_malloc_set_sensitivity(0) == 0);
  CHECK(vf_malloc_set_sensitivity(10001) == EINVAL);
  /* Memory that is soon needed again is kept for a while, so more than one
   * peak may be needed. */
  for (int i = 0; i != 20 && resident_free() > 2 * MB; ++i) {
    sleep_ms(100);
    peak();
  }
  CHECK(resident_free() <= 2 * MB);
  CHECK(vf_malloc_set_sensitivity(10000) == 0);
  peak();
  CHECK(resident_free() >= SIZE * COUNT);
  free(used);
  return 0;
}
