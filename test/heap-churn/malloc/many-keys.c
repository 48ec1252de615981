// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program may have so many thread-specific keys that libc allocates memory to set one, and
// threads whose first call is a free. (The caches of such threads once stayed in an arena's
// list, which mallinfo2 reads, after the threads and their memory were gone.)
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t

#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

enum { KEYS = 40, THREADS = 8, ROUNDS = 50, BLOCKS = 100 };

static pthread_key_t keys[KEYS];

static void *use(void *block) {
  free(block);
  for (int i = 0; i != BLOCKS; ++i)
    free(malloc(64));
  pthread_setspecific(keys[KEYS - 1], malloc(64));
  return NULL;
}

/* Before anything of libc's has allocated. */
__attribute__((constructor)) static void make_keys(void) {
  for (int i = 0; i != KEYS; ++i)
    CHECK(pthread_key_create(&keys[i], free) == 0);
}

int main(void) {
  for (int round = 0; round != ROUNDS; ++round) {
    pthread_t thread[THREADS];
    for (int i = 0; i != THREADS; ++i)
      CHECK(pthread_create(&thread[i], NULL, use, malloc(64)) == 0);
    for (int i = 0; i != THREADS; ++i)
      pthread_join(thread[i], NULL);
    CHECK(mallinfo2().uordblks > 0);
  }
  return 0;
}
