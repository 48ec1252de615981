// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The promises of spin_wait.h, kept by the built library.
//
// TIMED: 5000 calls within 4 s; a wait of 0.1 s takes 0.02 s of CPU time
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include <errno.h>
#include <string.h>
#include <time.h>

static const uint32_t hows[] = {0, VF_SPIN_NOTIFIED, VF_SPIN_NO_SLEEP,
                                VF_SPIN_NOTIFIED | VF_SPIN_NO_SLEEP,
                                VF_SPIN_TRYLOCK};
static const unsigned ways = sizeof hows / sizeof hows[0];

static _Alignas(8) unsigned char memory[16];

/* Long enough to have been in every phase. */
static uint64_t wait_for(const void *addr, uint64_t seen, uint32_t how,
                         double length) {
  uint64_t state = 0;
  errno = 4711;
  for (double end = seconds() + length; seconds() < end;) {
    state = vf_spin_wait(addr, seen, state, how);
    CHECK(state != 0);
    CHECK(errno == 4711);
  }
  return state;
}

static void every_size_and_kind(void) {
  for (unsigned h = 0; h < ways; ++h)
    for (uint32_t size = 1; size <= 8; size *= 2) {
      memset(memory, 0xa5, sizeof memory);
      uint64_t seen = 0;
      memcpy(&seen, memory, size);
      wait_for(memory, seen, size | hows[h], 0.01);
    }
}

/* An address that is only a key may be odd, or lead nowhere. */
static void keys(void) {
  for (unsigned h = 0; h < ways; ++h) {
    wait_for(memory + 3, 0, hows[h], 0.01);
    wait_for((void *)1, 0, hows[h], 0.01);
    wait_for(NULL, 0, hows[h], 0.01);
  }
  vf_spin_notify(NULL);
  vf_spin_notify((void *)1);
}

static void backoff(void) {
  for (unsigned h = 0; h < ways; ++h) {
    uint64_t state = 0;
    for (double end = seconds() + 0.01; seconds() < end;)
      CHECK((state = vf_spin_backoff(state, 8 | hows[h])) != 0);
  }
}

/* Blocked waits look again before they sleep: 5000 calls that slept would take
 * more than five seconds. */
static void changed_values_never_sleep(void) {
  for (uint32_t size = 1; size <= 8; size *= 2) {
    memset(memory, 0xff, sizeof memory);
    uint64_t state = 0, seen = 0;
    memcpy(&seen, memory, size);
    memory[0] = 0xfe;
    double begin = seconds();
    for (int i = 0; i < 5000; ++i)
      state = vf_spin_wait(memory, seen, state, size | VF_SPIN_NOTIFIED);
    CHECK(seconds() - begin < 4);
  }
}

static double cpu_seconds(void) {
  struct timespec used;
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
  return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* And unchanged ones do sleep: a wait that polls has taken millions of steps. Beside threads of others that yield back at once it
 * yields instead, more often than it would sleep, but uses little time. */
static void unchanged_values_sleep(void) {
  for (uint32_t size = 0; size <= 8; size = size ? 2 * size : 1) {
    uint64_t state = wait_for(memory, memory[0], VF_SPIN_NOTIFIED, 0.02), seen = 0;
    memcpy(&seen, memory, size);
    int calls = 0;
    double used = cpu_seconds();
    for (double end = seconds() + 0.1; seconds() < end; ++calls)
      state = vf_spin_wait(memory, seen, state, size | VF_SPIN_NOTIFIED);
    CHECK(calls < 1000 || cpu_seconds() - used < 0.02);
  }
}

static void notifies_keep_errno(void) {
  uint64_t state = 0;
  while (__atomic_load_n(&vf_spin_armed, __ATOMIC_RELAXED) == 0)
    state = vf_spin_wait(memory, 0, state, VF_SPIN_NOTIFIED);
  errno = 4711;
  vf_spin_notify(memory);
  CHECK(errno == 4711);
}

int main(void) {
  every_size_and_kind();
  keys();
  backoff();
  changed_values_never_sleep();
  unchanged_values_sleep();
  notifies_keep_errno();
}
