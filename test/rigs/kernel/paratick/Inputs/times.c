// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What depends on ticks, held against CLOCK_MONOTONIC, which does not. Each
// prints a line of JSON:
//   times rate SECONDS     ticks of each CPU while all are busy
//   times idle SECONDS     jiffies and timers while none is
//   times phases SECONDS   for how long the coarse clock stands still while
//                          each CPU computes for a part of each tick's period,
//                          at each of some phases
//   times account SECONDS  what a thread with so much CPU time is charged with,
//                          and its timers
//   times hotplug ROUNDS   ticks of the last CPU after it went and came often
//   times hibernate ROUNDS how long it is there while it hibernates and, once
//   all
//                          is down, turns back

#include "guest.h"
#include "mark.h"
#include "ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>

static const double settle_s = 0.2;
// 5 of the longest ticks there are, of HZ=100.
static const double interval_s = 0.05;
static const double timer_s = 0.1;
enum { LIMIT_S = 1 };

static atomic_bool stop;

static void *busy(void *argument) {
  while (!stop)
    step(1000);
  return argument;
}

// Jiffies of the first CPU that /proc/timer_list shows; only root may read it.
static unsigned long long jiffies(void) {
  FILE *file = fopen("/proc/timer_list", "r");
  if (!file)
    return 0;
  char line[256];
  unsigned long long found = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "jiffies: %llu", &found) == 1)
      break;
  fclose(file);
  return found;
}

// User time and the sum of all columns.
static void cpu_times(double *user, double *all) {
  double of[STAT_COLUMNS];
  proc_stat(of);
  *user = of[STAT_USER];
  *all = 0;
  for (int i = 0; i < STAT_COLUMNS; ++i)
    *all += of[i];
}

static double times_s(void) {
  struct tms unused;
  return (double)times(&unused) / (double)sysconf(_SC_CLK_TCK);
}

static void rate(double seconds) {
  int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < cpus; ++i)
    start(busy, 0, i);
  sleep_for(settle_s);
  print_ticks("rate", seconds);
}

// Nobody ticks for those that sleep, and all the same time passes for them.
static void idle(double seconds) {
  double begin = now(CLOCK_MONOTONIC), times = times_s(), late = 0;
  unsigned long long before = jiffies();
  while (now(CLOCK_MONOTONIC) < begin + seconds) {
    double due = now(CLOCK_MONOTONIC) + timer_s;
    sleep_for(timer_s);
    double by = now(CLOCK_MONOTONIC) - due;
    late = by > late ? by : late;
  }
  // A tick is under way; what it counts is seen when the next one is.
  double took = now(CLOCK_MONOTONIC) - begin;
  printf("{\"check\": \"idle\", \"seconds\": %.6f, \"jiffies\": %llu, "
         "\"times_s\": %.6f, \"late_s\": %.6f}\n",
         took, jiffies() - before, times_s() - times, late);
}

enum { PHASES = 18 };
static const double parts[] = {0.25, 0.5, 0.75};
enum { PARTS = sizeof parts / sizeof *parts };

struct part_time {
  double period, phase, busy, until;
  double lag; // at most
};

// Ticks set the coarse clock, and so does a CPU whose tick was stopped when it
// wakes up.
static double coarse_lag(void) {
  double fine = now(CLOCK_MONOTONIC);
  return fine - now(CLOCK_MONOTONIC_COARSE);
}

static void *part_time(void *argument) {
  struct part_time *me = argument;
  // Else sleeps take 50 us more.
  prctl(PR_SET_TIMERSLACK, 1);
  // Periods begin at multiples of theirs on the clock, as ticks do.
  double at = now(CLOCK_MONOTONIC), next;
  uint64_t period = (uint64_t)(at / me->period);
  while (at < me->until) {
    do
      next = ((double)++period + me->phase) * me->period;
    while (next < at);
    sleep_until(next);
    do {
      double lag = coarse_lag();
      me->lag = lag > me->lag ? lag : me->lag;
      at = now(CLOCK_MONOTONIC);
    } while (at < next + me->busy);
  }
  return 0;
}

// The longest lag at each phase, in periods; all CPUs have the same phase.
static void phases(double seconds) {
  struct timespec resolution;
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution))
    err(1, "clock_getres");
  double period = (double)resolution.tv_nsec / 1e9;
  int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
  for (int part = 0; part < PARTS; ++part) {
    printf("{\"check\": \"phases\", \"period_s\": %g, \"part\": %g, "
           "\"lags\": [",
           period, parts[part]);
    for (int phase = 0; phase < PHASES; ++phase) {
      struct part_time of[MAX_CPUS];
      pthread_t threads[MAX_CPUS];
      double until = now(CLOCK_MONOTONIC) + seconds / PARTS / PHASES, lag = 0;
      for (int i = 0; i < cpus; ++i) {
        of[i] = (struct part_time){.period = period,
                                   .phase = (double)phase / PHASES,
                                   .busy = period * parts[part],
                                   .until = until};
        threads[i] = start(part_time, &of[i], i);
      }
      for (int i = 0; i < cpus; ++i) {
        pthread_join(threads[i], 0);
        lag = of[i].lag > lag ? of[i].lag : lag;
      }
      printf("%s%.2f", phase ? ", " : "", lag / period);
    }
    printf("]}\n");
  }
}

