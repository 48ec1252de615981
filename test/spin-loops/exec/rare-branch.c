// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flat loops with rare branches, several forms of the counter. Each rare branch is
// taken in the iterations in which the source says so, however long the flag takes.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static int threads;
static atomic_int flag;
static volatile unsigned odd_period = 1999;
static void raise_flag(int round) { atomic_store(&flag, round); }
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE()
#endif
static void nap(void) {
  struct timespec t = {0, 20000};
  nanosleep(&t, 0);
}
static void expect(int holds) {
  if (!holds)
    abort();
}

static void every(int round) {
  unsigned n = 0, visits = 0, period = odd_period;
  while (atomic_load(&flag) != round) {
    PAUSE();
    if (++n % period == 0) {
      expect(n == ++visits * period);
      nap();
    }
  }
}
// The counter wraps: 0 is a multiple, too.
static void wraps(int round) {
  unsigned n = -500u, visits = 0;
  while (atomic_load(&flag) != round) {
    if (++n % 3000 == 0) {
      expect(n == visits++ * 3000);
      nap();
    }
    PAUSE();
  }
}
// Remainders of negative numbers are negative.
static void begins_negative(int round) {
  int n = -500, visits = 0, period = (int)odd_period;
  while (atomic_load(&flag) != round) {
    if (++n % period == 0) {
      expect(n == visits++ * period);
      nap();
    }
    PAUSE();
  }
}
static void resets(int round) {
  int n = 0, limit = 700;
  for (;;) {
    if (++n > limit) {
      expect(n == limit + 1);
      nap();
      n = 0;
      limit += 100;
    }
    if (atomic_load(&flag) == round)
      return;
    PAUSE();
  }
}
static void last_of_each(int round) {
  unsigned long n = 0, seen = 0;
  while (atomic_load(&flag) != round) {
    PAUSE();
    if ((n++ & 1023) == 1023) {
      expect(n == ++seen * 1024);
      nap();
    }
  }
}
// Every fiftieth round is long.
static void await(int round) {
  void (*const kinds[])(int) = {last_of_each, every, wraps, begins_negative, resets};
  kinds[(round + round / 50) % 5](round);
}

#define KIND_FLAG
#include "harness.h"
