// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A volatile count of failed polls, which nothing in the loop reads, is a
// statistic as a plain one is. Another value may be a sign of life.
//
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdint.h>

static inline void pause(void) { __asm__ volatile("rep; nop"); }

volatile uint64_t failed;
void flag(int *f) {
  // expected-remark@+1 {{it keeps a count in shared memory}}
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE)) {
    ++failed;
    pause();
  }
}

volatile int alive;
void lives(int *f) {
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE)) {
    alive = !alive;
    pause();
  }
}

// The count says where the loop reads: it is progress.
volatile unsigned next;
extern int words[];
void walks(void) {
  while (!__atomic_load_n(&words[next], __ATOMIC_ACQUIRE)) {
    ++next;
    pause();
  }
}

// So is one that is relaxed, in both accesses.
static _Atomic uint64_t relaxed;
void counted_relaxed(int *f) {
  // expected-remark@+1 {{it keeps a count in shared memory}}
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE)) {
    __c11_atomic_store(&relaxed, __c11_atomic_load(&relaxed, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    pause();
  }
}
// A release shows others what was written before.
void counted_release(int *f) {
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE)) {
    __c11_atomic_store(&relaxed, __c11_atomic_load(&relaxed, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
    pause();
  }
}
uint64_t read_count(void) { return __c11_atomic_load(&relaxed, __ATOMIC_RELAXED); }

// A count that is set back decides when it yields, and nothing else.
static int polls;
void yields_at_times(int *f) {
  // expected-remark@+1 {{it keeps a count in shared memory}}
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE)) {
    if (polls >= 1000) {
      polls = 0;
      sched_yield();
    } else {
      ++polls;
    }
  }
}
// Nothing says that this one waits.
void counts_without_hint(int *f) {
  while (!__atomic_load_n(f, __ATOMIC_ACQUIRE))
    if (++polls >= 1000)
      polls = 0;
}
// What is set back is an index: it goes around.
static unsigned place;
void goes_around(void) {
  while (!__atomic_load_n(&words[place], __ATOMIC_ACQUIRE)) {
    if (place >= 7)
      place = 0;
    else
      ++place;
    pause();
  }
}
int read_polls(void) { return polls + place; }
