// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of every size and alignment, by every function, from many threads that come and
// go, freed by others, while what is free goes back to the kernel all the time. Nobody
// else's bytes are in a block, it loses none of its own, calloc's are zero. With
// arguments a fuzzer: THREADS SECONDS SEED.
//
// Guards as a sanitizer has them, but of the allocator that is preloaded: a map with a
// byte for every 8 says which are somebody's; what is usable and was not asked for is
// filled, and so is every block, or one word in each page of a large one.
//
// qemu-user keeps a record of each page of that map: more than the machine has.
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t 16 3 1
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 VF_STATS=1 %vf_malloc %t 16 3 2 2>&1 | FileCheck %s
// It did give back meanwhile.
// CHECK: "returns": {{[1-9]}}

#include "check.h"
#include "vfriendly/malloc.h"
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma weak vf_malloc_stats

enum {
  SHARED = 4096,
  MAX_THREADS = 64,
  LIFE = 3000,               /* actions of a thread, at most */
  SMALL = 65536,             /* up to here every byte is looked at */
  STRIDE = 509,              /* words: one in each page */
  LARGEST = 64 << 20,
  MAX_ALIGNMENT_LOG = 21,
};
/* Of all blocks; then large ones have to wait. */
static const size_t MOST = (size_t)1 << 30;

struct block {
  uint64_t *start;
  size_t size, usable;
  uint64_t key;
};

/* Taken out by exchange of the pointer: each is one thread's at a time. */
static struct block *shared[SHARED];
static size_t alive;
static double until;

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static size_t draw_size(uint64_t *state) {
  size_t size;
  switch (next(state) % 32) {
  case 0:
    size = next(state) % (next(state) % 16 ? 3u << 20 : LARGEST);
    break;
  case 1 ... 5:
    size = next(state) % (200u << 10);
    break;
  case 6 ... 8:
    size = next(state) % 16;
    break;
  default:
    size = next(state) % 2000;
  }
  return __atomic_load_n(&alive, __ATOMIC_RELAXED) > MOST ? 1 + size % 2000 : 1 + size;
}

/* One byte for 8, of all that a program can map: as much as is used of it is there. */
static unsigned char *owned;

