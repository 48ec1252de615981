// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large blocks, of which a program touches little: calloc makes them zero, and realloc keeps
// what is in them, without touching the rest; also where the kernel refuses its help.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t

#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MB = 1 << 20, PAGE = 4096 };

static long faults(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_minflt;
}

static bool is_zero(const char *p, size_t size) {
  return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

/* Of pages that were used before, and of sizes that end within one. */
static void calloc_is_zero(void) {
  for (size_t size = MB - 1; size < 40 * MB; size = size * 3 / 2 + 77) {
    char *dirty = malloc(size);
    CHECK(dirty);
    memset(dirty, 0xee, size);
    free(dirty);
    char *p = calloc(7, size / 7);
    CHECK(p && is_zero(p, size / 7 * 7));
    memset(p, 0xee, size / 7 * 7);
    free(p);
  }
  errno = 0;
  CHECK(!calloc(SIZE_MAX / 2, 3) && errno == ENOMEM);
  errno = 0;
  CHECK(!calloc(1, SIZE_MAX / 2) && errno == ENOMEM);
}

/* Two pages of each; the allocator's own are the rest. */
static void sparse_calloc_touches_little(void) {
  long before = faults();
  for (int i = 0; i != 60; ++i) {
    char *p = calloc(1, 64 * MB);
    CHECK(p);
    p[0] = p[40 * MB] = 1;
    free(p);
  }
  CHECK(faults() - before < 1000);
}

static void sparse_realloc_touches_little(void) {
  char *p = malloc((size_t)1024 * MB);
  CHECK(p);
  p[0] = 1, p[700 * MB + 5] = 2;
  long before = faults();
  /* In the way, lest it grows where it is. */
  void *volatile other = malloc(64 * MB);
  p = realloc(p, (size_t)1536 * MB);
  CHECK(p && p[0] == 1 && p[700 * MB + 5] == 2);
  p[1500 * MB] = 3;
  p = realloc(p, (size_t)1500 * MB); /* Shrinks. */
  CHECK(p && p[0] == 1 && p[700 * MB + 5] == 2);
  CHECK(faults() - before < 1000);
  free(other);
  free(p);
}

static void fill(uint64_t *p, size_t from, size_t to) {
  for (size_t i = from / sizeof *p; i < to / sizeof *p; i += 512)
    p[i] = i;
}

static long mappings(const char *from, size_t size) {
  long n = 0;
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps);
  while (fgets(line, sizeof line, maps)) {
    uintptr_t start, end;
    CHECK(sscanf(line, "%lx-%lx", &start, &end) == 2);
    n += start < (uintptr_t)from + size && end > (uintptr_t)from;
  }
  CHECK(fclose(maps) == 0);
  return n;
}

/* A block that grows in small steps is moved each time as a whole: it stays a single mapping,
 * no page is touched twice, and there is no fault but those of the program. */
static void moves_stay_cheap(void) {
  size_t size = 8 * MB;
  char *p = malloc(size), *in_the_way[128];
  CHECK(p);
  long before = faults();
  memset(p, 1, size);
  while (size < (size_t)128 * MB) {
    p = realloc(p, size + MB);
    CHECK(p && p[0] == 1 && p[size - 1] == 1);
    memset(p + size, 1, MB);
    size += MB;
    /* So that it cannot grow where it is. */
    CHECK(in_the_way[size / MB - 1] = malloc(MB));
  }
  CHECK(mappings(p, size) <= 2);
  CHECK(faults() - before < 128 * MB / PAGE * 11 / 10);
  CHECK(memcmp(p, p + 1, size - 1) == 0);
  free(p);
  for (int i = 8; i != 128; ++i)
    free(in_the_way[i]);
}

/* In many steps, so that a block is of many mappings; another block stays behind each. */
static void *grows(void *unused) {
  for (int round = 0; round != 2; ++round) {
    size_t size = 12 * MB;
    uint64_t *p = malloc(size);
    char *behind[12] = {0};
    CHECK(p);
    fill(p, 0, size);
    for (int i = 0; i != 12; ++i) {
      behind[i] = malloc(MB);
      CHECK(behind[i]);
      memset(behind[i], i, MB);
      size_t more = size + 5 * MB + (size_t)i * 100;
      errno = 4711;
      p = realloc(p, more);
      CHECK(p && errno == 4711);
      fill(p, size / sizeof *p * sizeof *p, more);
      size = more;
    }
    for (size_t i = 0; i < 12u * MB / sizeof *p; i += 512)
      CHECK(p[i] == i);
    for (size_t i = 0; i < 12; ++i) {
      CHECK(behind[i][0] == (char)i && memcmp(behind[i], behind[i] + 1, MB - 1) == 0);
      free(behind[i]);
    }
    free(p);
    /* What they left is memory like any other. */
    char *all = malloc(100 * MB);
    CHECK(all);
    memset(all, 1, 100 * MB);
    free(all);
  }
  return unused;
}

static void together(void) {
  pthread_t id[3];
  for (int i = 0; i != 3; ++i)
    CHECK(pthread_create(&id[i], NULL, grows, NULL) == 0);
  for (int i = 0; i != 3; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
}

/* The kernel does not drop pages that are locked. */
static void locked_blocks_are_cleared(void) {
  size_t size = 2 * MB;
  char *p = malloc(size);
  CHECK(p);
  if (mlock(p, size) != 0) {
    free(p);
    return; /* It may not. */
  }
  memset(p, 0xee, size);
  free(p);
  p = calloc(1, size);
  CHECK(p && is_zero(p, size));
  munlock(p, size);
  free(p);
}

static void a_limit_loses_nothing(void) {
  char *p = malloc(64 * MB);
  CHECK(p);
  memset(p, 5, 64 * MB);
  struct rlimit before, now;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  now = before;
  now.rlim_cur = (size_t)700 * MB;
  CHECK(setrlimit(RLIMIT_AS, &now) == 0);
  errno = 0;
  CHECK(!realloc(p, (size_t)4096 * MB) && errno == ENOMEM);
  CHECK(p[0] == 5 && memcmp(p, p + 1, 64 * MB - 1) == 0);
  char *more = realloc(p, 80 * MB);
  CHECK(more && more[0] == 5 && memcmp(more, more + 1, 64 * MB - 1) == 0);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  free(more);
}

int main(void) {
  sparse_calloc_touches_little();
  calloc_is_zero();
  sparse_realloc_touches_little();
  moves_stay_cheap();
  grows(NULL);
  together();
  locked_blocks_are_cleared();
  a_limit_loses_nothing();
  return 0;
}
