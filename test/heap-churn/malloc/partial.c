// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program may replace some of libc's functions and get the memory from libc's others, by
// their second names or by those that it does not replace: all blocks are of one heap then,
// and no function calls itself.
//
// REQUIRES: heap-churn-malloc
// DEFINE: %{clang} = clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s
// RUN: %{clang} -DREPLACES_BLOCKS -o %t-blocks && %t-blocks && %vf_malloc %t-blocks
// RUN: %{clang} -DREPLACES_ALIGNED -o %t-aligned && %t-aligned && %vf_malloc %t-aligned
// RUN: %{clang} -DREPLACES_BLOCKS -DREPLACES_ALIGNED -o %t-both && %t-both && %vf_malloc %t-both
// RUN: env LD_PRELOAD=%vf_lib/libvfnuma.so:%vf_lib/libvfpthread.so:%vf_lib/libvfmalloc.so %t-both

#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, STEPS = 3000 };

#ifdef REPLACES_BLOCKS
void *__libc_malloc(size_t size);
void __libc_free(void *block);

static atomic_int lock;
static unsigned calls;

static void acquire(void) {
  while (atomic_exchange(&lock, 1))
    ;
}

void *malloc(size_t size) {
  acquire();
  ++calls;
  void *block = __libc_malloc(size);
  atomic_store(&lock, 0);
  return block;
}

void free(void *block) {
  acquire();
  __libc_free(block);
  atomic_store(&lock, 0);
}

static void was_called(void) { CHECK(calls > THREADS * STEPS); }
#else
static void was_called(void) {}
#endif

#ifdef REPLACES_ALIGNED
void *__libc_memalign(size_t alignment, size_t size);

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

void *valloc(size_t size) { return __libc_memalign(4096, size); }
#endif

static void *use(void *unused) {
  for (int i = 0; i != STEPS; ++i) {
    size_t size = (size_t)(i * 37 % 40000) + 1;
    char *blocks[] = {
        malloc(size),          calloc(1, size),          strdup("abc"),
        aligned_alloc(64, 64), memalign(64, 64),         valloc(64),
        pvalloc(64),           realloc(malloc(8), size), realloc(NULL, 64)};
    for (size_t k = 0; k != sizeof blocks / sizeof *blocks; ++k) {
      CHECK(blocks[k]);
      CHECK(malloc_usable_size(blocks[k]) >= 4);
      memset(blocks[k], 1, 4);
      free(blocks[k]);
    }
  }
  return unused;
}

int main(void) {
  pthread_t thread[THREADS];
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&thread[i], NULL, use, NULL) == 0);
  for (int i = 0; i != THREADS; ++i)
    pthread_join(thread[i], NULL);
  was_called();
  pid_t child = fork();
  CHECK(child != -1);
  if (child == 0) {
    use(NULL);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
