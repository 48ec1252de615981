// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What malloc and its kin promise, word for word as libc keeps it: the same program
// without the library says the same.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %t
// RUN: %vf_malloc %t

#include "check.h"
#include <errno.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t TOO_MUCH = SIZE_MAX / 2 + 1;

static void of_no_size(void) {
  void *a = malloc(0), *b = malloc(0);
  CHECK(a && b && a != b);
  free(a);
  free(b);
  free(NULL);
  a = calloc(0, 10);
  CHECK(a);
  free(a);
  CHECK(malloc_usable_size(NULL) == 0);
  a = realloc(NULL, 10);
  CHECK(a);
  errno = 42;
  CHECK(!realloc(a, 0) && errno == 42); /* It was freed: no failure. */
}

static void of_too_much(void) {
  errno = 0;
  CHECK(!malloc(TOO_MUCH) && errno == ENOMEM);
  errno = 0;
  CHECK(!calloc(TOO_MUCH, 4) && errno == ENOMEM);
  errno = 0;
  CHECK(!calloc(SIZE_MAX, SIZE_MAX) && errno == ENOMEM);
  errno = 0;
  char *kept = malloc(10);
  strcpy(kept, "still it");
  CHECK(!realloc(kept, TOO_MUCH) && errno == ENOMEM);
  CHECK(strcmp(kept, "still it") == 0);
  errno = 0;
  CHECK(!reallocarray(kept, TOO_MUCH, 4) && errno == ENOMEM);
  free(kept);
  errno = 0;
  CHECK(!aligned_alloc(4096, SIZE_MAX - 8192) && errno == ENOMEM);
  errno = 0;
  CHECK(!pvalloc(SIZE_MAX - 10) && errno == ENOMEM);
  errno = 0;
  CHECK(!valloc(TOO_MUCH) && errno == ENOMEM);
  void *p = &p;
  errno = 0;
  CHECK(posix_memalign(&p, 64, TOO_MUCH) == ENOMEM && p == &p && errno == ENOMEM);
}

static void aligned(void) {
  void *p = &p;
  CHECK(posix_memalign(&p, 3, 10) == EINVAL && p == &p);
  CHECK(posix_memalign(&p, sizeof(void *) / 2, 10) == EINVAL && p == &p);
  CHECK(posix_memalign(&p, 0, 10) == EINVAL && p == &p);
  for (size_t alignment = sizeof(void *); alignment <= (1u << 22); alignment *= 2)
    for (size_t size = 1; size < 3 * alignment; size += alignment / 2 + 1) {
      CHECK(posix_memalign(&p, alignment, size) == 0);
      CHECK((uintptr_t)p % alignment == 0 && malloc_usable_size(p) >= size);
      memset(p, 1, size);
      p = realloc(p, size / 2 + 1);
      CHECK(p && *(char *)p == 1);
      free(p);
      p = memalign(alignment, size);
      CHECK(p && (uintptr_t)p % alignment == 0);
      free(p);
    }
  /* memalign's need not be a power of two. */
  for (size_t alignment = 0; alignment < 300; ++alignment) {
    size_t power = 1;
    while (power < alignment)
      power *= 2;
    p = memalign(alignment, 10);
    CHECK(p && (uintptr_t)p % power == 0);
    free(p);
  }
  /* aligned_alloc's need not before glibc 2.38, and then must. */
  int must = strverscmp(gnu_get_libc_version(), "2.38") >= 0;
  for (size_t alignment = 0; alignment < 300; ++alignment) {
    size_t power = 1;
    while (power < alignment)
      power *= 2;
    errno = 0;
    p = aligned_alloc(alignment, 100);
    if (must && power != alignment)
      CHECK(!p && errno == EINVAL);
    else
      CHECK(p && (uintptr_t)p % power == 0 && malloc_usable_size(p) >= 100);
    free(p);
  }
  errno = 0;
  CHECK(!aligned_alloc(TOO_MUCH + 1, 10) && errno == EINVAL);
  errno = 0;
  CHECK(!memalign(TOO_MUCH + 1, 10) && errno == EINVAL);
  errno = 0;
  CHECK(!memalign(TOO_MUCH, 10) && errno == ENOMEM);
  p = valloc(1);
  CHECK((uintptr_t)p % (size_t)sysconf(_SC_PAGESIZE) == 0);
  free(p);
  p = pvalloc(1);
  CHECK((uintptr_t)p % (size_t)sysconf(_SC_PAGESIZE) == 0 &&
        malloc_usable_size(p) >= (size_t)sysconf(_SC_PAGESIZE));
  free(p);
}

static void leaves_errno_alone(void) {
  for (size_t size = 1; size < (64u << 20); size *= 3) {
    errno = 42;
    char *p = malloc(size);
    CHECK(p && errno == 42);
    p[size - 1] = 1;
    free(p);
    CHECK(errno == 42);
  }
}

/* calloc after a block of that size was dirty. */
static void cleans(void) {
  for (int round = 0; round != 20; ++round)
    for (size_t size = 1; size < (8u << 20); size = size * 2 + 1) {
      unsigned char *p = malloc(size);
      memset(p, 0xee, size);
      free(p);
      p = calloc(1, size);
      for (size_t i = 0; i != size; ++i)
        CHECK(p[i] == 0);
      free(p);
    }
}

static void grows(void) {
  size_t size = 1;
  unsigned char *p = malloc(size);
  *p = 0;
  while (size < (32u << 20)) {
    size_t more = size + size / 7 + 1;
    p = realloc(p, more);
    CHECK(p);
    for (size_t i = size; i != more; ++i)
      p[i] = (unsigned char)(i % 251);
    size = more;
  }
  for (size_t i = 0; i != size; ++i)
    CHECK(p[i] == (unsigned char)(i % 251));
  while (size > 1) {
    size = size * 2 / 3;
    p = realloc(p, size ? size : 1);
    CHECK(p && p[size ? size - 1 : 0] == (size ? (size - 1) % 251 : 0));
  }
  free(p);
}

/* It says whether anything went; less than the allocator would give by itself. */
static void trims(void) {
  enum { BLOCKS = 18 };
  char *b[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i)
    b[i] = memset(malloc(50000), 1, 50000);
  malloc_trim(0);
  for (int i = 0; i != BLOCKS - 1; ++i) /* The last one holds libc's heap up. */
    free(b[i]);
  CHECK(malloc_trim(0) == 1);
  CHECK(b[BLOCKS - 1][49999] == 1);
  free(b[BLOCKS - 1]);
  malloc_trim(0);
  CHECK(malloc_trim(0) == 0); /* Nothing is left that could go. */
}

static void tells_what_is_in_use(void) {
  enum { BLOCKS = 40, STEP = 160 };
  void *blocks[BLOCKS];
  size_t sum = 0;
  free(malloc(1));
  struct mallinfo2 before = mallinfo2();
  CHECK(before.arena != 0 && before.uordblks + before.fordblks == before.arena);
  for (int i = 0; i != BLOCKS; ++i) {
    sum += (size_t)(i + 1) * STEP;
    CHECK((blocks[i] = malloc((size_t)(i + 1) * STEP)));
  }
  CHECK(mallinfo2().uordblks >= before.uordblks + sum);
  for (int i = 0; i != BLOCKS; ++i)
    free(blocks[i]);
}

int main(void) {
  tells_what_is_in_use(); /* First: blocks in a thread's cache count as used. */
  of_no_size();
  of_too_much();
  aligned();
  leaves_errno_alone();
  cleans();
  grows();
  trims();
  return 0;
}
