// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pool of free pages: nothing is handed out twice, what is said to be zero is, and
// sums are right, by one thread against a map of every page and by eight at once. The
// argument is the number of steps of each of the eight.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=thread -pthread -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/malloc/pages.c %vf_src/runtime/malloc/ranges.c %vf_src/runtime/malloc/large.c %vf_src/runtime/malloc/space.c %vf_src/runtime/common/sandbox.c -o %t
// RUN: %t %if full %{ 20000 %} %else %{ 5000 %}
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined -pthread -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/malloc/pages.c %vf_src/runtime/malloc/ranges.c %vf_src/runtime/malloc/large.c %vf_src/runtime/malloc/space.c %vf_src/runtime/common/sandbox.c -o %t.asan
// RUN: %t.asan %if full %{ 20000 %} %else %{ 5000 %}

#include "check.h"
#include "malloc/pages.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096, SLOTS = 200 };

struct block {
  unsigned char *start;
  size_t pages;
};

struct thread {
  unsigned seed;
  struct block blocks[SLOTS];
};

static unsigned draw(struct thread *t, unsigned below) {
  t->seed = t->seed * 1103515245u + 12345u;
  return (t->seed >> 8) % below;
}

static unsigned char tag_of(const unsigned char *page) {
  return (unsigned char)(1 + (uintptr_t)page / PAGE % 250);
}

static void fill(struct block b) {
  for (size_t i = 0; i != b.pages; ++i)
    b.start[i * PAGE] = b.start[i * PAGE + PAGE - 1] =
        tag_of(b.start + i * PAGE);
}

static void still_ours(struct block b) {
  for (size_t i = 0; i != b.pages; ++i)
    CHECK(b.start[i * PAGE] == tag_of(b.start + i * PAGE) &&
          b.start[i * PAGE + PAGE - 1] == tag_of(b.start + i * PAGE));
}

static void take(struct thread *t, struct block *b) {
  size_t pages = draw(t, 8) ? 1 + draw(t, 16) : 1 + draw(t, 600);
  size_t alignment = draw(t, 4) ? PAGE : (size_t)PAGE << draw(t, 6);
  bool must_be_zero = draw(t, 3) == 0, zero = must_be_zero;
  unsigned char *start = vf_pages_take(NULL, pages * PAGE, alignment, &zero);
  CHECK(start && (uintptr_t)start % alignment == 0);
  CHECK(zero || !must_be_zero);
  for (size_t i = 0; zero && i != pages * PAGE; i += 512)
    CHECK(start[i] == 0 && start[i + 511] == 0);
  *b = (struct block){start, pages};
  fill(*b);
}

/* Part of it, the rest, or all: as an arena does that splits an extent. */
static void put(struct thread *t, struct block *b) {
  still_ours(*b);
  size_t pages = draw(t, 3) ? b->pages : 1 + draw(t, (unsigned)b->pages);
  CHECK(vf_pages_put(b->start + (b->pages - pages) * PAGE, pages * PAGE));
  b->pages -= pages;
}

static void extend(struct block *b) {
  bool zero = false;
  void *at = b->start + b->pages * PAGE;
  void *more = vf_pages_take(at, 3 * PAGE, PAGE, &zero);
  CHECK(!more || more == at);
  b->pages += more ? 3 : 0;
  fill(*b);
}

static void give(struct thread *t) {
  static __thread struct vf_pages_batch batch;
  size_t want = (1 + draw(t, 300)) * PAGE;
  size_t got = vf_pages_begin_giving(&batch, want);
  CHECK(got <= want);
  size_t sum = 0;
  bool good = draw(t, 5) != 0;
  for (int i = 0; i != batch.n; ++i) {
    sum += batch.ranges[i].iov_len;
    if (good)
      CHECK(madvise(batch.ranges[i].iov_base, batch.ranges[i].iov_len,
                    MADV_DONTNEED) == 0);
  }
  CHECK(sum == got && sum == batch.bytes);
  vf_pages_end_giving(&batch, good);
}

static size_t used_by(const struct thread *t) {
  size_t sum = 0;
  for (int i = 0; i != SLOTS; ++i)
    sum += t->blocks[i].pages * PAGE;
  return sum;
}

static int steps = 20000;

static void *churn(void *what) {
  struct thread *t = what;
  for (int i = 0; i != steps; ++i) {
    struct block *b = &t->blocks[draw(t, SLOTS)];
    if (!b->pages)
      take(t, b);
    else if (draw(t, 8) == 0)
      extend(b);
    else
      put(t, b);
    if (draw(t, 100) == 0)
      give(t);
  }
  return NULL;
}

/* All that is said to be free and resident can go. */
static void nothing_is_lost(void) {
  static struct vf_pages_batch batch;
  size_t all = vf_pages_totals().resident, sum = 0, got;
  while ((got = vf_pages_begin_giving(&batch, ~(size_t)(PAGE - 1))) != 0) {
    for (int i = 0; i != batch.n; ++i)
      CHECK(madvise(batch.ranges[i].iov_base, batch.ranges[i].iov_len,
                    MADV_DONTNEED) == 0);
    vf_pages_end_giving(&batch, true);
    sum += got;
  }
  CHECK(sum == all && vf_pages_totals().resident == 0);
}