static atomic_uint prof, virtual;

static void count(int signal) { ++*(signal == SIGPROF ? &prof : &virtual); }

static void count_timer(int which, int signal, double interval) {
  struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
  sigaction(signal, &action, 0);
  struct timeval each = {.tv_usec = (suseconds_t)(interval * 1e6)};
  struct itimerval timer = {.it_interval = each, .it_value = each};
  if (setitimer(which, &timer, 0))
    err(1, "setitimer");
}

// CPU time of a child that computes until its limit kills it.
static double killed_after(int *by) {
  pid_t child = fork();
  if (child < 0)
    err(1, "fork");
  if (child == 0) {
    struct rlimit limit = {.rlim_cur = LIMIT_S, .rlim_max = LIMIT_S + 10};
    setrlimit(RLIMIT_CPU, &limit);
    for (;;)
      step(1000);
  }
  int status;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child)
    err(1, "wait4");
  *by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void account(double seconds) {
  double user, all, user_before, all_before;
  count_timer(ITIMER_PROF, SIGPROF, interval_s);
  count_timer(ITIMER_VIRTUAL, SIGVTALRM, interval_s);
  cpu_times(&user_before, &all_before);
  double begin = now(CLOCK_MONOTONIC), times = times_s();
  double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  unsigned long long before = jiffies();
  // To read that clock is a system call: not often, it is to be user time.
  while (now(CLOCK_PROCESS_CPUTIME_ID) < cpu + seconds)
    step(1000000);
  double took = now(CLOCK_MONOTONIC) - begin;
  unsigned long long passed = jiffies() - before;
  times = times_s() - times;
  cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  cpu_times(&user, &all);
  unsigned profs = prof, virtuals = virtual;
  int by;
  double killed = killed_after(&by);
  printf("{\"check\": \"account\", \"seconds\": %.6f, \"cpus\": %ld, "
         "\"jiffies\": %llu, \"times_s\": %.6f, \"cpu_s\": %.6f, "
         "\"user_s\": %.6f, \"all_s\": %.6f, \"interval_s\": %.6f, "
         "\"prof\": %u, \"virtual\": %u, \"limit_s\": %d, \"killed_s\": %.6f, "
         "\"signal\": %d}\n",
         took, sysconf(_SC_NPROCESSORS_ONLN), passed, times, cpu,
         user - user_before, all - all_before, interval_s, profs, virtuals,
         LIMIT_S, killed, by);
}

static void put(const char *path, const char *text) {
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, text, strlen(text)) < 0)
    err(1, "%s", path);
  close(file);
}

static void set_online(int cpu, const char *value) {
  char path[64];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/online", cpu);
  put(path, value);
}

static void hotplug(int rounds) {
  int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (cpus < 2)
    errx(1, "one CPU cannot go");
  for (int i = 0; i < cpus; ++i)
    start(busy, 0, -1);
  for (int i = 0; i < rounds; ++i) {
    set_online(cpus - 1, "0");
    sleep_for(interval_s * (i % 3));
    set_online(cpus - 1, "1");
    sleep_for(interval_s * (i % 2));
  }
  // They may all be where they were before: now each CPU has one.
  for (int i = 0; i < cpus; ++i)
    start(busy, 0, i);
  sleep_for(settle_s);
  print_ticks("hotplug", 3);
}

// CLOCK_MONOTONIC does not go on while the machine is down.
static void hibernate(int rounds) {
  put("/sys/power/pm_test", "core");
  double marked = now(CLOCK_MONOTONIC);
  mark(1);
  for (int i = 0; i < rounds; ++i)
    put("/sys/power/state", "disk");
  marked = now(CLOCK_MONOTONIC) - marked;
  mark(2);
  printf("{\"check\": \"hibernate\", \"marked_s\": %.6f}\n", marked);
}

int main(int argc, char **argv) {
  if (argc != 3 || atof(argv[2]) <= 0)
    errx(2, "usage: times rate|idle|phases|account SECONDS, or times "
            "hotplug|hibernate ROUNDS");
  double number = atof(argv[2]);
  if (!strcmp(argv[1], "rate"))
    rate(number);
  else if (!strcmp(argv[1], "idle"))
    idle(number);
  else if (!strcmp(argv[1], "phases"))
    phases(number);
  else if (!strcmp(argv[1], "account"))
    account(number);
  else if (!strcmp(argv[1], "hotplug"))
    hotplug((int)number);
  else if (!strcmp(argv[1], "hibernate"))
    hibernate((int)number);
  else
    errx(2, "no check '%s'", argv[1]);
  return 0; // which ends the threads
}
