// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of every size with a checksum, some freed by the pool's owner, some by other
// threads: no two overlap, none loses its contents. With arguments a fuzzer: THREADS
// ROUNDS SEED.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t 1 200000 1
// RUN: %t 8 60000 2

#include "check.h"
#include "vfriendly/pool.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { SHARED = 512, OWN = 256, MAX_THREADS = 64 };

/* At the start of the memory it is about. */
struct head {
  vf_pool *pool;
  size_t size; /* with this */
  uint64_t key;
};

/* Taken out by exchange: each is one thread's at a time. */
static struct head *shared[SHARED];
static vf_pool pools[MAX_THREADS];
static long rounds, freed_for_others;

static uint64_t next(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static size_t draw_size(uint64_t *state) {
  switch (next(state) % 64) {
  case 0:
    return next(state) % 300000;
  case 1:
  case 2:
    return next(state) % 20000;
  default:
    return next(state) % 600;
  }
}

static unsigned char byte_of(const struct head *h, size_t at) {
  return (unsigned char)(h->key + at * 31);
}

static struct head *draw(vf_pool *pool, uint64_t *state) {
  size_t size = sizeof(struct head) + draw_size(state);
  size_t alignment = (size_t)1 << next(state) % 13;
  struct head *h;
  switch (next(state) % 8) {
  case 0:
    h = vf_pool_calloc(pool, 1, size);
    for (size_t i = 0; i != size; ++i)
      CHECK(((unsigned char *)h)[i] == 0);
    break;
  case 1:
    h = vf_pool_aligned_alloc(pool, alignment < 16 ? 16 : alignment, size);
    CHECK((uintptr_t)h % alignment == 0);
    break;
  default:
    h = vf_pool_alloc(pool, size);
  }
  CHECK(h && (uintptr_t)h % 16 == 0);
  *h = (struct head){pool, size, next(state)};
  for (size_t i = sizeof *h; i != size; ++i)
    ((unsigned char *)h)[i] = byte_of(h, i);
  return h;
}

static void check_and_free(struct head *h) {
  for (size_t i = sizeof *h; i != h->size; ++i)
    CHECK(((unsigned char *)h)[i] == byte_of(h, i));
  vf_pool *pool = h->pool;
  memset(h, 0xdd, h->size);
  vf_pool_free(pool, h);
}

static void *work(void *arg) {
  long number = (long)(uintptr_t)arg;
  uint64_t state = (uint64_t)number * 0x9e3779b97f4a7c15u + 1;
  vf_pool *pool = &pools[number % MAX_THREADS];
  vf_pool own = VF_POOL_INIT; /* Whose blocks nobody else sees. */
  struct head *mine[OWN] = {NULL};
  long for_others = 0;
  for (long i = 0; i != rounds; ++i) {
    struct head **place = &shared[next(&state) % SHARED];
    struct head *h = __atomic_exchange_n(place, NULL, __ATOMIC_ACQUIRE);
    if (h) {
      for_others += h->pool != pool;
      check_and_free(h);
    } else {
      h = draw(pool, &state);
      h = __atomic_exchange_n(place, h, __ATOMIC_ACQ_REL);
      if (h) /* Somebody else's is there by now. */
        check_and_free(h);
    }
    if (next(&state) % 500 == 0)
      vf_pool_trim(pool);

    struct head **one = &mine[next(&state) % OWN];
    if (*one)
      check_and_free(*one);
    *one = *one ? NULL : draw(&own, &state);
    if (next(&state) % 3000 == 0) {
      memset(mine, 0, sizeof mine);
      next(&state) % 2 ? vf_pool_reset(&own) : vf_pool_destroy(&own);
    }
  }
  for (int i = 0; i != OWN; ++i)
    if (mine[i])
      check_and_free(mine[i]);
  vf_pool_trim(&own);
  CHECK(!own.state_);
  __atomic_fetch_add(&freed_for_others, for_others, __ATOMIC_RELAXED);
  return NULL;
}

/* Continues the work of the threads before it on one pool, as a coroutine that changes
 * threads does. */
static void *continue_work(void *arg) {
  static vf_pool pool = VF_POOL_INIT;
  static struct head *blocks[OWN];
  uint64_t state = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15u + 1;
  for (int i = 0; i != 2 * OWN; ++i) {
    struct head **one = &blocks[next(&state) % OWN];
    if (*one)
      check_and_free(*one);
    *one = *one ? NULL : draw(&pool, &state);
  }
  if (next(&state) % 4 == 0)
    vf_pool_trim(&pool);
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int threads = atoi(argv[1]);
  rounds = atol(argv[2]);
  CHECK(threads > 0 && threads <= MAX_THREADS);
  pthread_t id[MAX_THREADS];
  for (int i = 0; i != threads; ++i)
    CHECK(pthread_create(&id[i], NULL, work,
                         (void *)(uintptr_t)(atoi(argv[3]) * MAX_THREADS + i)) == 0);
  for (int i = 0; i != threads; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
  CHECK(threads == 1 || freed_for_others > 0);
  for (uintptr_t i = 0; i != 100; i += 2) {
    CHECK(pthread_create(&id[0], NULL, continue_work, (void *)i) == 0);
    CHECK(pthread_join(id[0], NULL) == 0);
    continue_work((void *)(i + 1));
  }
  /* The owners are gone. */
  for (int i = 0; i != SHARED; ++i)
    if (shared[i])
      check_and_free(shared[i]);
  for (int i = 0; i != threads; ++i) {
    vf_pool_trim(&pools[i]);
    CHECK(!pools[i].state_);
  }
  return 0;
}
