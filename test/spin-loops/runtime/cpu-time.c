// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flag that a signal handler sets, where the signal comes by CPU time: asleep, or yielding
// to a thread that computes, the wait would take hundreds of times as long as it did. Alone,
// and on a CPU that another process uses; in the runtime, and in the wait of an object that
// is linked without it.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t.called -DCALLED %vf_link
// RUN: %t.called
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -I %S/../../Inputs -I %vf_include %s -o %t.rewritten -fpass-plugin=%vf_plugin %vf_link
// RUN: %t.rewritten
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -I %S/../../Inputs -I %vf_include %s -o %t.alone -fpass-plugin=%vf_plugin
// RUN: %t.alone

#include "check.h"
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS = 30, WITHIN_S = 60 };

static volatile sig_atomic_t flag;
static void on_signal(int number) {
  (void)number;
  flag = 1;
}

static void interval(int which, int number) {
  struct itimerval timer = {{0, 0}, {0, MS * 1000}};
  signal(number, on_signal);
  CHECK(setitimer(which, &timer, NULL) == 0);
}

static void real(void) { interval(ITIMER_REAL, SIGALRM); }
static void virtual(void) { interval(ITIMER_VIRTUAL, SIGVTALRM); }
static void profile(void) { interval(ITIMER_PROF, SIGPROF); }

static void posix(clockid_t clock) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec when = {{0, 0}, {0, MS * 1000000}};
  signal(SIGUSR1, on_signal);
  CHECK(timer_create(clock, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &when, NULL) == 0);
}

static void process_clock(void) { posix(CLOCK_PROCESS_CPUTIME_ID); }
static void thread_clock(void) { posix(CLOCK_THREAD_CPUTIME_ID); }

static void limit(void) {
  struct rlimit seconds = {1, RLIM_INFINITY};
  signal(SIGXCPU, on_signal);
  CHECK(setrlimit(RLIMIT_CPU, &seconds) == 0);
}

/* Only a privileged process can have a real-time thread. */
static void realtime_limit(void) {
  struct rlimit us = {MS * 1000, RLIM_INFINITY};
  struct sched_param lowest = {.sched_priority = 1};
  signal(SIGXCPU, on_signal);
  CHECK(setrlimit(RLIMIT_RTTIME, &us) == 0);
  if (sched_setscheduler(0, SCHED_RR, &lowest) != 0)
    _exit(0);
}

/* Its writer is the handler. */
static void wait_for_flag(unsigned how) {
#ifdef CALLED
  uint64_t state = 0;
  while (!flag)
    state = vf_spin_wait(&flag, 0, state, how);
#else
  (void)how;
  while (!flag)
    ;
#endif
}

/* A wait may begin before its timer does. */
static void waits_while_there_is_none(unsigned how) {
#ifdef CALLED
  uint64_t state = 0;
  for (double end = seconds() + 0.005; seconds() < end;)
    state = vf_spin_wait(&flag, 0, state, how);
#else
  (void)how;
#endif
}

static pid_t computes; /* where it uses the child's CPU */

static double cpu_seconds(pid_t pid) {
  clockid_t clock;
  struct timespec used;
  CHECK(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0);
  return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

/* Seconds in which it ran, or could have. */
static double runnable_seconds(pid_t pid) {
  char name[64];
  unsigned long long ran = 0, waited = 0;
  snprintf(name, sizeof name, "/proc/%d/schedstat", pid);
  FILE *file = fopen(name, "r");
  if (file) {
    CHECK(fscanf(file, "%llu %llu", &ran, &waited) == 2);
    fclose(file);
  }
  return (double)(ran + waited) / 1e9;
}

/* What a wait that sleeps, or yields to the other, loses: whatever else the machine does. */
static double lost_seconds(pid_t pid) { return computes ? cpu_seconds(computes) : seconds() - runnable_seconds(pid); }

static void in_child(void (*begin)(void), unsigned how) {
  double before = computes ? cpu_seconds(computes) : seconds();
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    waits_while_there_is_none(how);
    begin();
    wait_for_flag(how);
    _exit(0);
  }
  int status;
  pid_t ended;
  while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && lost_seconds(pid) - before < WITHIN_S)
    sleep_ms(1);
  if (ended == 0)
    kill(pid, SIGKILL);
  CHECK(ended == pid && status == 0);
}

static void (*const kinds[])(void) = {virtual, real, profile, process_clock, thread_clock, limit, realtime_limit};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void first(unsigned n) {
  static const unsigned hows[] = {0, VF_SPIN_NO_SLEEP, sizeof flag | VF_SPIN_NOTIFIED};
#ifdef CALLED
  enum { HOWS = sizeof hows / sizeof *hows };
#else
  enum { HOWS = 1 };
#endif
  for (unsigned kind = 0; kind != n; ++kind)
    /* The kernel counts a limit in seconds: one of these must do. */
    for (unsigned how = kinds[kind] == limit ? HOWS - 1 : 0; how != HOWS; ++how)
      in_child(kinds[kind], hows[how]);
}

static void beside_another(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  computes = fork();
  CHECK(computes >= 0);
  if (computes == 0)
    for (;;)
      __asm__ volatile("");
  first(1); /* To ask is the same for all. */
  kill(computes, SIGKILL);
  CHECK(waitpid(computes, NULL, 0) == computes);
}

int main(void) {
  first(KINDS);
  beside_another();
  return 0;
}
