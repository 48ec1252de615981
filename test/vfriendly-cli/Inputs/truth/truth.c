// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// truth N: does things at the lines marked HERE, and prints how often as JSON. What the scheduler decides (whether a wait
// sleeps, whether a wake-up wakes) it takes from the results of the system calls.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void touch_shared(volatile char *pages, int count);
double spin_shared(_Atomic int *flag);

static int N;
static _Atomic int turn, flag, slept, woke;

static char *fresh(int pages) {
  char *p = mmap(0, pages * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(p, pages * 4096L, MADV_NOHUGEPAGE);
  return p;
}

__attribute__((always_inline)) static inline void touch_inlined(volatile char *pages, int count) {
  for (int i = 0; i < count; i++)
    pages[i * 4096L] = 1; // HERE inlined fault
}

// Through libc, whose function has no frame pointer and calls another one.
__attribute__((noinline)) static void zero(char *pages) {
  explicit_bzero(pages, N * 4096L); // HERE libc fault
  flag = 0;
}

static void wait_while(int value) {
  while (turn == value)
    slept += !syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value, 0, 0, 0); // HERE wait
}

static void pass(int value) {
  turn = value;
  woke += syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) == 1; // HERE wake
}

static void *other(void *none) {
  for (int i = 0; i < N; i++) {
    wait_while(0);
    pass(0);
  }
  return none;
}

static double cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// About 0.3 s, in parts so that the time is known.
__attribute__((noinline)) static double spin(void) {
  double begin = cpu_time(), now;
  do {
    for (int i = 0; i < 1000000; i++)
      if (flag == 77) // HERE spin
        break;
    now = cpu_time();
  } while (now < begin + 0.3);
  return now - begin;
}

// Reads as many words, but other ones each time: no wait.
__attribute__((noinline)) static long sum(const int *words, int count) {
  long all = 0;
  for (int i = 0; i < count; i++)
    all += words[i]; // HERE work
  return all;
}

int main(int argc, char **argv) {
  N = argc > 1 ? atoi(argv[1]) : 100;
  touch_inlined(fresh(N), N);
  touch_shared(fresh(N), N);
  zero(fresh(N));
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  for (int i = 0; i < N; i++) {
    pass(1);
    wait_while(1);
  }
  pthread_join(thread, 0);
  double spun = spin(), shared = spin_shared(&flag);
  int *words = calloc(1 << 16, sizeof(int));
  for (int i = 0; i < 4000; i++)
    flag += sum(words, 1 << 16) == 77;
  printf("{\"slept\": %d, \"woke\": %d, \"spun\": %f, \"shared\": %f}\n", slept, woke, spun, shared);
}
