// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded spins that are reported and left as they are, each with its reason.
//
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11 2>&1 | FileCheck %s
// RUN: diff %s %t.c

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

atomic_int ready, other;
volatile int foreign;
static volatile int own;
static int plain, *where = &plain;
static atomic_int *_Atomic table[2];
long spins;
static inline void relax(void) { __asm__ volatile("pause"); }
static int read_and_pause(void) { return other; }
void set_own(void) { own = 1; }

void bounds(int most, unsigned limit, char *p) {
  // A thread that gives way comes back later than the loop would have ended.
  // CHECK: :[[@LINE+1]]:3: note: no fix: its bound is reached in less time than a context switch takes
  for (int i = 0; i < 16000; i++)
    if (ready)
      break;
  // CHECK: :[[@LINE+1]]:3: note: no fix: its bound is reached in less time than a context switch takes
  for (int i = 0; i < 160 && !ready; i++)
    relax();
  // The bound may change between two iterations.
  // CHECK: :[[@LINE+1]]:3: note: no fix: its bound is no constant or unchanged local variable
  for (long i = 0; i < spins; i++)
    if (ready)
      break;
  // A short is compared as an int, which ScalarEvolution does not see through.
  // CHECK: :[[@LINE+1]]:3: note: no fix: its bound cannot be computed
  for (short i = 0; i < 20000; i++)
    if (ready)
      break;
  // -1 is the largest of all, as the comparison sees it.
  // CHECK: :[[@LINE+1]]:3: note: no fix: the fix cannot continue its count
  for (int i = -1; i < limit; i++)
    if (ready)
      break;
  // most - 1 - i overflows where i is INT_MIN.
  // CHECK: :[[@LINE+1]]:3: note: no fix: its counter may be negative
  for (int i = -2147483647; i < most; i++)
    if (ready)
      break;
  // Below zero it does not count to zero.
  // CHECK: :[[@LINE+1]]:3: note: no fix: its counter may pass the bound
  while (!ready && --most)
    ;
  // CHECK: :[[@LINE+1]]:3: note: no fix: its counter does not change by one each iteration
  for (int i = 0; i < 1000000; i += 2)
    if (ready)
      break;
  // The counter starts anew, after a fix as before it; a test that holds is not
  // one after which others hold.
  // CHECK: :[[@LINE+1]]:3: note: no fix: the fix cannot continue its count
  for (unsigned i = 1000000; i < 2000000; i--)
    if (ready)
      break;
  // Two counts: both would have to be changed.
  // CHECK: :[[@LINE+1]]:3: note: no fix: it changes more than one variable
  for (int i = 0, j = 0; i < 1000000; i++, j++)
    if (ready)
      break;
  // Others may change the counter.
  int seen;
  int *counter = &seen;
  // CHECK: :[[@LINE+1]]:3: note: no fix: its counter is no local integer that only the loop changes
  for (seen = 0; seen < 1000000; seen++)
    if (ready)
      break;
  *counter = *p;
  // A hole in the count.
  // CHECK: :[[@LINE+1]]:3: note: no fix: the fix cannot continue its count
  for (int i = 0; i < 1000000 && i != 70000; i++)
    if (ready)
      break;
}

void iterations(unsigned n) {
  // The first word may change before the second is read; the next iteration
  // would see that.
  // CHECK: :[[@LINE+1]]:3: note: no fix: an iteration polls several words
  for (int i = 0; i < 1000000; i++)
    if (ready || other)
      break;
  // A pause by its name, and a read by its body.
  // CHECK: :[[@LINE+1]]:3: note: no fix: an iteration polls several words
  for (int i = 0; i < 1000000 && !ready; i++)
    if (read_and_pause())
      break;
  // Which word an iteration polls may change as well.
  // CHECK: :[[@LINE+1]]:3: note: no fix: an iteration polls several words
  for (int i = 0; i < 1000000; i++)
    if (*table[1])
      break;
  // Iterations differ by more than their number.
  // CHECK: :[[@LINE+1]]:3: note: no fix: it polls in some of its iterations only
  for (int i = 0; i < 1000000; i++)
    if (ready && i > 5)
      break;
  // A try writes where it succeeds.
  // CHECK: :[[@LINE+1]]:3: note: no fix: an iteration does more than poll one word and count
  for (int i = 0; i < 1000000; i++)
    if (!atomic_exchange(&ready, 1))
      break;
  // Its pauses are in some iterations only: a poll has no one cost.
  // CHECK: :[[@LINE+1]]:3: note: no fix: an iteration does more than poll one word and count
  for (int i = 0; i < 1000000; i++) {
    if (ready)
      break;
    if (i & 1)
      relax();
  }
  // What the last poll saw is used after the loop.
  int last = 0;
  // CHECK: :[[@LINE+1]]:3: note: no fix: it changes more than one variable
  for (int i = 0; i < 1000000; i++) {
    last = ready;
    if (last)
      break;
  }
  plain = last;
  // Skipped reads of a device are missed.
  // CHECK: :[[@LINE+1]]:3: note: no fix: the word is volatile, and other files may write it: it may be a device register
  for (int i = 0; i < 1000000; i++)
    if (foreign)
      break;
  // The compiler may read it once, and then there is nothing to wait for.
  // CHECK: :[[@LINE+1]]:3: note: no fix: it reads plain memory: make that atomic first
  for (int i = 0; i < 1000000 && !plain; i++)
    relax();
  // The clock goes on while polls are skipped.
  // CHECK: :[[@LINE+1]]:3: note: no fix: it also reads a clock
  for (int i = 0; i < 1000000 && time(0) < 100; i++)
    if (ready)
      break;
  // A wait in the condition would be a larger change than a call in the body.
  // CHECK: :[[@LINE+1]]:3: note: no fix: it is no for or while loop
  do
    relax();
  while (!own && --n);
}

// Each call would have a state of its own, and C allows none here.
// CHECK: :[[@LINE+2]]:3: note: no fix: its function is constexpr, or inline in C, and may have no static variable
inline bool in_inline(void) {
  for (int i = 0; i < 1000000; i++)
    if (ready)
      return true;
  return false;
}

#define WAIT_A_WHILE(word)                                                     \
  for (int i = 0; i < 1000000 && !word; i++)                                   \
  relax()
void in_macro(void) {
  // CHECK: :[[@LINE+1]]:3: note: no fix: the loop is written in a macro
  WAIT_A_WHILE(ready);
}
// The end of the body is the macro's.
#define LEAVE_IF(c) if (c) break
void in_macro_too(void) {
  // CHECK: :[[@LINE+1]]:3: note: no fix: its text cannot be changed here
  for (int i = 0; i < 1000000; i++)
    LEAVE_IF(ready);
}
