// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The condition stands in a function of its own.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>
#include <stdbool.h>

struct job {
  int done;
  volatile int state;
  atomic_int left;
};

static bool is_done(const struct job *j) { return j->done; }
static inline int state_of(struct job *j) { return j->state; }
static bool is_over(struct job *j) { return state_of(j) == 3; }
static int try_take(atomic_int *l) {
  int zero = 0;
  return atomic_compare_exchange_strong(l, &zero, 1);
}
static void relax(void) { __asm__ volatile("" ::: "memory"); }

void finish(struct job *j) {
  j->done = 1;
  j->state = 3;
  atomic_store(&j->left, 0);
}

void wait_done(struct job *j) {
  // expected-remark-re@+1 {{(flag poll) on plain memory {{.*}}wait in the runtime;}}
  while (!is_done(j)) {}
}

void wait_two_deep(struct job *j) {
  // expected-remark-re@+1 {{(flag poll) on volatile memory {{.*}}wait in the runtime [}}
  while (!is_over(j))
    relax();
}

void wait_lock(struct job *j) {
  // expected-remark-re@+1 {{(try-lock) on atomic memory {{.*}}wait in the runtime [}}
  while (!try_take(&j->left)) {}
}

__attribute__((noinline)) static void wait_in_callee(struct job *j) {
  // expected-remark-re@+1 {{(flag poll) on plain memory {{.*}}wait in the runtime;}}
  while (!j->done) {}
}

int caller(struct job *j) {
  wait_in_callee(j);
  return j->state;
}

// Why not: the function counts its calls, which is work.
static int calls;
static bool counting(const struct job *j) {
  ++calls;
  return j->done;
}
int not_counting(const struct job *j) {
  while (!counting(j)) {}
  return calls;
}

// Why not: its body is elsewhere; it may do anything.
bool elsewhere(const struct job *j);
void not_elsewhere(const struct job *j) {
  while (!elsewhere(j)) {}
}

// Why not: the function is reached through a pointer.
void not_indirect(bool (*f)(const struct job *), const struct job *j) {
  while (!f(j)) {}
}

// Why not: it may be replaced by another when linked.
__attribute__((weak)) bool replaceable(const struct job *j) { return j->done; }
void not_replaceable(const struct job *j) {
  while (!replaceable(j)) {}
}

// Why not: it works its way through an array.
static bool next_is_zero(const int **p) { return *(*p)++ == 0; }
const int *not_search(const int *p) {
  while (!next_is_zero(&p)) {}
  return p;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
