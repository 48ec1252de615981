// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under a malloc that fails at one call, or from one on, and that knows what is not freed:
// blocks come or NULL does, those that are there stay as they are, nothing is lost. And how
// much a pool holds.
//
// DEFINE: %{build} = clang -std=gnu11 -O1 -g -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s %vf_src/runtime/pool/pool.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=free -pthread
// RUN: %{build} -o %t
// RUN: %t
// RUN: %{build} -fsanitize=address,undefined -fno-sanitize-recover=all -o %t-asan
// RUN: %t-asan

#include "check.h"
#include "vfriendly/pool.h"
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What there is; the runtime's calls come here. */
static long calls, fail_at = -1, fail_from = -1, held, held_bytes;

void *__real_malloc(size_t), *__real_calloc(size_t, size_t);
void __real_free(void *);

static void *counted(void *memory) {
  CHECK(memory);
  ++held;
  held_bytes += (long)malloc_usable_size(memory);
  return memory;
}

static bool fails(void) {
  bool is_over = calls == fail_at || (fail_from >= 0 && calls >= fail_from);
  ++calls;
  if (is_over)
    errno = ENOMEM;
  return is_over;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void __wrap_free(void *memory) {
  --held;
  held_bytes -= (long)malloc_usable_size(memory);
  memset(memory, 0xdd, malloc_usable_size(memory));
  __real_free(memory);
}

enum { BLOCKS = 300 };

static size_t size_of(int i) { return (size_t)i * 37 % 5000 + (i % 50 == 0) * 140000; }

static void check_all(unsigned char **blocks, int n) {
  for (int i = 0; i != n; ++i)
    for (size_t at = 0; blocks[i] && at != size_of(i); ++at)
      CHECK(blocks[i][at] == (unsigned char)i);
}

static void *take(vf_pool *pool, int i) {
  switch (i % 3) {
  case 0:
    return vf_pool_calloc(pool, 1, size_of(i));
  case 1:
    return vf_pool_aligned_alloc(pool, 64, size_of(i));
  default:
    return vf_pool_alloc(pool, size_of(i));
  }
}

/* Returns whether there was one that did not come. */
static bool run(vf_pool *pool) {
  unsigned char *blocks[BLOCKS];
  bool missed = false;
  for (int i = 0; i != BLOCKS; ++i) {
    errno = 0;
    blocks[i] = take(pool, i);
    CHECK(blocks[i] || errno == ENOMEM);
    if (blocks[i])
      memset(blocks[i], i, size_of(i));
    missed |= !blocks[i];
    if (i % 7 == 0) {
      vf_pool_free(pool, blocks[i / 2]);
      blocks[i / 2] = NULL;
    }
  }
  check_all(blocks, BLOCKS);
  for (int i = 0; i != BLOCKS; i += 2) {
    vf_pool_free(pool, blocks[i]);
    blocks[i] = NULL;
  }
  check_all(blocks, BLOCKS);
  return missed;
}

static void failures(void) {
  vf_pool pool = VF_POOL_INIT;
  calls = 0;
  CHECK(!run(&pool));
  long all = calls;
  vf_pool_destroy(&pool);
  CHECK(held == 0 && all > 5 && all < BLOCKS);
  for (long at = 0; at <= all; ++at) {
    calls = 0, fail_at = at;
    run(&pool); /* A smaller chunk may come instead. */
    vf_pool_destroy(&pool);
    CHECK(held == 0);
    calls = 0, fail_at = -1, fail_from = at;
    CHECK(run(&pool) == (at != all));
    fail_from = -1;
    CHECK(!run(&pool)); /* There is memory again. */
    vf_pool_destroy(&pool);
    CHECK(held == 0);
  }
  calls = 0, fail_from = 0;
  errno = 0;
  CHECK(!vf_pool_create() && errno == ENOMEM);
  fail_from = -1;
}

/* A pool holds a third more than is in it, and what is freed goes. */
static void holds(size_t size) {
  enum { MANY = 100000 };
  static void *blocks[MANY];
  int n = (int)((16u << 20) / size);
  CHECK(n <= MANY);
  vf_pool pool = VF_POOL_INIT;
  for (int i = 0; i != n; ++i)
    CHECK((blocks[i] = vf_pool_alloc(&pool, size)));
  long most = held_bytes;
  CHECK(most < (long)size * n * 4 / 3);
  CHECK(held < 32 || held == n + 1);
  /* Half, but the last of them: all chunks in which none is left. */
  for (int i = 0; i != n / 2; ++i)
    vf_pool_free(&pool, blocks[i]);
  CHECK(held_bytes < most * 2 / 3);
  for (int i = 0; i != n / 2; ++i)
    CHECK((blocks[i] = vf_pool_alloc(&pool, size)));
  /* Sizes of another class have the place of those that are gone. */
  for (int i = n; i-- != 0;)
    vf_pool_free(&pool, blocks[i]);
  CHECK(held_bytes <= (1 << 20) + 2 * 4096 + 2 * (long)size);
  vf_pool_trim(&pool);
  CHECK(held == 0 && held_bytes == 0);
}

/* One at a time, of any size: nothing is left behind. */
static void alternates(void) {
  vf_pool pool = VF_POOL_INIT;
  for (int i = 0; i != 20000; ++i) {
    size_t size = (size_t)i * 7919 % 150000;
    char *block = vf_pool_alloc(&pool, size);
    CHECK(block && held <= 3);
    memset(block, i, size);
    vf_pool_free(&pool, block);
  }
  vf_pool_destroy(&pool);
  CHECK(held == 0);
}

int main(void) {
  failures();
  for (size_t size = 200; size < (1u << 20); size = size * 3 + 24)
    holds(size);
  alternates();
  return 0;
}
