/*===- spin-unmodified/trigger.c - A signal after a thread's CPU time -----===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/trigger.h"
#include "platform/linux/cpu_groups.h"
#include "platform/linux/kernel.h"
#include "spin-unmodified/signals.h"
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

/* Maximum time between two ticks at which timers of CPU time help. A signal
 * each 4 ms, as with 250 ticks a second, lets a thread spin for most of its
 * time slice. */
#define TICK_MAX_NS 1100000

static enum vf_trigger_means means;

static int open_event(int tid, uint64_t ns) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof attributes,
      .config = PERF_COUNT_SW_TASK_CLOCK,
      .sample_period = ns,
      .exclude_kernel = 1,
      .exclude_hv = 1,
      .disabled = 1,
      .wakeup_events = 1,
  };
  int file = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1,
                          PERF_FLAG_FD_CLOEXEC);
  if (file < 0)
    return -1;
  /* Programs expect that their own files get the lowest numbers. */
  int high = fcntl(file, F_DUPFD_CLOEXEC, VF_GROUP_FILES_FROM);
  syscall(SYS_close, file);
  return high;
}

/* The kernel's structure with the thread to which a timer's signal goes; glibc
 * before 2.38 does not name the member. */
static int create_timer(int tid) {
  struct {
    union sigval value;
    int signal, notify, thread, padding[11];
  } event = {.signal = vf_signal_number(),
             .notify = 4 /* SIGEV_THREAD_ID */,
             .thread = tid};
  event.value.sival_int = tid;
  int timer;
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
  return syscall(SYS_timer_create, clock, &event, &timer) == 0 ? timer : -1;
}

static void set_timer(int timer, uint64_t ns) {
  struct itimerspec at = {.it_value = vf_timespec(ns)};
  syscall(SYS_timer_settime, timer, 0, &at, NULL);
}

/* Programs may close all descriptors, and open others with their numbers. */
static bool is_event(const struct vf_thread *thread) {
  return thread->trigger >= 0 &&
         fcntl(thread->trigger, F_GETSIG) == vf_signal_number();
}

static bool is_perf_allowed(void) {
  int file = open_event(0, 1000000);
  if (file >= 0)
    syscall(SYS_close, file);
  return file >= 0;
}

static bool are_ticks_fine(void) {
  struct timespec resolution;
  /* The coarse clock advances at each tick. */
  return clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0 &&
         resolution.tv_sec == 0 && resolution.tv_nsec <= TICK_MAX_NS;
}

enum vf_trigger_means vf_trigger_find(void) {
  /* A filter of system calls that is there from the beginning, as in a
   * container or a service, may end the process at the call. */
  bool is_filtered = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
  means = !is_filtered && is_perf_allowed()  ? VF_TRIGGER_PERF
          : !is_filtered && are_ticks_fine() ? VF_TRIGGER_CLOCK
                                             : VF_TRIGGER_NONE;
  return means;
}

int vf_trigger_start(struct vf_thread *thread, uint64_t ns) {
  thread->period = ns;
  if (means == VF_TRIGGER_CLOCK) {
    thread->trigger = create_timer(thread->tid);
    if (thread->trigger < 0)
      return errno;
    set_timer(thread->trigger, ns);
    return 0;
  }
  int file = open_event(thread->tid, ns);
  if (file < 0)
    return errno;
  struct f_owner_ex owner = {F_OWNER_TID, thread->tid};
  if (fcntl(file, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 ||
      fcntl(file, F_SETSIG, vf_signal_number()) != 0 ||
      fcntl(file, F_SETOWN_EX, &owner) != 0 ||
      ioctl(file, PERF_EVENT_IOC_REFRESH, 1) != 0) {
    int error = errno;
    syscall(SYS_close, file);
    return error;
  }
  thread->trigger = file;
  return 0;
}

void vf_trigger_again(struct vf_thread *thread, uint64_t ns) {
  bool is_new = ns != thread->period;
  thread->period = ns;
  if (means == VF_TRIGGER_CLOCK) {
    set_timer(thread->trigger, ns);
    return;
  }
  if (!is_event(thread))
    return;
  if (is_new)
    ioctl(thread->trigger, PERF_EVENT_IOC_PERIOD, &ns);
  ioctl(thread->trigger, PERF_EVENT_IOC_REFRESH, 1);
}

void vf_trigger_stop(struct vf_thread *thread) {
  if (means == VF_TRIGGER_CLOCK && thread->trigger >= 0)
    syscall(SYS_timer_delete, thread->trigger);
  else if (is_event(thread))
    syscall(SYS_close, thread->trigger);
  thread->trigger = -1;
}

void vf_trigger_forget(struct vf_thread *thread) {
  /* Timers are not inherited. */
  if (means == VF_TRIGGER_PERF && is_event(thread))
    syscall(SYS_close, thread->trigger);
  thread->trigger = -1;
}

bool vf_trigger_is_mine(const struct vf_thread *thread, const siginfo_t *info) {
  if (means == VF_TRIGGER_CLOCK)
    return info->si_code == SI_TIMER && info->si_value.sival_int == thread->tid;
  /* POLL_IN to POLL_HUP, which need no header of their own. */
  return info->si_code >= POLL_IN && info->si_code <= POLL_HUP &&
         info->si_fd == thread->trigger && thread->trigger >= 0;
}