static void make_map(void) {
  owned = mmap(NULL, (size_t)1 << (47 - 3), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(owned != MAP_FAILED);
}

static void own(const struct block *b, bool ours) {
  size_t from = (uintptr_t)b->start >> 3, to = ((uintptr_t)b->start + b->usable - 1) >> 3;
  for (size_t i = from; i <= to; ++i) {
    CHECK(owned[i] != ours);
    owned[i] = ours;
  }
  if (ours)
    __atomic_fetch_add(&alive, b->usable, __ATOMIC_RELAXED);
  else
    __atomic_fetch_sub(&alive, b->usable, __ATOMIC_RELAXED);
}

static size_t step_of(size_t size) { return size > SMALL ? STRIDE : 1; }

static unsigned char *tail_of(const struct block *b) {
  return (unsigned char *)b->start + (b->size & ~(sizeof *b->start - 1));
}

static unsigned char *end_of(const struct block *b) {
  size_t guard = b->usable - b->size; /* A page of it is enough. */
  return (unsigned char *)b->start + b->size + (guard < 4096 ? guard : 4096);
}

static void fill(struct block *b, uint64_t key) {
  b->key = key;
  for (size_t i = 0; i < b->size / sizeof *b->start; i += step_of(b->size))
    b->start[i] = key + i;
  for (unsigned char *p = tail_of(b); p != end_of(b); ++p)
    *p = (unsigned char)(key + (uintptr_t)p);
}

static void check_first(const struct block *b, const uint64_t *start, size_t size) {
  for (size_t i = 0; i < size / sizeof *start; i += step_of(b->size))
    CHECK(start[i] == b->key + i);
}

static void check(const struct block *b) {
  check_first(b, b->start, b->size);
  for (unsigned char *p = tail_of(b); p != end_of(b); ++p)
    CHECK(*p == (unsigned char)(b->key + (uintptr_t)p));
}

static void is_zero(const unsigned char *p, size_t size) {
  for (size_t i = 0; i < size; i += size > SMALL ? 61 : 1)
    CHECK(p[i] == 0);
  CHECK(p[size - 1] == 0);
}

static void *draw_start(uint64_t *state, size_t size) {
  void *p = NULL;
  /* Mostly small: an aligned block may cost as much again. */
  unsigned most = next(state) % 8 ? 13 : MAX_ALIGNMENT_LOG;
  size_t alignment = (size_t)1 << (3 + next(state) % (most - 2));
  switch (next(state) % 10) {
  case 0:
  case 1:
    p = calloc(1, size);
    CHECK(p);
    is_zero(p, size);
    return p;
  case 2:
    CHECK(posix_memalign(&p, alignment, size) == 0);
    break;
  case 3:
    p = aligned_alloc(alignment, size);
    break;
  case 4:
    p = memalign(alignment, size);
    break;
  case 5:
    p = valloc(size);
    alignment = 4096;
    break;
  default:
    p = malloc(size);
    alignment = 1;
  }
  CHECK((uintptr_t)p % alignment == 0);
  return p;
}

static void settle(struct block *b, uint64_t *state) {
  CHECK(b->start && (uintptr_t)b->start % (b->size < 16 ? 8 : 16) == 0);
  b->usable = malloc_usable_size(b->start);
  CHECK(b->usable >= b->size);
  own(b, true);
  fill(b, next(state));
}

static void change(struct block *b, uint64_t *state) {
  struct block old = *b;
  b->size = draw_size(state);
  own(&old, false);
  b->start = next(state) % 4 ? realloc(b->start, b->size) : reallocarray(b->start, 1, b->size);
  CHECK(b->start);
  check_first(&old, b->start, b->size < old.size ? b->size : old.size);
  settle(b, state);
}

static void drop(struct block *b) {
  check(b);
  own(b, false);
  free(b->start);
  free(b);
}

static void act(uint64_t *state) {
  struct block **place = &shared[next(state) % SHARED];
  struct block *b = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
  if (!b) {
    b = malloc(sizeof *b);
    CHECK(b);
    b->size = draw_size(state);
    b->start = draw_start(state, b->size);
    settle(b, state);
  } else if (next(state) % 4 == 0) {
    check(b);
    change(b, state);
  } else {
    drop(b);
    return;
  }
  b = __atomic_exchange_n(place, b, __ATOMIC_ACQ_REL);
  if (b) /* Somebody else's is there by now. */
    drop(b);
}

static void *live(void *seed) {
  uint64_t state = *(uint64_t *)seed;
  for (uint64_t i = next(&state) % LIFE; i != 0 && seconds() < until; --i)
    act(&state);
  return NULL;
}

static void *generations(void *seed) {
  uint64_t state = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;
  while (seconds() < until) {
    uint64_t of_child = next(&state);
    pthread_t id;
    CHECK(pthread_create(&id, NULL, live, &of_child) == 0);
    CHECK(pthread_join(id, NULL) == 0);
  }
  return NULL;
}

static void *give(void *unused) {
  while (seconds() < until) {
    malloc_trim(0);
    sleep_ms(3);
  }
  return unused;
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int threads = atoi(argv[1]);
  CHECK(threads > 0 && threads <= MAX_THREADS);
  make_map();
  until = seconds() + atof(argv[2]);
  pthread_t id[MAX_THREADS + 1];
  for (int i = 0; i != threads; ++i)
    CHECK(pthread_create(&id[i], NULL, generations,
                         (void *)(uintptr_t)(atoi(argv[3]) * 1000 + i)) == 0);
  CHECK(pthread_create(&id[threads], NULL, give, NULL) == 0);
  for (int i = 0; i <= threads; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
  for (int i = 0; i != SHARED; ++i)
    if (shared[i])
      drop(shared[i]);
  CHECK(alive == 0);
  if (vf_malloc_stats) {
    struct vf_malloc_stats s;
    malloc_trim(0);
    vf_malloc_stats(&s, sizeof s);
    CHECK(s.used < LARGEST); /* Caches, and what the allocator notes. */
  }
  return 0;
}
