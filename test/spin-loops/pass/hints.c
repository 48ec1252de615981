// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polls that give way already: by the CPU's hint, by yielding, by sleeping.
//
// RUN: %verify_c %s -o /dev/null

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/select.h>
#include <poll.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#else
#define _mm_pause() __asm__ volatile("yield" ::: "memory")
#endif

atomic_int flag;
volatile int word;
int plain;
void set(void) {
  flag = 1;
  word = 1;
  plain = 1;
}

// A pausing wait wastes its vCPU all the same: the hint tells the hypervisor
// nothing when given in user mode.
void pauses(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag))
    _mm_pause();
}

void pauses_by_asm(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  while (!word)
    __asm__ volatile("rep; nop" ::: "memory");
}

#ifdef __x86_64__
// A prefetch changes no memory.
void prefetches(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  while (!word)
    __asm__ volatile("prefetchw %0" ::"m"(word));
}

// Other text with the same operand may have an effect.
void flushes(void) {
  while (!word)
    __asm__ volatile("prefetchw %0; clzero" ::"m"(word));
}
#endif

void pauses_on_plain(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain' {{.*}}wait in the runtime;}}
  while (!plain)
    __asm__ volatile("pause" ::: "memory");
}

// Yields: another runnable thread gets the CPU, but with none the vCPU spins.
void yields(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag))
    sched_yield();
}

void yields_on_plain(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain' {{.*}}wait in the runtime;}}
  while (!plain)
    sched_yield();
}

void yields_by_c11(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag))
    thrd_yield();
}

void yields_often(void) {
  int i = 0;
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!atomic_load(&flag))
    if (++i % 64 == 0)
      sched_yield();
    else
      _mm_pause();
}

// Sleeps: no vCPU is wasted; how late it wakes is the author's choice.
void sleeps(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: it sleeps between polls}}
  while (!atomic_load(&flag))
    usleep(100);
}

void sleeps_nano(void) {
  struct timespec t = {0, 1000};
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: it sleeps between polls}}
  while (!word)
    nanosleep(&t, NULL);
}

void sleeps_by_select(void) {
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: it sleeps between polls}}
  while (!word) {
    struct timeval t = {0, 1000};
    select(0, NULL, NULL, NULL, &t);
  }
}

void sleeps_on_plain(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain' left as it is: it sleeps between polls{{.*}}data race}}
  while (!plain)
    sleep(1);
}

// Why not: select watches a descriptor, so the loop waits for input.
void not_select(int fd) {
  while (!word) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    select(fd + 1, &set, NULL, NULL, NULL);
  }
}

// Why not: it does not wait for anybody, it only passes the time.
void not_delay(int n) {
  for (int i = 0; i < n; ++i)
    _mm_pause();
}

// Why not: yielding n times ends by itself.
void not_yielding(int n) {
  while (n--)
    sched_yield();
}

// An unknown function is no pause, whatever it is called.
void my_pause(void);
void unknown_hint(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: it calls 'my_pause', whose effects are unknown}}
  while (!atomic_load(&flag))
    my_pause();
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
