/*===- cpu-limits/steer.c - Deciding between spinning and sleeping --------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "cpu-limits/steer.h"
#include "common/environment.h"
#include "common/process_wide.h"
#include "common/report.h"
#include "platform/linux/kernel.h"
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

/* Time between two decisions. A decision takes some 5 us. */
#define TICK_NS 20000000u
/* Maximum time between two decisions if the process hardly runs. */
#define IDLE_TICK_NS (8 * TICK_NS)
/* The process's threads share CPUs if they are switched off them against their
 * will once in this much of their CPU time. Threads that compute beside each
 * other have slices of 3 to 4 ms. Where each has a CPU, only the kernel's own
 * threads and the deciding one interrupt them, about once in 20 ms. The rate is
 * one of CPU time, as on a machine with many runnable threads they all run
 * rarely. */
#define SWITCHED_EACH_NS 8000000u
/* Such a rate is judged by at least that many switches, as fewer are chance,
 * and after that much CPU time, or that much time if the process gets hardly
 * any. */
#define SWITCHES_MIN 3u
#define JUDGED_NS 20000000u
#define JUDGED_AFTER_NS (8 * (uint64_t)TICK_NS)
/* Time to sleep before the first trial, and the maximum. A trial beside hogs
 * lasts for a tick, in which regions take ten times as long or more: at the
 * maximum trials take less than 1 % of the time. */
#define SLEEP_NS (8 * (uint64_t)TICK_NS)
#define SLEEP_MAX_NS (128 * (uint64_t)TICK_NS)
/* Time to sleep after the group was near its limit. A trial that uses up the
 * limit costs up to a period, 100 ms: less than 1 %. */
#define SLEEP_LIMITED_NS UINT64_C(16000000000)
#define STACK_SIZE 65536

/* What the process did in a time. */
struct tick {
  uint64_t ns, used_ns, switches;
};

/* Written by the deciding thread, but for `is_there`. */
static struct {
  bool is_there; /* the thread; a forked child has none */
  bool sleeps;
  uint64_t now, sleep_for, sleep_until, spun_since;
  uint64_t switches, used_ns;
  struct tick unjudged;
  uint32_t readings;
} decided;

static uint64_t counters[VF_OMP_COUNTERS];
static bool is_on;

void vf_omp_count(enum vf_omp_counter counter, uint64_t n) {
  __atomic_fetch_add(&counters[counter], n, __ATOMIC_RELAXED);
}

bool vf_omp_sleeps(void) {
  return __atomic_load_n(&decided.sleeps, __ATOMIC_RELAXED);
}

bool vf_omp_user_sets(const char *name) { return getenv(name) != NULL; }

bool vf_omp_is_on(void) { return is_on; }

static void set(bool sleeps) {
  if (sleeps == decided.sleeps)
    return;
  __atomic_store_n(&decided.sleeps, sleeps, __ATOMIC_RELAXED);
  vf_libgomp_set(sleeps);
}

static void sleep_at_least(uint64_t ns) {
  if (decided.sleep_until < decided.now + ns)
    decided.sleep_until = decided.now + ns;
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

static bool is_crowded(const struct tick *tick) {
  struct tick *all = &decided.unjudged;
  all->ns += tick->ns;
  all->used_ns += tick->used_ns;
  all->switches += tick->switches;
  if (all->used_ns < JUDGED_NS && all->ns < JUDGED_AFTER_NS)
    return false;
  bool crowded = all->switches >= SWITCHES_MIN &&
                 all->switches * SWITCHED_EACH_NS >= all->used_ns;
  *all = (struct tick){0};
  return crowded;
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

static void decide(const struct tick *tick) {
  vf_omp_count(decided.sleeps ? VF_OMP_SLEEP_MS : VF_OMP_SPIN_MS,
               tick->ns / 1000000);
  bool limited = is_limited(), crowded = is_crowded(tick);
  if (limited) {
    vf_omp_count(VF_OMP_LIMITED, 1);
    sleep_at_least(SLEEP_LIMITED_NS);
  }
  if (crowded) {
    vf_omp_count(VF_OMP_CROWDED, 1);
    sleep_at_least(decided.sleep_for);
  }
  if (decided.sleeps) {
    if (decided.now >= decided.sleep_until) {
      decided.spun_since = decided.now;
      vf_omp_count(VF_OMP_TRIALS, 1);
      set(false);
    }
  } else if (limited || crowded) {
    if (decided.sleep_for < SLEEP_MAX_NS)
      decided.sleep_for *= 2;
    set(true);
  } else if (decided.now - decided.spun_since > decided.sleep_for) {
    decided.sleep_for = SLEEP_NS;
  }
}

/* Ends when the program installs a seccomp filter, which may not allow what
 * this thread does. */
static void *steer(void *unused) {
  (void)unused;
  uint64_t pause = TICK_NS;
  int seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
  decided.sleep_for = SLEEP_NS;
  decided.spun_since = vf_now_ns();
  measure();
  while (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == seccomp) {
    vf_sleep_ns(pause);
    vf_limit_look(vf_now_ns());
    struct tick tick = measure();
    decide(&tick);
    bool is_idle = tick.used_ns < tick.ns / 64;
    pause = !is_idle ? TICK_NS : pause < IDLE_TICK_NS ? 2 * pause : pause;
  }
  set(false);
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
  if (next_create()(&thread, &attributes, steer, NULL) == 0)
    pthread_setname_np(thread, "vf-omp");
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
      "libgomp", "libomp", "unknown", "crowded",
      "limited", "trials", "spin_ms", "sleep_ms"};
  static struct vf_report report;
  if (vf_report_is_idle(counters, VF_OMP_COUNTERS))
    return;
  if (counters[VF_OMP_LIBGOMP] == 0 && counters[VF_OMP_LIBOMP] == 0)
    vf_report_verdict(&report, "this OpenMP library or its settings are left "
                               "as they are");
  else
    vf_report_verdict(&report,
                      "waits of OpenMP threads spun for %" PRIu64
                      " ms of the time and slept at once for %" PRIu64 " ms",
                      counters[VF_OMP_SPIN_MS], counters[VF_OMP_SLEEP_MS]);
  vf_report_counters(&report, "vfomp", names, counters, VF_OMP_COUNTERS);
  vf_report_limit(&report);
  vf_report_end(&report);
}

static void in_child(void) { decided.is_there = false; }

__attribute__((constructor)) static void configure(void) {
  int saved = errno;
  vf_env_check_names();
  is_on = vf_env_choice("VF_OMP", "off", "on", true);
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
