// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that are reported and left as they are, each for its reason.
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11 > %t.out 2>&1
// RUN: grep -c 'warning: loop' %t.out | FileCheck %s
// CHECK: {{^}}14{{$}}
// RUN: diff %s %t.c

#include <unistd.h>

volatile int flag;
int plain;
enum phase { first, second } phase;
struct bits { unsigned go : 1; } *bits;
double ratio;

// The text is the macro's, for all its uses.
#define WAIT() while (!flag) __builtin_ia32_pause()
void in_macro(void) { WAIT(); }

// Sleeping is not cured by spinning: somebody has to decide how to block.
void sleeps(void) {
  while (!flag)
    usleep(10);
}

// A bounded spin that ends before another thread could run and return; more in
// fix-bounded-none.c.
void bounded(void) {
  for (int i = 0; i < 100; i++) {
    if (flag)
      break;
    __builtin_ia32_pause();
  }
}

// Ordinary memory whose read has no atomic form.
void no_atomic_form(void) {
  while (bits->go == 0)
    ;
  while (ratio < 1)
    ;
  while (phase == first)
    ;
}
static inline int hidden(void) { return plain; }
void in_a_function(void) {
  while (!hidden())
    ;
}

// The label is jumped to from elsewhere, past where the state would be declared.
void jumps(int c) {
  if (c)
    goto again;
  c = 1;
again:
  if (!flag)
    goto again;
}

// The wait would be skipped by the continue, and the head is the macro's.
#define EVER (;;)
void continues(int n) {
  for EVER {
    if (flag)
      break;
    if (n++ & 1)
      continue;
    n = 7;
  }
}

// Judged on somebody's word: nothing is changed on that.
void bus_backoff(void);
int thing_busy(void);
void report(int n);
static unsigned long spins;
int rw;
void doubts(void) {
  while (!flag)
    bus_backoff();
  while (thing_busy())
    __builtin_ia32_pause();
  for (int n = 0; !flag; n++) {
    if (n % 1000 == 0)
      report(n);
    __builtin_ia32_pause();
  }
  while (!flag) {
    spins++;
    __builtin_ia32_pause();
  }
  while (__sync_fetch_and_add(&rw, 4) < 0) {
    __sync_fetch_and_sub(&rw, 4);
    __builtin_ia32_pause();
  }
}
