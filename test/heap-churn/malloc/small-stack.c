// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads with the smallest stacks that libc takes may be the first ones that allocate, free
// so much that the helper starts or they do its work, and end the process.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t first
// RUN: %vf_malloc %t much
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t much
// RUN: env VF_STATS=1 %vf_malloc %t exit 2>&1 | FileCheck %s
// CHECK: {{^}}{"vfmalloc": {

#include "check.h"
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100, SIZE = 200000, STEP = 1024, STEPS = 5 };

static void *first(void *unused) {
  char *p = malloc(40000);
  CHECK(p);
  p = realloc(p, 200000);
  free(p);
  free(calloc(3, 2 << 20));
  void *q;
  CHECK(posix_memalign(&q, 4096, 100) == 0);
  free(q);
  return unused;
}

static void *much(void *unused) {
  static __thread char *blocks[BLOCKS];
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != BLOCKS; ++i) {
      CHECK(blocks[i] = malloc(SIZE));
      memset(blocks[i], 1, SIZE);
    }
    for (int i = 0; i != BLOCKS; ++i)
      free(blocks[i]);
  }
  malloc_trim(0);
  return unused;
}

static void *leave(void *unused) {
  much(unused);
  exit(0);
}

static void with_stack(size_t size, void *(*work)(void *)) {
  pthread_attr_t attributes;
  pthread_t threads[2];
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, size) == 0);
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_create(&threads[i], &attributes, work, NULL) == 0);
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  size_t least = (size_t)PTHREAD_STACK_MIN;
  if (strcmp(argv[1], "exit") == 0)
    with_stack(least, leave);
  for (size_t i = 0; i != STEPS; ++i)
    with_stack(least + i * STEP, argv[1][0] == 'f' ? first : much);
  return 0;
}
