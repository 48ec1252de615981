// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that gives up after a number of polls, hundreds of milliseconds, lasts until a flag that
// takes 30 ms of CPU time, although the thread gives way: where the flag comes by CPU time, other
// processes use the CPU, or all threads are stopped for longer than the wait.
//
// TIMED: waits that are bounded by CPU time outlast others on one CPU
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t.runtime -fpass-plugin=%vf_plugin %vf_link
// RUN: %t.runtime
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -pthread -I %S/../../Inputs -I %vf_include %s -o %t.alone -fpass-plugin=%vf_plugin
// RUN: %t.alone

#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 30, STOPPED_MS = 2000 };
#define POLLS 1000000000ul

static atomic_int flag;

__attribute__((noinline)) static bool flag_comes(unsigned long polls) {
  for (unsigned long i = 0; i < polls; ++i)
    if (atomic_load_explicit(&flag, memory_order_acquire))
      return true;
  return false;
}

static void on_signal(int number) {
  (void)number;
  atomic_store(&flag, 1);
}

static bool by_cpu_time(void) {
  struct itimerval timer = {{0, 0}, {0, MS * 1000}};
  signal(SIGVTALRM, on_signal);
  CHECK(setitimer(ITIMER_VIRTUAL, &timer, NULL) == 0);
  return flag_comes(POLLS);
}

static void *set_after_work(void *unused) {
  struct timespec used;
  do
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
  while (used.tv_sec == 0 && used.tv_nsec < MS * 1000000);
  atomic_store(&flag, 1);
  return unused;
}

static bool by_thread(void) {
  pthread_t setter;
  CHECK(pthread_create(&setter, NULL, set_after_work, NULL) == 0);
  bool came = flag_comes(POLLS);
  CHECK(pthread_join(setter, NULL) == 0);
  return came;
}

/* Stopped when some of the 30 ms are over. */
static bool while_stopped(void) {
  pid_t waits = getpid(), stops = fork();
  CHECK(stops >= 0);
  if (stops == 0) {
    sleep_ms(10);
    kill(waits, SIGSTOP);
    sleep_ms(STOPPED_MS);
    kill(waits, SIGCONT);
    _exit(0);
  }
  bool came = by_thread();
  CHECK(waitpid(stops, NULL, 0) == stops);
  return came;
}

/* In a child of its own: the runtime learns anew. */
static bool in_child(bool (*waits)(void)) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0)
    _exit(waits() ? 0 : 1);
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status == 0;
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(in_child(while_stopped));
  pid_t computes[2];
  for (int i = 0; i != 2; ++i) {
    computes[i] = fork();
    CHECK(computes[i] >= 0);
    if (computes[i] == 0)
      for (;;)
        __asm__ volatile("");
  }
  bool came = in_child(by_thread), ticked = in_child(by_cpu_time);
  for (int i = 0; i != 2; ++i) {
    kill(computes[i], SIGKILL);
    CHECK(waitpid(computes[i], NULL, 0) == computes[i]);
  }
  CHECK(came);
  CHECK(ticked);
  return 0;
}
