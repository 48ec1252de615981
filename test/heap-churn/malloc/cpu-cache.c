// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caches of freed blocks (cpu_cache.h): which sizes they keep and how much, which
// blocks a trim frees, and that threads which take, keep, trim and fork at the same time
// never get one block twice or lose one. The cache does not touch its blocks, so those of
// this test are small, whatever size it names.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=thread -pthread -DVF_JEMALLOC_LG_PAGE=13 -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform -DVF_JEMALLOC_ALLOCATED_AT=0 -DVF_JEMALLOC_FREED_AT=0 %s %vf_src/runtime/malloc/cpu_cache.c -o %t
// RUN: %t
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined -pthread -DVF_JEMALLOC_LG_PAGE=12 -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform -DVF_JEMALLOC_ALLOCATED_AT=0 -DVF_JEMALLOC_FREED_AT=0 %s %vf_src/runtime/malloc/cpu_cache.c -o %t.asan
// RUN: %t.asan

#include "check.h"
#include "malloc/cpu_cache.h"
#include "malloc/jemalloc.h"
#include "malloc/pages.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define KIB ((size_t)1 << 10)
/* The smallest size here, and jemalloc's next smaller one. */
#define SMALLEST VF_CPU_CACHE_MIN
#define BELOW (SMALLEST / 8 * 7)

struct block {
  size_t size;
  int is_in_use;
};

static size_t memory = (size_t)1 << 30;
static long made, freed;

size_t vf_pages_around(void) { return memory; }

void vf_je_dallocx(void *p, int flags) {
  (void)flags;
  CHECK(!__atomic_load_n(&((struct block *)p)->is_in_use, __ATOMIC_RELAXED));
  __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
  free(p);
}

static struct block *new_block(size_t size) {
  __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
  struct block *block = calloc(1, sizeof *block);
  block->size = size;
  return block;
}

static bool keeps(size_t size) {
  struct block *block = new_block(size);
  if (vf_cpu_cache_put(block, size))
    return true;
  vf_je_dallocx(block, 0);
  return false;
}

static struct block *take(size_t size) {
  return vf_cpu_cache_has_size(size) ? vf_cpu_cache_take(size) : NULL;
}

