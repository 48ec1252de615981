// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs that run in L2 share.

#pragma once

// CPU sets.
#define _GNU_SOURCE

#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 64 };

static inline double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void sleep_for(double seconds) {
  struct timespec t = {.tv_sec = (time_t)seconds};
  t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t))
    ;
}

// By CLOCK_MONOTONIC.
static inline void sleep_until(double at) {
  struct timespec t = {.tv_sec = (time_t)at};
  t.tv_nsec = (long)((at - (double)t.tv_sec) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0))
    ;
}

// The compiler can neither drop it nor do it faster.
static inline void step(unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    __asm__ volatile("" : "+r"(i));
}

// The interrupts of a name in /proc/interrupts, of each CPU that is online.
// Returns how many CPUs the line has, 0 if there is no such line.
static inline int interrupts(const char *name, uint64_t *of) {
  FILE *file = fopen("/proc/interrupts", "r");
  if (!file)
    err(1, "/proc/interrupts");
  char *line = 0;
  size_t room = 0, length = strlen(name);
  int cpus = 0;
  while (getline(&line, &room, file) > 0) {
    char *at = line + strspn(line, " "), *end;
    if (strncmp(at, name, length) || at[length] != ':')
      continue;
    for (at += length + 1; cpus < MAX_CPUS; at = end) {
      uint64_t value = strtoull(at, &end, 10);
      if (end == at)
        break;
      of[cpus++] = value;
    }
    break;
  }
  free(line);
  fclose(file);
  return cpus;
}

enum { STAT_USER, STAT_IDLE = 3, STAT_IOWAIT, STAT_COLUMNS = 8 };

// The first line of /proc/stat, in seconds, without the columns of guests,
// which are user time already.
static inline void proc_stat(double *of) {
  FILE *file = fopen("/proc/stat", "r");
  unsigned long long ticks;
  if (!file || fscanf(file, "cpu") != 0)
    errx(1, "/proc/stat is unlike any known");
  for (int i = 0; i < STAT_COLUMNS; ++i) {
    if (fscanf(file, "%llu", &ticks) != 1)
      errx(1, "/proc/stat is unlike any known");
    of[i] = (double)ticks / (double)sysconf(_SC_CLK_TCK);
  }
  fclose(file);
}

static inline uint64_t all_interrupts(const char *name) {
  uint64_t of[MAX_CPUS], sum = 0;
  for (int i = interrupts(name, of); i--;)
    sum += of[i];
  return sum;
}

// On the CPU of that number among those we may use; -1: on any.
static inline pthread_t start(void *(*run)(void *), void *argument, int cpu) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (cpu >= 0) {
    cpu_set_t ours, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof ours, &ours);
    if (CPU_COUNT(&ours) <= cpu)
      errx(1, "there are %d CPUs, too few", CPU_COUNT(&ours));
    int at = 0;
    for (int left = cpu; !CPU_ISSET(at, &ours) || left--; ++at)
      ;
    CPU_SET(at, &one);
    pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
  }
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, argument))
    errx(1, "no thread");
  pthread_attr_destroy(&attributes);
  return thread;
}
