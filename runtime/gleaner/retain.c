/*===- gleaner/retain.c - Keeping idle CPUs awake for a while -------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "gleaner/retain.h"
#include "platform/linux/kernel.h"
#include "relax.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Between two readings of the clock pass 50 to 300 ns. A longer gap means that
 * another thread ran: two context switches take more than a µs in a guest. An
 * interrupt of the host may look the same, which costs one more timeout. */
#define GAP_NS 2000

/* A CPU that stays unused is tried again after this at most: 20 wake-ups per
 * second of 200 µs each are 0.4 % of a CPU. */
#define MOST_SLEEP_NS 50000000

struct keeper {
  pthread_t thread;
  struct gl_retain *of;
  unsigned cpu;
  bool started;
  uint32_t on; /* set by gl_retain_set; the thread sleeps on it */
  /* Until when it sleeps; 0 if it runs or wants to. The thread sets it, and
   * gl_retain_set before it wakes the thread: on a CPU that others use the
   * thread may get no time to say that it is awake. */
  uint64_t asleep_until_ns;
  uint64_t spun_ns, periods, sleeps;          /* set by the thread */
  uint64_t was_spun, was_periods, was_sleeps; /* at the last reading */
};

struct gl_retain {
  unsigned n;
  uint64_t timeout_ns;
  struct keeper keepers[];
};

static uint32_t is_on(struct keeper *keeper) {
  return __atomic_load_n(&keeper->on, __ATOMIC_RELAXED);
}

/* Written by one thread and read by another, which may see an old value. */
static void add(uint64_t *counter, uint64_t n) {
  __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Spins until the timeout. Returns true if another thread ran meanwhile. */
static bool spin(struct keeper *keeper) {
  uint64_t timeout = __atomic_load_n(&keeper->of->timeout_ns, __ATOMIC_RELAXED);
  uint64_t begin = vf_now_ns(), last = begin;
  bool used = false;
  while (is_on(keeper)) {
    vf_relax();
    uint64_t now = vf_now_ns();
    if (now - last > GAP_NS) {
      add(&keeper->spun_ns, last - begin);
      add(&keeper->periods, 1);
      begin = now;
      used = true;
    }
    last = now;
    if (now - begin > timeout)
      break;
  }
  add(&keeper->spun_ns, last - begin);
  return used;
}

static void sleeps_until(struct keeper *keeper, uint64_t ns) {
  __atomic_store_n(&keeper->asleep_until_ns, ns, __ATOMIC_RELAXED);
}

static void *keep(void *data) {
  struct keeper *keeper = data;
  struct gl_cpus cpu = {0};
  gl_add_cpu(&cpu, keeper->cpu);
  struct sched_param none = {0};
  /* At any other priority it would take time from the workload. */
  if (gl_set_affinity(0, &cpu) != 0 ||
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0)
    return NULL;
  uint64_t sleep_ns = 0;
  for (;;) {
    while (!is_on(keeper)) {
      sleeps_until(keeper, UINT64_MAX);
      vf_futex_wait_until(&keeper->on, 0, NULL, VF_PRIVATE);
      sleep_ns = 0;
    }
    sleeps_until(keeper, 0);
    bool used = spin(keeper);
    if (used)
      sleep_ns = 0;
    else
      sleep_ns = sleep_ns ? 2 * sleep_ns : keeper->of->timeout_ns;
    if (sleep_ns > MOST_SLEEP_NS)
      sleep_ns = MOST_SLEEP_NS;
    if (!is_on(keeper))
      continue;
    /* The CPU halts. Its idle period goes on: cpuidle counts it once more. */
    add(&keeper->sleeps, 1);
    sleep_ns = sleep_ns ? sleep_ns : 1;
    sleeps_until(keeper, vf_now_ns() + sleep_ns);
    vf_sleep_ns(sleep_ns);
  }
  return NULL;
}

struct gl_retain *gl_retain_start(const struct gl_cpus *cpus) {
  unsigned n = gl_count_cpus(cpus), i = 0;
  struct gl_retain *retain =
      calloc(1, sizeof *retain + n * sizeof *retain->keepers);
  if (!retain)
    return NULL;
  retain->n = n;
  for (unsigned cpu = 0; cpu < GL_MOST_CPUS && i < n; ++cpu)
    if (gl_has_cpu(cpus, cpu))
      retain->keepers[i++] = (struct keeper){.of = retain, .cpu = cpu};
  return retain;
}

void gl_retain_set(struct gl_retain *retain, const struct gl_cpus *cpus,
                   double timeout_s) {
  __atomic_store_n(&retain->timeout_ns, (uint64_t)(timeout_s * 1e9),
                   __ATOMIC_RELAXED);
  for (unsigned i = 0; i < retain->n; ++i) {
    struct keeper *keeper = &retain->keepers[i];
    uint32_t on = cpus && gl_has_cpu(cpus, keeper->cpu);
    if (on == is_on(keeper))
      continue;
    __atomic_store_n(&keeper->on, on, __ATOMIC_RELAXED);
    if (on && !keeper->started) {
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, 64 << 10); /* of 1,024 threads */
      keeper->started =
          pthread_create(&keeper->thread, &attributes, keep, keeper) == 0;
      pthread_attr_destroy(&attributes);
    } else if (on) {
      sleeps_until(keeper, 0);
      vf_futex_wake(&keeper->on, 1, VF_PRIVATE);
    }
  }
}

