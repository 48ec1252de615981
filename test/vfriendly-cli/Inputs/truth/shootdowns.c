// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shootdowns N: gives pages back N times at each of four lines while another
// thread of the process runs, so that each time its CPU is interrupted. Where
// both seldom run at once it ends after MOST_US; prints how often it was.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SIZE (16 * 4096L)

int unmap_shared(char *pages, long size);

#define MOST_US 10e6

static double end_us;
static _Atomic unsigned beat;
static _Atomic int done;

static void *beats(void *unused) {
  while (!done)
    beat++;
  return unused;
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

// Returns when the other thread runs: while it does not, its CPU is not
// interrupted. It beats some 100 times in this time, and between this and the
// call is less than another microsecond.
static void await_beat(void) {
  double began, now;
  do {
    began = now = now_us();
    for (unsigned before = beat; beat == before && now < end_us;)
      now = now_us();
  } while (now > began + 1 && now < end_us);
}

// Both threads on one CPU would interrupt nobody.
static int pin(pthread_t thread, int which) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof all, &all);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &all) && which-- == 0) {
      CPU_SET(cpu, &one);
      return pthread_setaffinity_np(thread, sizeof one, &one);
    }
  return 1;
}

// Returns where to map pages: in the middle of what one page table covers, with
// mappings on both sides. Unmapping the only pages of a page table would free
// it, which interrupts other CPUs as well.
static char *reserved(void) {
  enum { TABLE = 2 << 20 };
  char *p =
      mmap(NULL, 2 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return (char *)(((uintptr_t)p + TABLE - 1) & -(uintptr_t)TABLE) + TABLE / 2;
}

static char *touched(void) {
  static char *place;
  if (!place)
    place = reserved();
  char *p = mmap(place, SIZE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  madvise(p, SIZE, MADV_NOHUGEPAGE);
  for (long i = 0; i < SIZE; i += 4096)
    p[i] = 1;
  await_beat();
  return p;
}

__attribute__((always_inline)) static inline void drop(char *pages) {
  madvise(pages, SIZE, MADV_DONTNEED); // HERE inlined shootdown
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : 100;
  pthread_t thread;
  pthread_create(&thread, NULL, beats, NULL);
  if (pin(thread, 1) || pin(pthread_self(), 0)) {
    printf("{\"cpus\": 1}\n");
    return 0;
  }
  int times = 0;
  for (end_us = now_us() + MOST_US; times < count && now_us() < end_us;
       times++) {
    char *pages = touched();
    drop(pages);
    munmap(pages, SIZE); // It has no pages, so it interrupts nobody.
    unmap_shared(touched(), SIZE);
    pages = touched();
    mprotect(pages, SIZE, PROT_READ);    // HERE libc shootdown
    madvise(pages, SIZE, MADV_DONTNEED); // HERE second of libc
    munmap(pages, SIZE);
  }
  done = 1;
  pthread_join(thread, NULL);
  printf("{\"cpus\": 2, \"times\": %d}\n", times);
  return 0;
}
