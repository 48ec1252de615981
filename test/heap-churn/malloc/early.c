// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first 32 KB of a process do not start jemalloc, and each function takes their blocks,
// before and after jemalloc has started.
//
// REQUIRES: heap-churn-malloc-patched
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t
// RUN: env MALLOC_CONF=junk:true %vf_malloc %t options

#include "check.h"
#include <jemalloc/jemalloc.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vfriendly/malloc.h>

/* libjemalloc itself needs libstdc++, which allocates 72 KB when it is loaded. */
#pragma weak sallocx
#pragma weak dallocx
#pragma weak sdallocx
#pragma weak rallocx
#pragma weak xallocx
#pragma weak vf_malloc_stats

/* jemalloc takes pages when it starts. */
static int has_started(void) {
  struct vf_malloc_stats stats;
  vf_malloc_stats(&stats, sizeof stats);
  return stats.mapped != 0;
}

static void *in_thread(void *block) {
  char *p = malloc(24);
  CHECK(p && p != block);
  free(block);
  return p;
}

static char *filled(size_t size, char with) {
  char *p = malloc(size);
  CHECK(p && (uintptr_t)p % 16 == 0);
  CHECK(malloc_usable_size(p) >= size && sallocx(p, 0) >= size);
  return memset(p, with, size);
}

static void has(const char *p, size_t size, char what) {
  for (size_t i = 0; i != size; ++i)
    CHECK(p[i] == what);
}

/* One block for each way to end it. */
enum { FREE, SHRINK, GROW, DALLOCX, SDALLOCX, RALLOCX, XALLOCX, TO_NOTHING, WAYS };

static void end_each(char **blocks) {
  free(blocks[FREE]);
  char *p = realloc(blocks[SHRINK], 10);
  has(p, 10, SHRINK);
  free(p);
  p = realloc(blocks[GROW], 100000);
  has(p, 100, GROW);
  CHECK(malloc_usable_size(p) >= 100000);
  free(p);
  dallocx(blocks[DALLOCX], 0);
  sdallocx(blocks[SDALLOCX], 100, 0);
  p = rallocx(blocks[RALLOCX], 300, MALLOCX_ALIGN(64));
  has(p, 100, RALLOCX);
  CHECK((uintptr_t)p % 64 == 0);
  dallocx(p, 0);
  CHECK(xallocx(blocks[XALLOCX], 5000, 0, 0) < 5000);
  has(blocks[XALLOCX], 100, XALLOCX);
  CHECK(realloc(blocks[TO_NOTHING], 0) == NULL);
}

static void make_each(char **blocks) {
  for (char way = 0; way != WAYS; ++way)
    blocks[(int)way] = filled(100, way);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    free(malloc(1));
    CHECK(has_started());
    return 0;
  }
  char *small[40], *blocks[WAYS], *later[WAYS];
  for (int i = 0; i != 40; ++i)
    small[i] = filled((size_t)i * 8, (char)i);
  CHECK(malloc(0) != malloc(0));
  char *zero = calloc(50, 4);
  has(zero, 200, 0);
  char *grown = realloc(NULL, 10);
  for (size_t size = 10; size <= 1000; size *= 2) {
    memset(grown, 9, size);
    grown = realloc(grown, 2 * size);
    has(grown, size, 9);
  }
  make_each(blocks);
  make_each(later);
  pthread_t thread;
  void *from_thread;
  CHECK(!has_started()); /* libc gives the thread's stack and TLS. */
  CHECK(pthread_create(&thread, NULL, in_thread, malloc(30)) == 0);
  pthread_join(thread, &from_thread);
  free(from_thread);
  pid_t child = fork();
  if (child == 0) {
    end_each(blocks);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  end_each(blocks);
  CHECK(has_started());
  for (int i = 0; i != 40; ++i) {
    has(small[i], (size_t)i * 8, (char)i);
    free(small[i]);
  }
  free(zero);
  free(grown);
  /* Until the memory is used up, and beyond. */
  for (int i = 0; i != 1000; ++i)
    free(filled(100, 1));
  end_each(later);
  return 0;
}