static void stay_on_this_cpu(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void keeps_the_sizes_of_jemalloc(void) {
  CHECK(!keeps(BELOW) && !keeps(0) && !keeps(4096) && !keeps(1280 * KIB));
  CHECK(!take(BELOW) && !take(0) && !take(1024 * KIB + 1) && !take(SIZE_MAX));
  size_t below = BELOW;
  for (size_t power = 8 * KIB; power != 1024 * KIB; power *= 2)
    for (size_t size = power + power / 4; size <= 2 * power; size += power / 4) {
      if (size < SMALLEST)
        continue;
      CHECK(!keeps(size + 1) && !keeps(size - 1));
      const size_t fitting[] = {size, size - 1, below + 1};
      for (int i = 0; i != 3; ++i) {
        CHECK(keeps(size));
        CHECK(!take(below) && !take(size + 1));
        struct block *block = take(fitting[i]);
        CHECK(block && block->size == size && !take(size));
        free(block);
      }
      below = size;
    }
}

static void keeps_a_sixteenth_of_the_memory(void) {
  memory = 16384 * KIB;
  size_t kept = 0;
  for (size_t size = 512 * KIB; size >= SMALLEST; size /= 2)
    while (keeps(size))
      kept += size;
  CHECK(kept <= memory / 16 && kept > memory / 16 - 2 * SMALLEST);
  freed = 0;
  vf_cpu_cache_empty();
  CHECK(freed != 0);
  memory = 15 * SMALLEST;
  CHECK(!keeps(SMALLEST));
  memory = (size_t)1 << 30;
}

static void keeps_no_more_than_there_is_room_for(void) {
  const size_t sizes[] = {SMALLEST, SMALLEST / 4 * 5};
  int kept[2] = {0, 0};
  for (int i = 0; i != 2; ++i)
    while (keeps(sizes[i]))
      ++kept[i];
  for (int i = 0; i != 2; ++i) {
    struct block *block;
    for (; (block = take(sizes[i])); --kept[i]) {
      CHECK(block->size == sizes[i]);
      free(block);
    }
    CHECK(kept[i] == 0);
  }
}

static void trims_what_was_not_needed(void) {
  enum { ALL = 5, NEEDED = 2 };
  vf_cpu_cache_trim();
  for (int i = 0; i != ALL; ++i)
    CHECK(keeps(64 * KIB));
  vf_cpu_cache_trim(); /* None was there all the time since the last trim. */
  freed = 0;
  struct block *needed[NEEDED];
  for (int i = 0; i != NEEDED; ++i)
    CHECK((needed[i] = take(64 * KIB)));
  for (int i = 0; i != NEEDED; ++i)
    CHECK(vf_cpu_cache_put(needed[i], 64 * KIB));
  vf_cpu_cache_trim();
  CHECK(freed == ALL - NEEDED);
  struct block *left = take(64 * KIB);
  CHECK(left == needed[NEEDED - 1] && vf_cpu_cache_put(left, 64 * KIB));
  vf_cpu_cache_trim();
  vf_cpu_cache_trim();
  CHECK(freed == ALL && !take(64 * KIB));
}

enum { THREADS = 4, STEPS = 20000, BLOCKS = 8 };
static int stop;

static void *uses(void *number) {
  struct block *blocks[BLOCKS] = {NULL};
  unsigned seed = (unsigned)(size_t)number;
  for (int i = 0; i != STEPS + BLOCKS; ++i) {
    seed = seed * 1103515245u + 12345u;
    struct block **at = &blocks[i % BLOCKS];
    if (*at) {
      __atomic_store_n(&(*at)->is_in_use, 0, __ATOMIC_RELAXED);
      if (!vf_cpu_cache_put(*at, (*at)->size))
        vf_je_dallocx(*at, 0);
      *at = NULL;
    }
    if (i >= STEPS)
      continue;
    size_t size = SMALLEST << (seed >> 16) % 3;
    if (!(*at = take(size)))
      *at = new_block(size);
    CHECK((*at)->size >= size);
    CHECK(!__atomic_exchange_n(&(*at)->is_in_use, 1, __ATOMIC_RELAXED));
  }
  return NULL;
}

static void *trims(void *unused) {
  for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) {
    i % 8 ? vf_cpu_cache_trim() : vf_cpu_cache_empty();
    sched_yield();
  }
  return unused;
}

static void *forks(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    vf_cpu_cache_before_fork();
    CHECK(!take(SMALLEST) && !vf_cpu_cache_put(&made, SMALLEST));
    vf_cpu_cache_after_fork();
    sched_yield();
  }
  return unused;
}

static void *fills_and_empties(void *unused) {
  for (int i = 0; i != STEPS; ++i) {
    keeps(SMALLEST);
    vf_cpu_cache_empty();
  }
  return unused;
}

/* Each must count a CPU out only once, or nothing would be kept afterwards. */
static void two_empty_the_same(void) {
  pthread_t ids[2];
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_create(&ids[i], NULL, fills_and_empties, NULL) == 0);
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
  CHECK(keeps(SMALLEST));
  vf_cpu_cache_empty();
}

static void no_block_is_taken_twice_or_lost(void) {
  pthread_t users[THREADS], others[2];
  made = freed = 0;
  for (size_t i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&users[i], NULL, uses, (void *)(i + 1)) == 0);
  CHECK(pthread_create(&others[0], NULL, trims, NULL) == 0);
  CHECK(pthread_create(&others[1], NULL, forks, NULL) == 0);
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_join(users[i], NULL) == 0);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_join(others[i], NULL) == 0);
  vf_cpu_cache_empty();
  CHECK(made == freed);
}

int main(void) {
  no_block_is_taken_twice_or_lost();
  two_empty_the_same();
  stay_on_this_cpu();
  keeps_the_sizes_of_jemalloc();
  keeps_a_sixteenth_of_the_memory();
  keeps_no_more_than_there_is_room_for();
  trims_what_was_not_needed();
  return 0;
}
