// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spins that end by themselves: counted, in front of a blocking call, or timed.
// A count is a budget of time, which the runtime keeps (bounded-counters.c shows
// which counts); what is timed pauses or yields.
//
// RUN: %verify_c %s -o /dev/null

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#define CYCLES() __rdtsc()
#else
#define CYCLES() __builtin_readcyclecounter()
#endif

atomic_int flag;
volatile int word;
int plain;
void set(void) {
  flag = 1;
  word = 1;
  plain = 1;
}

int counted(void) {
  // expected-remark-re@+2 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  // expected-remark@+1 {{link with libvfrt}}
  for (int i = 0; i < 16001; ++i)
    if (atomic_load(&flag))
      return 1;
  return 0;
}

int counted_far(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < 1000000; ++i)
    if (atomic_load(&flag))
      return 1;
  return 0;
}

// PARSEC's barrier, with a volatile counter. With PAUSE so many iterations would last
// far longer than their author meant them to.
int counted_far_in_memory(void) {
  volatile int i = 0;
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}left as it is: its bound was chosen for iterations without a spin hint}}
  while (!word && i < 35000)
    i++;
  return i;
}

int counted_volatile(int n) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  while (!word && --n) {}
  return n;
}

void block(pthread_mutex_t *m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < 161; ++i)
    if (pthread_mutex_trylock(m) == 0)
      return;
  pthread_mutex_lock(m);
}

int try_a_while(atomic_int *l) {
  // expected-remark-re@+1 {{(try-lock) on atomic memory {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < 200; ++i)
    if (!atomic_exchange(l, 1))
      return 1;
  return 0;
}

int paused_already(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < 1000; ++i) {
    if (plain)
      return 1;
    __asm__ volatile("rep; nop" ::: "memory");
  }
  return 0;
}

int timed(const struct timespec *until) {
  struct timespec now;
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}pause or yield in the runtime, and the loop gives up at the same time}}
  while (!atomic_load(&flag)) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > until->tv_sec)
      return 0;
  }
  return 1;
}

int timed_by_cycles(unsigned long long limit) {
  unsigned long long start = CYCLES();
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}pause or yield in the runtime, and the loop gives up at the same time}}
  while (!word)
    if (CYCLES() - start > limit)
      return 0;
  return 1;
}

// A loop around that spins again for ever is a wait, whatever is inside.
void again_and_again(void) {
  for (;;) {
      // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: its bound is reached in less time than a context switch takes}}
    for (int i = 0; i < 16000; ++i)
      if (atomic_load(&flag))
        return;
    pthread_testcancel();
  }
}

// Why not: only the clock decides.
void not_delay(unsigned long long limit) {
  unsigned long long start = CYCLES();
  while (CYCLES() - start < limit) {}
}

// Why not: a search in an array that others may fill ends with the array.
int not_search(const int *a, int n, int what) {
  for (int i = 0; i < n; ++i)
    if (a[i] == what)
      return i;
  return -1;
}

// Why not: its bounds are volatile, but each iteration looks at another element.
volatile int size;
int not_volatile_bounds(const int *a, int what) {
  for (int i = 0; i < size; ++i)
    if (a[i] == what)
      return i;
  return -1;
}

// Plain memory looked at beside a lock that is tried in each iteration.
int try_for_a_while(atomic_int *lock, int rounds) {
  // expected-remark-re@+1 {{(test-and-test-and-set) on {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < rounds; ++i) {
    if (plain)
      return 0;
    if (!atomic_exchange(lock, 1))
      return 1;
  }
  return 0;
}

// Why not: with plain memory alone it is everyday code.
int look_for_a_while(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (plain)
      return 0;
    __asm__ volatile("" ::: "memory");
  }
  return 1;
}
