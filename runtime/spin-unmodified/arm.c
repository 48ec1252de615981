/*===- spin-unmodified/arm.c - Which threads are watched closely ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "spin-unmodified/arm.h"
#include "platform/linux/cpu_timers.h"
#include "platform/linux/kernel.h"
#include "platform/linux/run_delay.h"
#include "platform/linux/shortage.h"
#include "spin-unmodified/counters.h"
#include "spin-unmodified/decode.h"
#include "spin-unmodified/handle.h"
#include "spin-unmodified/next.h"
#include "spin-unmodified/signals.h"
#include "spin-unmodified/threads.h"
#include "spin-unmodified/trigger.h"
#include "spin-wait/limit.h"
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define TICK_NS 50000000u
/* A process is looked at again when it has used so much CPU time, and each of
 * its threads when that one has: not after a time, as on a machine with many
 * runnable threads they all run rarely. */
#define USED_NS 2000000u
#define RAN_NS 1000000u
/* CPUs are short if threads waited for them for this part of the time, in sum,
 * in so many ticks in a row: threads that have just been created may share a
 * CPU for a moment. No longer if that has not been so for so many ticks. */
#define DELAYED_PART 20
#define SHORT_TICKS 3
#define CALM_TICKS 20
/* A thread that runs for so long between two switches is armed. Those that
 * block more often would pay for the trigger at each switch. */
#define RUN_NS 300000u
/* One that is armed, and has not been found waiting for so long, is armed only
 * as long as it runs so. */
#define KEPT_NS 200000000u
/* Maximum number of threads of which the kernel is asked how long they waited,
 * 5 us each, and that are armed. */
#define LOOKED_AT 64
/* Ticks with no other thread than the main one after which the watcher ends. */
#define LONELY_TICKS 10
/* Threads are armed that long after a timer of CPU time has run: many programs
 * set it again in its handler. */
#define TIMER_NS 1000000000u
/* Time between two tries to disarm a thread. */
#define DISARM_NS 1000000u
#define STACK_SIZE 131072
#define STACK_LARGE (8u << 20) /* the usual one */

const char *vf_arm_off;

static uint32_t is_there; /* the watcher */
static uint32_t must_end;
static bool arms_always, is_prepared;
static int seccomp_before;

struct look {
  uint64_t now, used;
  uint64_t timer_at; /* when a timer of CPU time was last seen to run */
  unsigned calm, delayed, lonely;
  bool is_short;
  struct vf_shortage shortage;
};

