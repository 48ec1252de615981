/*===- cpu-limits/steer.c - Deciding between spinning and sleeping --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "cpu-limits/steer.h"
#include "common/environment.h"
#include "common/process_wide.h"
#include "common/report.h"
#include "platform/linux/kernel.h"
#include "platform/linux/privilege.h"
#include "platform/linux/run_delay.h"
#include "spin-wait/limit.h"
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Time between two decisions after a change. It doubles to STEADY_TICK_NS if
 * there is none, and further if the process hardly runs: a decision takes some
 * 10 us, but with the timer, the wake-up and the thread that it interrupts one
 * every 20 ms took 2 % of the program's time. */
#define TICK_NS 20000000u
#define STEADY_TICK_NS (4 * TICK_NS)
#define IDLE_TICK_NS (8 * TICK_NS)
/* The process's threads may share CPUs if they are switched off them against
 * their will once in this much of their CPU time. Threads that compute beside
 * each other have slices of 3 to 4 ms. The rate is one of CPU time, as on a
 * machine with many runnable threads they all run rarely. */
#define SWITCHED_EACH_NS 8000000u
/* They do share them if one of them then waited for a CPU for this part of the
 * time. Beside a thread that computes it waits for half of it; the short
 * interruptions of an otherwise idle machine take some hundredths, however many
 * they are. */
#define WAITED_PART 4
/* Such a rate is judged by at least that many switches, as fewer are chance,
 * and after that much CPU time, or that much time if the process gets hardly
 * any. */
#define SWITCHES_MIN 3u
#define JUDGED_NS 20000000u
#define JUDGED_AFTER_NS (8 * (uint64_t)TICK_NS)
/* Time to sleep before the first trial, how much longer it gets with each trial
 * that fails, and the maximum. The first is short, as threads may share CPUs
 * only while a program creates them. A trial beside hogs lasts for a tick, in
 * which regions take ten times as long or more: that is three ticks in the
 * first second, and at the maximum less than 1 % of the time. */
#define SLEEP_NS (2 * (uint64_t)TICK_NS)
#define SLEEP_GROWTH 4
#define SLEEP_MAX_NS (128 * (uint64_t)TICK_NS)
/* Time of short spins after the group was near its limit. A trial that uses up
 * the limit costs up to a period, 100 ms: less than 1 %. */
#define SHORT_NS UINT64_C(16000000000)
#define STACK_SIZE 65536
#define STACK_LARGE (8u << 20) /* the usual one */

/* What the process did in a time. */
struct tick {
  uint64_t ns, used_ns, switches;
};

/* Written by the deciding thread, but for `is_there`. */
static struct {
  bool is_there; /* the thread; a forked child has none */
  enum vf_omp_waits waits;
  uint64_t now, sleep_for, sleep_until, short_until, spun_since;
  uint64_t switches, used_ns;
  struct tick unjudged;
  uint32_t readings, millicpus; /* of vf_limit_1 at the last decision */
  bool waited;                  /* at the last judgement */
  struct vf_run_delays delays;
  uint64_t delays_at;
} decided;

static uint64_t counters[VF_OMP_COUNTERS];
static bool is_on;

void vf_omp_count(enum vf_omp_counter counter, uint64_t n) {
  __atomic_fetch_add(&counters[counter], n, __ATOMIC_RELAXED);
}

enum vf_omp_waits vf_omp_waits(void) {
  return __atomic_load_n(&decided.waits, __ATOMIC_RELAXED);
}

bool vf_omp_user_sets(const char *name) { return getenv(name) != NULL; }

bool vf_omp_is_on(void) { return is_on; }

static void set(enum vf_omp_waits waits) {
  if (waits == decided.waits)
    return;
  __atomic_store_n(&decided.waits, waits, __ATOMIC_RELAXED);
  vf_libgomp_set(waits);
}

