// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of every size, by every function, from many threads, freed by others, all with a
// checksum: no two overlap, none loses its contents, calloc's are zero, and what is given
// back to the kernel belongs to nobody. With arguments a fuzzer: THREADS SECONDS SEED.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t 16 3 1
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 VF_STATS=1 %vf_malloc %t 16 3 2 2>&1 | FileCheck %s
// It did give back meanwhile.
// CHECK: "returns": {{[1-9]}}

#include "check.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SHARED = 4096, MAX_THREADS = 64 };

struct block {
  uint64_t *start;
  size_t size;
  uint64_t key;
};

/* Taken out by exchange of the pointer: each is one thread's at a time. */
static struct block *shared[SHARED];
static double until;

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static size_t draw_size(uint64_t *state) {
  switch (next(state) % 16) {
  case 0:
    return next(state) % (3u << 20);
  case 1:
  case 2:
    return next(state) % (200u << 10);
  case 3:
    return next(state) % 16;
  default:
    return next(state) % 2000;
  }
}

/* Large ones at some places only: both ends, and a word in each page. */
static size_t step_of(const struct block *b) { return b->size > 65536 ? 509 : 1; }

static void fill(struct block *b, uint64_t key) {
  b->key = key;
  size_t words = b->size / sizeof *b->start, step = step_of(b);
  for (size_t i = 0; i < words; i += step)
    b->start[i] = key + i;
  for (size_t i = words * sizeof *b->start; i != b->size; ++i)
    ((unsigned char *)b->start)[i] = (unsigned char)(key + i);
}

static void check_first(const struct block *b, size_t size) {
  size_t words = size / sizeof *b->start, step = step_of(b);
  for (size_t i = 0; i < words; i += step)
    CHECK(b->start[i] == b->key + i);
}

static void check(const struct block *b) {
  check_first(b, b->size);
  for (size_t i = b->size & ~(sizeof *b->start - 1); i != b->size; ++i)
    CHECK(((unsigned char *)b->start)[i] == (unsigned char)(b->key + i));
}

static void *draw_block(uint64_t *state, size_t size) {
  void *p = NULL;
  size_t alignment = sizeof(void *) << next(state) % 14;
  switch (next(state) % 8) {
  case 0:
    p = calloc(1, size);
    for (size_t i = 0; p && i < size; i += size > 65536 ? 61 : 1)
      CHECK(((unsigned char *)p)[i] == 0);
    break;
  case 1:
    CHECK(posix_memalign(&p, alignment, size) == 0);
    CHECK((uintptr_t)p % alignment == 0);
    break;
  case 2:
    p = aligned_alloc(alignment, size);
    CHECK((uintptr_t)p % alignment == 0);
    break;
  default:
    p = malloc(size);
  }
  CHECK(p && (uintptr_t)p % (size < 16 ? 8 : 16) == 0);
  CHECK(malloc_usable_size(p) >= size);
  return p;
}

static void change(struct block *b, uint64_t *state) {
  size_t size = 1 + draw_size(state), kept = size < b->size ? size : b->size;
  struct block moved = *b;
  moved.start = realloc(b->start, size);
  CHECK(moved.start);
  check_first(&moved, kept);
  *b = (struct block){moved.start, size, 0};
  fill(b, next(state));
}

static void *work(void *seed) {
  uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
  while (seconds() < until)
    for (int i = 0; i != 200; ++i) {
      struct block **place = &shared[next(&state) % SHARED];
      struct block *b = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
      if (!b) {
        b = malloc(sizeof *b);
        CHECK(b);
        b->size = 1 + draw_size(&state);
        b->start = draw_block(&state, b->size);
        fill(b, next(&state));
      } else {
        check(b);
        if (next(&state) % 4 == 0) {
          change(b, &state);
        } else {
          free(b->start);
          free(b);
          continue;
        }
      }
      b = __atomic_exchange_n(place, b, __ATOMIC_ACQ_REL);
      if (b) { /* Somebody else's is there by now. */
        check(b);
        free(b->start);
        free(b);
      }
    }
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int threads = atoi(argv[1]);
  CHECK(threads > 0 && threads <= MAX_THREADS);
  until = seconds() + atof(argv[2]);
  pthread_t id[MAX_THREADS];
  for (int i = 0; i != threads; ++i)
    CHECK(pthread_create(&id[i], NULL, work,
                         (void *)(uintptr_t)(atoi(argv[3]) * 1000 + i)) == 0);
  for (int i = 0; i != threads; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
  return 0;
}
