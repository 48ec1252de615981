// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the header promises of each function.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include "pool/sizes.h"
#include "vfriendly/pool.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

static void classes(void) {
  unsigned last = 0;
  for (size_t grains = VF_LEAST_GRAINS; grains <= VF_MOST_GRAINS; ++grains) {
    unsigned class = vf_class_of(grains);
    CHECK(class < VF_CLASSES && (class == last || class == last + 1));
    CHECK(vf_grains_of(class) >= grains);
    CHECK(vf_class_of(vf_grains_of(class)) == class);
    CHECK((vf_grains_of(class) - grains) * 8 <= grains); /* An eighth. */
    last = class;
  }
  CHECK(last == VF_CLASSES - 1);
}

static void sizes(void) {
  vf_pool pool = VF_POOL_INIT;
  char *none = vf_pool_alloc(&pool, 0), *other = vf_pool_alloc(&pool, 0);
  CHECK(none && other && none != other);
  for (size_t size = 1; size < (4u << 20); size += size / 3 + 1) {
    char *block = vf_pool_alloc(&pool, size);
    CHECK(block && (uintptr_t)block % _Alignof(max_align_t) == 0);
    memset(block, 0xee, size);
    if (size % 2)
      vf_pool_free(&pool, block);
    /* Of the same class: the dirty one, which must be clean now. */
    unsigned char *clean = vf_pool_calloc(&pool, 1, size);
    for (size_t i = 0; i != size; ++i)
      CHECK(clean[i] == 0);
    memset(clean, 0xee, size);
  }
  vf_pool_free(&pool, none);
  vf_pool_free(&pool, other);
  vf_pool_free(&pool, NULL);
  vf_pool_destroy(&pool);
  vf_pool_free(&pool, NULL);
}

static void too_much(vf_pool *pool) {
  static const size_t huge[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 63,
                                SIZE_MAX - 4096, PTRDIFF_MAX,
                                (size_t)PTRDIFF_MAX + 1};
  for (size_t i = 0; i != sizeof huge / sizeof *huge; ++i) {
    errno = 0;
    CHECK(!vf_pool_alloc(pool, huge[i]) && errno == ENOMEM);
    errno = 0;
    CHECK(!vf_pool_calloc(pool, 1, huge[i]) && errno == ENOMEM);
    errno = 0;
    CHECK(!vf_pool_calloc(pool, huge[i] / 2 + 1, 3) && errno == ENOMEM);
    for (size_t alignment = 1; alignment; alignment *= 2) {
      errno = 0;
      CHECK(!vf_pool_aligned_alloc(pool, alignment, huge[i]) &&
            errno == ENOMEM);
    }
  }
  errno = 0;
  CHECK(!vf_pool_calloc(pool, SIZE_MAX / 2 + 1, 2) && errno == ENOMEM);
  errno = 0;
  CHECK(!vf_pool_aligned_alloc(pool, SIZE_MAX / 2 + 1, 1) && errno == ENOMEM);
}

static void aligned(vf_pool *pool) {
  for (size_t alignment = 1; alignment <= (1u << 22); alignment *= 2)
    for (size_t size = 0; size < 3 * alignment; size += alignment / 2 + 1) {
      char *block = vf_pool_aligned_alloc(pool, alignment, size);
      CHECK(block && (uintptr_t)block % alignment == 0);
      memset(block, 0xff, size);
      char *next = vf_pool_alloc(pool, 1);
      CHECK(next);
      vf_pool_free(pool, block);
      vf_pool_free(pool, next);
    }
  static const size_t odd[] = {0, 3, 24, SIZE_MAX};
  for (size_t i = 0; i != sizeof odd / sizeof *odd; ++i) {
    errno = 0;
    CHECK(!vf_pool_aligned_alloc(pool, odd[i], 8) && errno == EINVAL);
  }
}

/* What one frees the next one gets, if it is of that class. */
static void used_again(vf_pool *pool) {
  char *a = vf_pool_alloc(pool, 100), *b = vf_pool_alloc(pool, 100);
  CHECK(a && b);
  errno = 42;
  vf_pool_free(pool, a);
  CHECK(errno == 42);
  CHECK(vf_pool_alloc(pool, 101) == a);
  vf_pool_free(pool, b);
  CHECK(vf_pool_alloc(pool, 300) != b);
  CHECK(vf_pool_alloc(pool, 98) == b && errno == 42);
}

int main(void) {
  classes();
  sizes();
  vf_pool pool = VF_POOL_INIT;
  vf_pool_trim(&pool);
  vf_pool_reset(&pool);
  vf_pool_destroy(&pool); /* Unused, and often. */
  too_much(&pool);
  aligned(&pool);
  used_again(&pool);
  too_much(&pool);
  vf_pool_reset(&pool);
  used_again(&pool);
  vf_pool_trim(&pool);
  CHECK(pool.state_); /* There are blocks. */
  vf_pool_destroy(&pool);
  CHECK(!pool.state_);
  used_again(&pool);
  vf_pool_destroy(&pool);

  vf_pool *created = vf_pool_create();
  CHECK(created);
  vf_pool_trim(created);
  aligned(created);
  vf_pool_trim(created);
  vf_pool_reset(created);
  used_again(created);
  vf_pool_destroy(created);
  return 0;
}