/* Returns what the process did since the last call. */
static struct tick measure(void) {
  struct rusage usage;
  uint64_t now = vf_now_ns();
  struct tick tick = {.ns = now - decided.now};
  decided.now = now;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return tick;
  uint64_t used = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
                      1000000000u +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
                      1000u,
           switches = (uint64_t)usage.ru_nivcsw;
  tick.used_ns = used - decided.used_ns;
  tick.switches = switches - decided.switches;
  decided.used_ns = used;
  decided.switches = switches;
  return tick;
}

/* Returns true if a thread has waited for a CPU for WAITED_PART of the time
 * since the last call. */
static bool has_waited(void) {
  uint64_t ns = vf_run_delay_grown(&decided.delays), since = decided.delays_at;
  decided.delays_at = decided.now;
  return ns == VF_RUN_DELAY_UNKNOWN ||
         (since != 0 && ns >= (decided.now - since) / WAITED_PART);
}

static bool is_crowded(const struct tick *tick) {
  struct tick *all = &decided.unjudged;
  all->ns += tick->ns;
  all->used_ns += tick->used_ns;
  all->switches += tick->switches;
  if (all->used_ns < JUDGED_NS && all->ns < JUDGED_AFTER_NS)
    return false;
  bool may_be = all->switches >= SWITCHES_MIN &&
                all->switches * SWITCHED_EACH_NS >= all->used_ns;
  *all = (struct tick){0};
  bool before = decided.waited;
  decided.waited = may_be && has_waited();
  /* Threads that were all stopped start together, perhaps on one CPU. */
  bool starts = decided.now < decided.short_until;
  return decided.waited && (before || !starts);
}

/* Returns true if a new reading shows that the group is near its limit. */
static bool is_limited(void) {
  uint32_t readings = vf_get(&vf_limit_1.readings);
  if (readings == decided.readings)
    return false;
  decided.readings = readings;
  uint32_t last = vf_get(&vf_limit_1.last);
  return last == VF_LIMIT_THROTTLED || last == VF_LIMIT_NEAR;
}

/* Returns true if the limit was raised or removed since the last call. */
static bool is_raised(void) {
  uint32_t last = decided.millicpus;
  decided.millicpus = vf_get(&vf_limit_1.millicpus);
  return decided.millicpus > last;
}

static void decide(const struct tick *tick) {
  static const enum vf_omp_counter ms[] = {VF_OMP_SPIN_MS, VF_OMP_SHORT_MS,
                                           VF_OMP_SLEEP_MS};
  enum vf_omp_waits before = decided.waits;
  vf_omp_count(ms[before], tick->ns / 1000000);
  bool raised = is_raised(), limited = is_limited(), crowded = is_crowded(tick);
  if (raised) {
    /* What was seen under the smaller limit does not count. */
    limited = crowded = false;
    decided.unjudged = (struct tick){0};
    decided.short_until = decided.sleep_until = decided.now;
    decided.sleep_for = SLEEP_NS;
  }
  if (limited) {
    vf_omp_count(VF_OMP_LIMITED, 1);
    decided.short_until = decided.now + SHORT_NS;
  }
  if (crowded) {
    vf_omp_count(VF_OMP_CROWDED, 1);
    if (decided.sleep_until < decided.now + decided.sleep_for)
      decided.sleep_until = decided.now + decided.sleep_for;
    if (before != VF_OMP_SLEEP && decided.sleep_for < SLEEP_MAX_NS)
      decided.sleep_for *= SLEEP_GROWTH;
  } else if (before != VF_OMP_SLEEP &&
             decided.now - decided.spun_since > decided.sleep_for) {
    decided.sleep_for = SLEEP_NS;
  }
  set(decided.now < decided.sleep_until   ? VF_OMP_SLEEP
      : decided.now < decided.short_until ? VF_OMP_SHORT
                                          : VF_OMP_SPIN);
  if (decided.waits < before) {
    if (decided.waits == VF_OMP_SPIN)
      vf_omp_count(VF_OMP_TRIALS, 1);
    decided.spun_since = decided.now;
    has_waited(); /* What it tells next is of the trial. */
  }
}

/* Ends when the program installs a seccomp filter, which may not allow what
 * this thread does. */