static uint64_t thread_ns(int tid) {
  struct timespec t = {0, 0};
  clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
  syscall(SYS_clock_gettime, clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits of threads with a real-time policy must not be prolonged, and yields
 * do not let others run. */
static bool is_ordinary(int tid) {
  int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

/* Returns the length of what was read, less than `size`, or -1. */
static long read_self(const char *path, char *text, size_t size) {
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return -1;
  long n = syscall(SYS_read, file, text, size - 1);
  syscall(SYS_close, file);
  text[n > 0 ? n : 0] = '\0';
  return n;
}

static bool is_traced(void) {
  char text[2048];
  if (read_self("/proc/self/status", text, sizeof text) < 0)
    return true;
  const char *at = strstr(text, "TracerPid:\t");
  return !at || at[sizeof "TracerPid:\t" - 1] != '0';
}

/* Returns true if the program has made a timer of a CPU clock. The kernel does
 * not tell whether it runs. */
static bool has_posix_timer(void) {
  char text[4096]; /* some 40 timers; a program with more is left alone */
  long n = read_self("/proc/self/timers", text, sizeof text);
  long signal_of_timer = 0;
  for (char *line = text; n > 0 && *line; line = strchr(line, '\n') + 1) {
    if (strncmp(line, "signal: ", 8) == 0)
      signal_of_timer = strtol(line + 8, NULL, 10);
    long clock = strncmp(line, "ClockID: ", 9) ? 0 : strtol(line + 9, NULL, 10);
    bool is_cpu = clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID ||
                  clock == CLOCK_THREAD_CPUTIME_ID;
    if (is_cpu && signal_of_timer != vf_signal_number())
      return true;
    if (!strchr(line, '\n'))
      return true;
  }
  return n == sizeof text - 1;
}

static bool timer_may_end_wait(void) {
  return vf_interval_timer_runs(ITIMER_VIRTUAL) ||
         vf_interval_timer_runs(ITIMER_PROF) || vf_cpu_limit_is_told() ||
         has_posix_timer();
}

/* Returns false if the thread is in its handler. */
static bool disarm(struct vf_thread *thread) {
  if (!vf_thread_change(thread, VF_ARMED))
    return vf_thread_state(thread) != VF_HANDLING;
  vf_trigger_stop(thread);
  vf_thread_set(thread, VF_IDLE);
  return true;
}

/* Waits for threads that are in their handlers, at most 50 ms each. */
static void disarm_all(void) {
  for (unsigned i = 0; i != vf_threads_end(); ++i)
    while (!disarm(&vf_threads[i]))
      vf_sleep_ns(DISARM_NS);
}

static void arm(struct vf_thread *thread, uint64_t now) {
  if (!is_ordinary(thread->tid) || !vf_thread_change(thread, VF_IDLE))
    return;
  thread->found_at = now;
  /* One that was found computing is asked as rarely as it was last: of 200
   * threads that compute, each is armed and disarmed several times a second. */
  bool done = vf_trigger_start(thread, thread->period ? thread->period
                                                      : VF_PERIOD_MIN_NS) == 0;
  vf_thread_set(thread, done ? VF_ARMED : VF_IDLE);
  if (done)
    vf_spin_count(VF_SPIN_ARMED, 1);
}

/* Reads what the thread did since it was last looked at. Returns how long it
 * has waited for a CPU in each second since then, in ns. */
static uint64_t look_at(struct vf_thread *thread, uint64_t now, uint64_t cpu) {
  struct vf_run_statistics is;
  uint64_t elapsed = now - thread->looked_at, waited = 0;
  if (!vf_run_statistics_of(thread->tid, &is))
    return 0;
  if (thread->looked_at != 0 && elapsed != 0) {
    thread->qualifies =
        is.run_ns - thread->run_ns > RUN_NS * (is.slices - thread->slices);
    waited = is.delay_ns - thread->delay_ns;
    waited = waited < elapsed
                 ? (uint64_t)((double)waited / (double)elapsed * 1e9)
                 : 1000000000u;
  }
  thread->qualifies |= arms_always;
  thread->looked_at = now;
  thread->cpu_ns = cpu;
  thread->run_ns = is.run_ns;
  thread->delay_ns = is.delay_ns;
  thread->slices = is.slices;
  return waited;
}

/* Looks at the threads that have run enough. Returns the sum for them. */
static uint64_t look_at_threads(uint64_t now) {
  uint64_t waited = 0;
  unsigned looked_at = 0;
  for (unsigned i = 0; i != vf_threads_end(); ++i) {
    struct vf_thread *thread = &vf_threads[i];
    enum vf_thread_state state = vf_thread_state(thread);
    thread->qualifies = false;
    if (state == VF_FREE || state == VF_CHANGING)
      continue;
    uint64_t cpu = thread_ns(thread->tid);
    if ((arms_always || cpu - thread->cpu_ns >= RAN_NS) &&
        ++looked_at <= LOOKED_AT)
      waited += look_at(thread, now, cpu);
  }
  return waited;
}

static bool find_shortage(struct look *look) {
  uint64_t waited = look_at_threads(look->now);
  vf_limit_look(look->now);
  bool host_takes = vf_shortage_stolen(&look->shortage, look->now);
  if (arms_always || waited * DELAYED_PART > 1000000000u ||
      vf_limit_is_near() || host_takes) {
    look->calm = 0;
    return look->is_short || arms_always || ++look->delayed >= SHORT_TICKS;
  }
  look->delayed = 0;
  return look->is_short && ++look->calm < CALM_TICKS;
}

/* Prepares what only a process with too few CPUs needs. Returns false, and sets
 * vf_arm_off, if that fails. */
static bool prepare(void) {
  if (is_prepared)
    return true;
  if (vf_decoder_start() != 0)
    vf_arm_off = "there is no memory";
  else if (vf_signals_start(vf_handle) != 0)
    vf_arm_off = "handlers cannot be installed";
  is_prepared = !vf_arm_off;
  return is_prepared;
}

static void change(struct look *look) {
  if (timer_may_end_wait())
    look->timer_at = look->now;
  bool has_timer = look->timer_at != 0 && look->now - look->timer_at < TIMER_NS;
  bool may = !has_timer && !is_traced();
  for (unsigned i = 0; i != vf_threads_end(); ++i) {
    struct vf_thread *thread = &vf_threads[i];
    enum vf_thread_state state = vf_thread_state(thread);
    uint64_t found = __atomic_load_n(&thread->found_at, __ATOMIC_RELAXED);
    if (state == VF_IDLE && thread->qualifies && may)
      arm(thread, look->now);
    else if (state == VF_ARMED &&
             (!may || (!thread->qualifies && look->now > found &&
                       look->now - found > KEPT_NS)))
      disarm(thread);
  }
}

/* Returns false if the watcher is no longer needed. */
static bool look(struct look *look) {
  uint64_t used = vf_process_ns();
  look->now = vf_now_ns();
  /* A filter may not allow what the watcher does. */
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != seccomp_before)
    return false;
  look->lonely = vf_threads_count() > 1 ? 0 : look->lonely + 1;
  if (look->lonely > LONELY_TICKS)
    return false;
  if (used - look->used < USED_NS && !look->is_short && !arms_always)
    return true;
  look->used = used;
  bool was_short = look->is_short;
  look->is_short = find_shortage(look);
  if (look->is_short && !prepare())
    return false;
  if (look->is_short)
    change(look);
  else if (was_short)
    disarm_all();
  return true;
}

static void *watch(void *unused) {
  struct look state = {.now = vf_now_ns(), .used = vf_process_ns()};
  do
    vf_futex_wait(&must_end, 0, TICK_NS);
  while (!__atomic_load_n(&must_end, __ATOMIC_ACQUIRE) && look(&state));
  disarm_all();
  if (!vf_arm_off && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != seccomp_before)
    vf_arm_off = "the program has installed a filter of system calls";
  __atomic_store_n(&is_there, 0, __ATOMIC_RELEASE);
  return unused;
}

static int create(size_t stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack);
  int error = vf_spin_next()->pthread_create(&thread, &attributes, watch, NULL);
  pthread_attr_destroy(&attributes);
  return error;
}

bool vf_arm_watches(void) {
  if (vf_arm_off)
    return false;
  if (__atomic_load_n(&is_there, __ATOMIC_RELAXED) ||
      __atomic_exchange_n(&is_there, 1, __ATOMIC_SEQ_CST))
    return true;
  if (__atomic_load_n(&must_end, __ATOMIC_SEQ_CST)) {
    __atomic_store_n(&is_there, 0, __ATOMIC_RELEASE);
    return false;
  }
  int saved = errno;
  sigset_t all, before;
  sigfillset(&all);
  seccomp_before = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  vf_spin_next()->pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = create(STACK_SIZE);
  if (error == EINVAL) /* glibc puts all thread-local variables there */
    error = create(STACK_LARGE);
  vf_spin_next()->pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error)
    __atomic_store_n(&is_there, 0, __ATOMIC_RELEASE);
  errno = saved;
  return true;
}

void vf_arm_stop(const char *reason) {
  if (vf_arm_off)
    return;
  int saved = errno;
  vf_arm_off = reason;
  __atomic_store_n(&must_end, 1, __ATOMIC_SEQ_CST);
  vf_futex_wake_all(&must_end);
  while (__atomic_load_n(&is_there, __ATOMIC_SEQ_CST))
    vf_sleep_ns(DISARM_NS);
  errno = saved;
}

void vf_arm_always(bool always) { arms_always = always; }

void vf_arm_in_child(void) { is_there = 0; }
