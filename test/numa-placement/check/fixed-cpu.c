// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that are pinned to CPUs by number, and beside each what is no such number.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-fixed-cpu' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

void *work(void *);
enum { THREADS = 8 };

// example: by-number
void pin_by_number(pthread_t *threads, int n) {
  for (int i = 0; i < n; i++) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // CHECK: :[[@LINE+1]]:5: warning: 'CPU_SET' gets a counter as CPU number, not one that sched_getaffinity returned: it fails if the cpuset allows others; choose among those (guidelines/numa-placement.md) [vfriendly-numa-placement-fixed-cpu]
    CPU_SET(i, &set);
    pthread_setaffinity_np(threads[i], sizeof set, &set);
  }
}
// example end

// example: by-affinity
void pin_to_allowed(pthread_t *threads, int n) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed))
    return;
  for (int i = 0, cpu = -1; i < n; i++) {
    do
      cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, &allowed));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(threads[i], sizeof set, &set);
  }
}
// example end

// A constant, of the process.
void first_cpu(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // CHECK: :[[@LINE+1]]:3: warning: 'CPU_SET' gets a constant as CPU number
  CPU_SET(0, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The remainder by the number of CPUs: numbers from 0, allowed or not.
void remainders(pthread_t thread, int id) {
  cpu_set_t set;
  int cpus = sysconf(_SC_NPROCESSORS_ONLN);
  CPU_ZERO(&set);
  // CHECK: :[[@LINE+1]]:3: warning: 'CPU_SET' gets a remainder as CPU number
  CPU_SET(id % cpus, &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
}
void last_cpu(pthread_attr_t *attributes) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // CHECK: :[[@LINE+1]]:3: warning: 'CPU_SET' gets a number of CPUs as CPU number
  CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
  pthread_attr_setaffinity_np(attributes, sizeof set, &set);
}

// A table of one machine's CPUs.
static const unsigned char cores[] = {0, 4, 1, 5};
void by_table(pthread_t *threads) {
  for (int i = 0; i < 4; i++) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // CHECK: :[[@LINE+1]]:5: warning: 'CPU_SET' gets a constant as CPU number
    CPU_SET(cores[i], &set);
    pthread_setaffinity_np(threads[i], sizeof set, &set);
  }
}

// By a function's parameter: the number comes from a caller.
static void pin_self(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // CHECK: :[[@LINE+2]]:3: warning: 'CPU_SET' gets the number of a thread as CPU number
  // CHECK: :[[@LINE+11]]:14: note: the number comes from here
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}
void *numbered(void *arg) {
  pin_self(*(int *)arg);
  return 0;
}
static int ids[THREADS];
void start_numbered(pthread_t *threads) {
  for (int i = 0; i < THREADS; i++) {
    ids[i] = i;
    pthread_create(&threads[i], 0, numbered, &ids[i]);
  }
}
struct job {
  int cpu;
  int wanted;
};
static void apply(cpu_set_t *set) { sched_setaffinity(0, sizeof *set, set); }
void *numbered_by_field(void *arg) {
  struct job *job = arg;
  cpu_set_t set;
  CPU_ZERO(&set);
  // CHECK: :[[@LINE+2]]:3: warning: 'CPU_SET' gets the number of a thread as CPU number
  // CHECK: :[[@LINE+8]]:19: note: the number comes from here
  CPU_SET(job->cpu, &set);
  apply(&set);
  return 0;
}
void start_by_field(pthread_t *threads, struct job *jobs, char **words) {
  for (int i = 0; i < THREADS; i++) {
    jobs[i].wanted = atoi(words[i]);
    jobs[i].cpu = i;
    pthread_create(&threads[i], 0, numbered_by_field, &jobs[i]);
  }
}

// An integer that serves as a set.
void one_bit(int id) {
  unsigned long mask = 1ul << (id % 4);
  // CHECK: :[[@LINE+1]]:3: warning: 'sched_setaffinity' gets a remainder as CPU number
  sched_setaffinity(0, sizeof mask, (cpu_set_t *)&mask);
}

// Not reported: the user chose the number.
void from_option(const char *word) {
  cpu_set_t set;
  int cpu = -1;
  if (word)
    cpu = atoi(word);
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}
void *chosen(void *arg) {
  struct job *job = arg;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(job->wanted, &set);
  apply(&set);
  return 0;
}

// Not reported: nothing tells where the number comes from.
void from_caller(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Not reported: the thread stays where it is.
void stay(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sched_getcpu(), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Not reported: the number is one that the set of allowed CPUs contains.
void one_by_one(pthread_t *threads) {
  cpu_set_t allowed, set;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpus[CPU_SETSIZE], n = 0;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &allowed))
      cpus[n++] = i;
  for (int i = 0; i < n; i++) {
    CPU_ZERO(&set);
    CPU_SET(cpus[i], &set);
    pthread_setaffinity_np(threads[i], sizeof set, &set);
  }
}

// Not reported: all CPUs, of which the kernel keeps the allowed ones.
void anywhere(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE; i++)
    CPU_SET(i, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Not reported: it visits the CPUs; where one is refused, it stays where it is.
void visit(void (*look)(int)) {
  for (int i = 0; i < CPU_SETSIZE; i++) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(i, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
      look(i);
  }
}
// A process that stays.
void processes(int n) {
  for (int i = 0; i < n; i++)
    if (fork() == 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      // CHECK: :[[@LINE+1]]:7: warning: 'CPU_SET' gets a counter as CPU number
      CPU_SET(i, &set);
      sched_setaffinity(0, sizeof set, &set);
      work(0);
      _exit(0);
    }
}

// Not reported: no thread is pinned to this set.
int counted(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  return CPU_COUNT(&set);
}

// Not reported: several bits are a choice of the user's, or all.
void many_bits(void) {
  unsigned long all = ~0ul;
  sched_setaffinity(0, sizeof all, (cpu_set_t *)&all);
}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  sched_setaffinity(0, sizeof set, &set);
}