unsigned gl_retain_awake(const struct gl_retain *retain) {
  uint64_t now = vf_now_ns();
  unsigned awake = 0;
  for (unsigned i = 0; i < retain->n; ++i) {
    const struct keeper *keeper = &retain->keepers[i];
    if (keeper->started &&
        __atomic_load_n(&keeper->asleep_until_ns, __ATOMIC_RELAXED) <= now)
      awake++;
  }
  return awake;
}

static uint64_t since(uint64_t *was, uint64_t *counter) {
  uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
  uint64_t by = now - *was;
  *was = now;
  return by;
}

double gl_retain_read(struct gl_retain *retain, const struct gl_sense *sense,
                      struct gl_spun *spun) {
  memset(spun, 0, sizeof *spun);
  double total = 0;
  unsigned s = 0;
  for (unsigned i = 0; i < retain->n; ++i) {
    struct keeper *keeper = &retain->keepers[i];
    double seconds = (double)since(&keeper->was_spun, &keeper->spun_ns) / 1e9;
    uint64_t periods = since(&keeper->was_periods, &keeper->periods);
    uint64_t sleeps = since(&keeper->was_sleeps, &keeper->sleeps);
    total += seconds;
    while (s < sense->n_cpus && sense->cpus[s].cpu < keeper->cpu)
      ++s;
    if (s == sense->n_cpus || sense->cpus[s].cpu != keeper->cpu)
      continue;
    spun->seconds[s] = seconds;
    spun->periods[s] = (double)periods;
    spun->sleeps[s] = (double)sleeps;
  }
  return total;
}

/*===- What it costs to lose a CPU ---------------------------------------===*/

/* Enough for a quartile: on a CPU that has other work most wake-ups wait for
 * it, and only the fastest tell anything. A wake-up takes 10 to 100 µs, the
 * pause before it 200: together below 20 ms. */
#define ROUNDS 25
#define PAUSE_NS 200000
/* On a machine with other work and in emulated ones a wake-up takes
 * milliseconds. */
#define MOST_NS 50000000
#define LEAST_ROUNDS 5

struct sleeper {
  unsigned cpu;
  uint32_t turn;
  uint64_t woken_ns;
  uint32_t answers;
  bool failed;
};

static void *sleep_and_answer(void *data) {
  struct sleeper *sleeper = data;
  struct gl_cpus cpu = {0};
  gl_add_cpu(&cpu, sleeper->cpu);
  sleeper->failed = gl_set_affinity(0, &cpu) != 0;
  for (uint32_t turn = 1; turn <= 2 * ROUNDS && !sleeper->failed; ++turn) {
    while (__atomic_load_n(&sleeper->turn, __ATOMIC_ACQUIRE) < turn)
      vf_futex_wait_until(&sleeper->turn, turn - 1, NULL, VF_PRIVATE);
    sleeper->woken_ns = vf_now_ns();
    __atomic_store_n(&sleeper->answers, turn, __ATOMIC_RELEASE);
  }
  return NULL;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Returns the lower quartile of the time of a wake-up in seconds, or -1. */
static double wake_time(struct sleeper *sleeper, uint32_t first) {
  double took[ROUNDS];
  uint32_t n = 0;
  uint64_t end = vf_now_ns() + MOST_NS;
  for (; n < ROUNDS; ++n) {
    vf_sleep_ns(PAUSE_NS);
    uint64_t begin = vf_now_ns(), now = begin;
    __atomic_store_n(&sleeper->turn, first + n, __ATOMIC_RELEASE);
    vf_futex_wake(&sleeper->turn, 1, VF_PRIVATE);
    while (__atomic_load_n(&sleeper->answers, __ATOMIC_ACQUIRE) < first + n &&
           (now = vf_now_ns()) < end)
      vf_relax();
    if (now >= end)
      break;
    took[n] = ((double)sleeper->woken_ns - (double)begin) / 1e9;
  }
  if (n < LEAST_ROUNDS)
    return -1;
  qsort(took, n, sizeof *took, compare);
  return took[n / 4];
}

double gl_measure_wake_cost(const struct gl_cpus *cpus) {
  struct gl_cpus own, here = {0};
  unsigned pair[2], found = 0;
  for (unsigned cpu = 0; cpu < GL_MOST_CPUS && found < 2; ++cpu)
    if (gl_has_cpu(cpus, cpu))
      pair[found++] = cpu;
  if (found < 2 || gl_get_affinity(0, &own) != 0)
    return -1;
  gl_add_cpu(&here, pair[0]);
  if (gl_set_affinity(0, &here) != 0)
    return -1;
  double cost = -1;
  struct sleeper sleeper = {.cpu = pair[1]};
  struct gl_cpus there = {0};
  gl_add_cpu(&there, pair[1]);
  struct gl_retain *retain = gl_retain_start(&there);
  pthread_t thread;
  if (retain &&
      pthread_create(&thread, NULL, sleep_and_answer, &sleeper) == 0) {
    double halted = wake_time(&sleeper, 1);
    gl_retain_set(retain, &there, 1);
    vf_sleep_ns(1000000);
    double awake = wake_time(&sleeper, ROUNDS + 1);
    gl_retain_set(retain, NULL, 0);
    if (halted > 0 && awake > 0)
      cost = halted > awake ? halted - awake : 0;
    /* Lets the thread end, also after a failure. */
    for (uint32_t turn = 1; turn <= 2 * ROUNDS; ++turn) {
      __atomic_store_n(&sleeper.turn, 2 * ROUNDS, __ATOMIC_RELEASE);
      vf_futex_wake(&sleeper.turn, 1, VF_PRIVATE);
    }
    pthread_join(thread, NULL);
  }
  /* The keeper sleeps for ever; it and its memory belong to the process. */
  gl_set_affinity(0, &own);
  return cost;
}
