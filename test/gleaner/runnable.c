// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of the workload that run or wait for a CPU are told from those that
// sleep, and from other programs'.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -pthread -I %S/../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/gleaner/sense.c %vf_src/runtime/gleaner/place.c %vf_src/runtime/gleaner/spread.c %vf_src/runtime/gleaner/cgroup.c %vf_src/runtime/gleaner/record.c %vf_src/runtime/gleaner/idle_counters.c %vf_src/runtime/gleaner/system.c %vf_src/runtime/platform/linux/cpu_groups.c -o %t
// RUN: %t

#include "check.h"
#include "gleaner/sense.h"
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *spin(void *data) {
  for (;;)
    __asm__ volatile("" ::: "memory");
  return data;
}

static void *rest(void *data) {
  for (;;)
    pause();
  return data;
}

static pid_t child(int spins, int rests) {
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  pthread_t thread;
  for (int i = 0; i < spins; ++i)
    pthread_create(&thread, NULL, spin, NULL);
  for (int i = 0; i < rests; ++i)
    pthread_create(&thread, NULL, rest, NULL);
  rest(NULL);
  return 0;
}

// Threads start and fall asleep within a moment, on a busy machine a long one.
static void until_runnable(const struct gl_record *record, double n) {
  while (gl_sense_own_runnable(record) != n)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(void) {
  static struct gl_record record;
  record.supervisor = getpid();
  record.start_time = gl_start_time(getpid());
  CHECK(gl_sense_own_runnable(&record) == -1);
  pid_t workload = child(2, 5), others = child(3, 0);
  record.daemon = others; // not a part of the workload
  until_runnable(&record, 2);
  pid_t many = child(0, 70);
  until_runnable(&record, -1);
  kill(many, SIGKILL);
  kill(others, SIGKILL);
  kill(workload, SIGKILL);
  while (wait(NULL) > 0)
    continue;
  return 0;
}
