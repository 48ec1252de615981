// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A malloc that notices what is wrong: writes beside a block or after its free,
// a free of what is none or was freed. It aborts then. Linked into the program.
//
// VF_TEST_FAIL_AT=N makes the Nth call and each seventh from there fail. At exit the
// last line of stderr is "calls N live N", of blocks that the program took since
// its start or the last guard_restart.

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum { GUARD = 32, FRESH = 0xc5, STALE = 0xd9, HELD_BACK = 4096 };

struct block {
  uint64_t mark;
  size_t size;
  void *raw;
  struct block *next;
} __attribute__((aligned(16)));

#define LIVE UINT64_C(0x11fe0b10c011fe01)
#define DEAD UINT64_C(0xdeadb10cdeadb10c)

static atomic_long calls, live;
static long fail_at;
static struct block *held_back[HELD_BACK];
static unsigned next_held_back;
static atomic_flag held_back_lock = ATOMIC_FLAG_INIT;

static void wrong(const char *what) {
  (void)!write(2, "guard: ", 7);
  (void)!write(2, what, strlen(what));
  (void)!write(2, "\n", 1);
  abort();
}

static int fails(void) {
  long call = ++calls;
  if (!fail_at || call < fail_at || (call - fail_at) % 7)
    return 0;
  errno = ENOMEM;
  return 1;
}

static int differs(const unsigned char *at, size_t n, int from) {
  for (size_t i = 0; i != n; ++i)
    if (at[i] != from)
      return 1;
  return 0;
}

static void *take(size_t align, size_t size, int fill) {
  if (fails())
    return NULL;
  size_t before = align > sizeof(struct block) ? align : sizeof(struct block);
  char *raw = __libc_memalign(align < 16 ? 16 : align, before + size + GUARD);
  if (!raw)
    return NULL;
  char *p = raw + before;
  struct block *b = (struct block *)p - 1;
  *b = (struct block){.mark = LIVE, .size = size, .raw = raw};
  memset(p, fill, size);
  memset(p + size, STALE, GUARD);
  ++live;
  return p;
}

static void let_go(struct block *b) {
  if (!b)
    return;
  if (differs((unsigned char *)(b + 1), b->size, STALE))
    wrong("written after its free");
  __libc_free(b->raw);
}

void *malloc(size_t n) { return take(16, n, FRESH); }

void *calloc(size_t n, size_t each) {
  size_t size;
  if (__builtin_mul_overflow(n, each, &size)) {
    errno = ENOMEM;
    return NULL;
  }
  return take(16, size, 0);
}

void *aligned_alloc(size_t align, size_t n) { return take(align, n, FRESH); }

void free(void *p) {
  if (!p)
    return;
  struct block *b = (struct block *)p - 1;
  if (b->mark == DEAD)
    wrong("freed twice");
  if (b->mark != LIVE)
    wrong("freed, but never taken");
  if (differs((unsigned char *)p + b->size, GUARD, STALE))
    wrong("written behind its end");
  b->mark = DEAD;
  memset(p, STALE, b->size);
  --live;
  while (atomic_flag_test_and_set(&held_back_lock))
    sched_yield();
  struct block *oldest = held_back[next_held_back];
  held_back[next_held_back] = b;
  next_held_back = (next_held_back + 1) % HELD_BACK;
  atomic_flag_clear(&held_back_lock);
  let_go(oldest);
}

void *realloc(void *p, size_t n) {
  void *to = malloc(n);
  if (to && p) {
    size_t old = ((struct block *)p - 1)->size;
    memcpy(to, p, old < n ? old : n);
    free(p);
  }
  return to;
}

// Restarts the counts: libraries have allocated before the program begins.
__attribute__((constructor)) void guard_restart(void) {
  const char *text = getenv("VF_TEST_FAIL_AT");
  fail_at = text ? atol(text) : 0;
  calls = live = 0;
}

__attribute__((destructor)) static void report(void) {
  for (unsigned i = 0; i != HELD_BACK; ++i)
    let_go(held_back[i]);
  char text[64];
  int n = snprintf(text, sizeof text, "calls %ld live %ld\n", (long)calls, (long)live);
  (void)!write(2, text, (size_t)n);
}
