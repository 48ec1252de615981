// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A debugger stops at the lines of functions whose waits were rewritten, of one
// that was split for a wait, and of one that got its body back; and it prints
// of a variable its value at that line or that it has none, never another one.
//
// REQUIRES: gdb, native
// RUN: %vf_clang -O2 -g -pthread -mllvm -vf-runtime=none %s -o %t -Rpass=vf-spin-loops 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: timeout 100 gdb --batch -nx -ex "python source = '%s'" -x %S/Inputs/stops.py %t 2>&1 | FileCheck %s

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define APART __attribute__((noinline))
static atomic_int word, turn;
static volatile int sink;

APART int await(int wanted) {
  int twice = wanted * 2;
  // REMARK: gdb.c:[[#@LINE+2]]:{{.*}} failed polls now wait in the runtime
  // CHECK: wanted == 7 is 1 at gdb.c:[[#@LINE+1]]
  while (atomic_load(&word) != wanted) { // STOP: wanted == 7
  }
  // CHECK: twice == 14 is {{1|<optimized out>}} at gdb.c:[[#@LINE+1]]
  sink = twice; // STOP: twice == 14
  return sink;
}

APART int await_long(int limit, int wanted) {
  int tried = 0;
  // REMARK: gdb.c:[[#@LINE+2]]:{{.*}} failed polls now wait in the runtime
  // CHECK: wanted == 9 is 1 at gdb.c:[[#@LINE+3]]
  for (; tried < limit; tried++) {
    // A backtrace of a waiter shows this line.
    if (atomic_load(&word) == wanted) { // STOP: wanted == 9
      sink = tried;
      // CHECK: tried == sink is {{1|<optimized out>}} at gdb.c:[[#@LINE+1]]
      sink = sink + 1; // STOP: tried == sink
      return tried;
    }
  }
  return -1;
}

APART int serve(int wanted) {
  int served = 0, asked;
  // REMARK: gdb.c:[[#@LINE+2]]:{{.*}} failed polls now wait in the runtime
  // CHECK: wanted == 3 is 1 at gdb.c:[[#@LINE+1]]
  while ((asked = atomic_load(&turn)) != wanted) { // STOP: wanted == 3
    if (asked) {
      served += asked;
      // CHECK: served == 5 is {{1|<optimized out>}} at gdb.c:[[#@LINE+1]]
      sink = served; // STOP: served == 5
      atomic_store(&turn, 0);
    }
  }
  return served;
}

// Without a wait: the pass changes it to look closer, and undoes that.
double draw(unsigned long *seed);
APART int choose(unsigned long *seed) {
  double part[12] = {0.14, 0.052, 0.275, 0.134, 0.154, 0.064, 0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
  double at = draw(seed);
  for (int i = 0; i < 12; i++) {
    double sum = 0;
    // CHECK: *seed == 3 is 1 at gdb.c:[[#@LINE+1]]
    for (int j = i; j > 0; j--) // STOP: *seed == 3
      sum += part[j];
    if (at < sum) {
      // CHECK: i == 2 is {{1|<optimized out>}} at gdb.c:[[#@LINE+1]]
      sink = i; // STOP: i == 2
      return i;
    }
  }
  return 0;
}
APART double draw(unsigned long *seed) { return *seed / 10.; }

static atomic_int stage;
static void reach(int number) {
  while (atomic_load(&stage) != number)
    usleep(100);
  usleep(20000);
}

static void *other(void *unused) {
  reach(1);
  atomic_store(&word, 7);
  reach(2);
  atomic_store(&word, 9);
  reach(3);
  atomic_store(&turn, 5);
  while (atomic_load(&turn))
    usleep(100);
  atomic_store(&turn, 3);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  atomic_store(&stage, 1);
  int first = await(7);
  atomic_store(&stage, 2);
  int second = 0;
  do
    second = await_long(1 << 30, 9) >= 0;
  while (!second);
  atomic_store(&stage, 3);
  int third = serve(3);
  unsigned long seed = 3;
  int fourth = choose(&seed);
  pthread_join(thread, NULL);
  // CHECK: 14 1 5 2
  printf("%d %d %d %d\n", first, second, third, fourth);
  return 0;
}
