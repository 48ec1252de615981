/*===- platform/linux/cpu_timers.h - Signals triggered by CPU time --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Tests whether this process may get a signal after it, or one of its threads,
 * has used more CPU time. Sources are ITIMER_VIRTUAL, ITIMER_PROF, a timer of
 * timer_create on a CPU clock, and SIGXCPU of RLIMIT_CPU and RLIMIT_RTTIME.
 *
 * The functions are async-signal-safe, preserve errno and open no file.
 * /proc/self/timers, which tells the clock of each timer, is therefore not
 * read: an open descriptor could disturb other threads that rely on getting the
 * lowest free descriptor, or that need the last free one.
 *===----------------------------------------------------------------------===*/

#ifndef VFRIENDLY_PLATFORM_CPU_TIMERS_H
#define VFRIENDLY_PLATFORM_CPU_TIMERS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Number of POSIX timer ids, from 0, that are tested. The kernel numbers the
 * timers of a process from 0 in the order of their creation. The test of an id
 * that does not exist takes 0.3 us on the development machine. */
#define VF_TIMERS_ASKED 16

static inline bool vf_interval_timer_runs(int which) {
  struct itimerval timer;
  return getitimer(which, &timer) == 0 &&
         (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0);
}

/* Returns true if a POSIX timer runs. Timers of all clocks count, because the
 * kernel does not say which clock a timer has. Waits in a program with a timer
 * of another clock therefore do not sleep, as in a program that was compiled
 * without the rewriting pass. */
static inline bool vf_posix_timer_runs(void) {
  int saved = errno;
  bool runs = false;
  for (int id = 0; id != VF_TIMERS_ASKED && !runs; ++id) {
    struct itimerspec timer;
    runs = syscall(SYS_timer_gettime, id, &timer) == 0 &&
           (timer.it_value.tv_sec != 0 || timer.it_value.tv_nsec != 0);
  }
  errno = saved;
  return runs;
}

static inline bool vf_is_limited(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Returns true if the program may notice SIGXCPU, the signal that the kernel
 * sends at the limit of CPU time: the program handles the signal, or blocks it
 * and may wait for it. Otherwise the signal just ends the process.
 * RLIMIT_RTTIME limits the time that a thread with real-time scheduling runs
 * without blocking; the scheduling of other threads is not known here, so the
 * limit counts even if no thread has it. */
static inline bool vf_cpu_limit_is_told(void) {
  struct sigaction action;
  sigset_t blocked;
  if (!vf_is_limited(RLIMIT_CPU) && !vf_is_limited(RLIMIT_RTTIME))
    return false;
  return (sigaction(SIGXCPU, NULL, &action) == 0 &&
          action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) ||
         (pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 &&
          sigismember(&blocked, SIGXCPU) == 1);
}

static inline bool vf_cpu_timer_runs(void) {
  return vf_interval_timer_runs(ITIMER_VIRTUAL) ||
         vf_interval_timer_runs(ITIMER_PROF) || vf_cpu_limit_is_told() ||
         vf_posix_timer_runs();
}

#endif /* VFRIENDLY_PLATFORM_CPU_TIMERS_H */