static void alone(void) {
  static struct thread t = {.seed = 1};
  churn(&t);
  struct vf_pages_totals totals = vf_pages_totals();
  CHECK(totals.used == used_by(&t));
  CHECK(totals.used + totals.resident <= totals.mapped);
  for (int i = 0; i != SLOTS; ++i)
    while (t.blocks[i].pages)
      put(&t, &t.blocks[i]);
  CHECK(vf_pages_totals().used == 0);
  nothing_is_lost();
}

static void together(void) {
  enum { THREADS = 8 };
  static struct thread t[THREADS];
  pthread_t id[THREADS];
  for (unsigned i = 0; i != THREADS; ++i) {
    t[i].seed = i + 7;
    CHECK(pthread_create(&id[i], NULL, churn, &t[i]) == 0);
  }
  size_t used = 0;
  for (int i = 0; i != THREADS; ++i) {
    CHECK(pthread_join(id[i], NULL) == 0);
    used += used_by(&t[i]);
  }
  CHECK(vf_pages_totals().used == used);
}

/* Nobody has missed what was the least in between. */
static void remembers_the_least(void) {
  bool zero = false;
  void *a = vf_pages_take(NULL, 100 * PAGE, PAGE, &zero);
  void *b = vf_pages_take(NULL, 50 * PAGE, PAGE, &zero);
  CHECK(vf_pages_put(a, 100 * PAGE) && vf_pages_put(b, 50 * PAGE));
  vf_pages_lowest();
  size_t all = vf_pages_totals().resident;
  zero = false;
  a = vf_pages_take(NULL, 100 * PAGE, PAGE, &zero);
  CHECK(vf_pages_put(a, 100 * PAGE));
  CHECK(vf_pages_lowest() == all - 100 * PAGE);
  CHECK(vf_pages_lowest() == all);
}

/* No space, or none that large: no harm done. */
static void can_fail(void) {
  bool zero = false;
  CHECK(!vf_pages_take(NULL, (size_t)1 << 62, PAGE, &zero));
  CHECK(!vf_pages_take(NULL, ~(size_t)PAGE + 1, (size_t)1 << 62, &zero));
  void *a = vf_pages_take(NULL, PAGE, PAGE, &zero);
  CHECK(a && vf_pages_put(a, PAGE));
}

static bool is_mapped(const void *page) {
  unsigned char in;
  return mincore((void *)page, PAGE, &in) == 0;
}

/* What is free is mapped no more, what is not is. */
static void unmaps(void) {
  bool zero = false;
  char *a = vf_pages_take(NULL, 300 * PAGE, PAGE, &zero);
  a[100 * PAGE] = 1;
  CHECK(vf_pages_put(a, 100 * PAGE) && vf_pages_put(a + 200 * PAGE, 100 * PAGE));
  size_t used = vf_pages_totals().used;
  CHECK(is_mapped(a));
  vf_pages_unmap();
  CHECK(!is_mapped(a) && is_mapped(a + 100 * PAGE) && !is_mapped(a + 200 * PAGE));
  CHECK(a[100 * PAGE] == 1);
  struct vf_pages_totals totals = vf_pages_totals();
  CHECK(totals.resident == 0 && totals.used == used && totals.mapped == used);
  CHECK(vf_pages_lowest() == 0);
  CHECK(vf_pages_put(a + 100 * PAGE, 100 * PAGE));
}

static size_t private_bytes(void) {
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%*s %*s %*s %*s %*s %zu", &pages) == 1);
  fclose(file);
  return pages * PAGE;
}

/* Ranges that are each too small make room for a large one. Not RLIMIT_AS: the
 * sanitizers' shadow is beyond any. */
static void is_short_of_space(void) {
  enum { BLOCKS = 256, MB = 256 * PAGE };
  static char *b[BLOCKS];
  bool zero = false;
  for (int i = 0; i != BLOCKS; ++i) {
    b[i] = vf_pages_take(NULL, MB, PAGE, &zero);
    CHECK(b[i]);
    zero = false;
  }
  vf_pages_unmap(); /* What came along. */
  struct rlimit before, few;
  CHECK(getrlimit(RLIMIT_DATA, &before) == 0);
  few = before;
  few.rlim_cur = private_bytes() + 32 * MB; /* Sanitizers need some, too. */
  CHECK(setrlimit(RLIMIT_DATA, &few) == 0);
  CHECK(!vf_pages_take(NULL, 100 * MB, PAGE, &zero));
  for (int i = 0; i != BLOCKS; i += 2)
    CHECK(vf_pages_put(b[i], MB));
  void *large = vf_pages_take(NULL, 100 * MB, PAGE, &zero);
  CHECK(large && is_mapped(b[1]));
  CHECK(setrlimit(RLIMIT_DATA, &before) == 0);
  CHECK(vf_pages_put(large, 100 * MB));
  for (int i = 1; i < BLOCKS; i += 2)
    CHECK(vf_pages_put(b[i], MB));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  alone();
  steps = atoi(argv[1]);
  CHECK(steps > 0);
  together();
  remembers_the_least();
  can_fail();
  unmaps();
  is_short_of_space();
  return 0;
}