static void *steer(void *unused) {
  (void)unused;
  uint64_t pause = TICK_NS;
  prctl(PR_SET_NAME, "vf-omp", 0, 0, 0);
  int seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  decided.sleep_for = SLEEP_NS;
  decided.spun_since = vf_now_ns();
  decided.millicpus = vf_get(&vf_limit_1.millicpus);
  measure();
  has_waited();
  while (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == seccomp) {
    vf_sleep_ns(pause);
    vf_libgomp_keep();
    vf_limit_look(vf_now_ns());
    struct tick tick = measure();
    enum vf_omp_waits before = decided.waits;
    decide(&tick);
    bool is_idle = tick.used_ns < tick.ns / 64;
    uint64_t most = is_idle ? IDLE_TICK_NS : STEADY_TICK_NS;
    pause = decided.waits != before ? TICK_NS
            : 2 * pause < most      ? 2 * pause
                                    : most;
  }
  set(VF_OMP_SPIN);
  return NULL;
}

/* The function that this library's pthread_create replaces. */
static __typeof__(pthread_create) *next_create(void) {
  static __typeof__(pthread_create) *next;
  __typeof__(pthread_create) *known = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (!known) {
    known = (__typeof__(pthread_create) *)dlsym(RTLD_NEXT, "pthread_create");
    __atomic_store_n(&next, known, __ATOMIC_RELAXED);
  }
  return known;
}

void vf_omp_start(void) {
  if (__atomic_load_n(&decided.is_there, __ATOMIC_RELAXED) ||
      __atomic_exchange_n(&decided.is_there, true, __ATOMIC_RELAXED))
    return;
  int saved = errno;
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = next_create()(&thread, &attributes, steer, NULL);
  if (error == EINVAL) {
    /* glibc puts the thread-local variables of all libraries on the stack. */
    pthread_attr_setstacksize(&attributes, STACK_LARGE);
    error = next_create()(&thread, &attributes, steer, NULL);
  }
  if (error) /* In a forked child, nobody would end the sleeping. */
    set(VF_OMP_SPIN);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  errno = saved;
}

VF_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*run)(void *), void *argument) {
  int result = next_create()(thread, attributes, run, argument);
  if (result == 0 && is_on)
    vf_omp_created_by(
        __builtin_extract_return_addr(__builtin_return_address(0)));
  return result;
}

static void print(void) {
  static const char *const names[VF_OMP_COUNTERS] = {
      "libgomp", "libomp",  "unknown",  "crowded", "limited",
      "trials",  "spin_ms", "short_ms", "sleep_ms"};
  static struct vf_report report;
  if (vf_report_is_idle(counters, VF_OMP_COUNTERS))
    return;
  if (counters[VF_OMP_LIBGOMP] != 0 || counters[VF_OMP_LIBOMP] != 0)
    vf_report_verdict(&report,
                      "waits of OpenMP threads spun for %" PRIu64
                      " ms of the time, spun shortly for %" PRIu64
                      " ms and slept at once for %" PRIu64 " ms",
                      counters[VF_OMP_SPIN_MS], counters[VF_OMP_SHORT_MS],
                      counters[VF_OMP_SLEEP_MS]);
  else
    vf_report_verdict(&report, "this OpenMP library or its settings are left "
                               "as they are");
  vf_report_counters(&report, "vfomp", names, counters, VF_OMP_COUNTERS);
  vf_report_limit(&report);
  vf_report_end(&report);
}

static void in_child(void) {
  decided.is_there = false;
  vf_libgomp_in_child();
}

__attribute__((constructor)) static void configure(void) {
  int saved = errno;
  vf_env_check_names();
  is_on = vf_env_choice("VF_OMP", "off", "on", true) && !vf_is_privileged();
  next_create(); /* not later: dlsym waits for constructors of a dlopen */
  if (is_on)
    pthread_atfork(NULL, NULL, in_child);
  if (vf_report_is_wanted())
    vf_report_register("vfomp", print);
  vf_limit_start(&vf_cpu_groups_of_self);
  errno = saved;
}

__attribute__((destructor)) static void at_exit(void) {
  vf_report_at_exit(print);
}
