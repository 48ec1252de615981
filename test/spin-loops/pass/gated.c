// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that look only every so many iterations, by a counter of their own: no
// blocking, as many iterations may go by before the next look.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

volatile long arrived;
atomic_int stop;
void arrive(void) { arrived++; atomic_store(&stop, 1); }

// A result variable that only a look can set.
bool wait_for_a_while(long n) {
  bool done = false;
  // expected-remark-re@+1 {{(flag poll) on volatile 'arrived' {{.*}}spin hint, and nothing else: it polls in some iterations only}}
  for (int i = 0; i < 1000 && !done; i++)
    if ((i & 0xff) == 0 && arrived >= n)
      done = true;
  return done;
}

// In an int, which keeps what it was in between.
int wait_by_int(long n) {
  int done = 0;
  // expected-remark-re@+1 {{(flag poll) on volatile 'arrived' {{.*}}spin hint, and nothing else: it polls in some iterations only}}
  for (int i = 0; i < 1000 && !done; i++)
    if ((i & 0xff) == 0 && arrived >= n)
      done = 1;
  return done;
}

// The same behind a pointer, which is not what is waited for.
struct state { long arrived; } *state;
extern long others;
void arrive_there(void) { *(volatile long *)&state->arrived = 1; }
bool wait_behind_pointer(void) {
  bool done = false;
  // expected-remark-re@+1 {{(flag poll) on volatile {{.*}}spin hint, and nothing else: it polls in some iterations only}}
  for (int i = 0; i < 1000 && !done; i++)
    if ((i & 0xff) == 0 && *(volatile long *)&state->arrived >= others)
      done = true;
  return done;
}

// Why not: what others do is not enough, it has to be seen a second time.
int not_twice(long n) {
  int seen = 0;
  for (int i = 0; i < 1000 && seen < 2; i++)
    if ((i & 0xff) == 0 && arrived >= n)
      seen++;
  return seen;
}

// Why not: all of it is plain.
bool not_plain_behind_pointer(void) {
  bool done = false;
  for (int i = 0; i < 1000 && !done; i++)
    if ((i & 0xff) == 0 && state->arrived >= others)
      done = true;
  return done;
}

// Why not: plain memory beside a counter is a setting.
extern int verbose, limit;
void not_setting(void) {
  for (int i = 0; !((i & 7) == 7 && verbose); i++) {
    if (i > limit)
      return;
  }
}

// Why not: it works, and looks now and then whether it should stop.
long not_summing(const int *a, size_t n) {
  long sum = 0;
  for (size_t i = 0; i < n; i++) {
    if ((i & 255) == 0 && atomic_load(&stop))
      break;
    sum += a[i];
  }
  return sum;
}

// Why not: the same, searching.
long not_searching(const int *a, size_t n, int key) {
  for (size_t i = 0; i < n; i++) {
    if ((i & 255) == 0 && atomic_load(&stop))
      break;
    if (a[i] == key)
      return i;
  }
  return -1;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
