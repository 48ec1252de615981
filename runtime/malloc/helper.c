/*===- malloc/helper.c - The thread that gives memory back ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each look takes from the arenas what they did not use again since the look
 * before, and sees the least that was free for all meanwhile. What was free
 * through all the looks of a hold nobody needed for that long, and it is
 * returned, but for some padding.
 *===----------------------------------------------------------------------===*/

#include "malloc/helper.h"
#include "blocking-sync/plain_lock.h"
#include "common/environment.h"
#include "malloc/give.h"
#include "malloc/jemalloc.h"
#include "malloc/pages.h"
#include "malloc/policy.h"
#include "malloc/pressure.h"
#include "malloc/space.h"
#include "platform/linux/kernel.h"
#include <pthread.h>
#include <signal.h>

/* A hold is that many looks: the hold of what becomes free between two of them
 * is a quarter longer at most. */
#define LOOKS 4
/* CPUs in use and pressure are looked at no more often: the thesis' prototype
 * takes the former each second, and pressure has to be met within two. */
#define SLOW_NS 1000000000u
/* Less than that is worth neither a thread nor a return; the least threshold is
 * 100 kB. */
#define WORTH ((size_t)1 << 20)
#define ALL (SIZE_MAX & ~(page_size - 1))
/* It calls nothing that needs much. */
#define STACK ((size_t)64 << 10)

/* The price makes a page be kept for 50 ms where a fault takes 2 us, an eighth
 * of a peak of 0.4 s that comes every 2 s (figure 7.3 of the thesis). Faults
 * and calls are measured when a threshold is passed. What others lose by an
 * interrupt cannot be: 3200 cycles (section 7.2), and about as long for the
 * exit. */
static struct vf_policy policy = {
    .tune_percent = 100,
    .hold_price = 40000,
    .fault_ns = 2000,
    .call_ns = 10000,
    .shootdown_ns = 2000,
};
static struct vf_helper_counts counts;
/* It is there. Set by who starts it. */
static uint32_t exists;
/* 0 while it sleeps until it is told. Set by who frees: without it, what was
 * freed stays. */
static uint32_t told;
static uint32_t giving; /* a plain lock: one thread gives at a time */
static size_t page_size = 4096;

/* Without jemalloc's own, of which it touches as much as it needs. */
static size_t used_for_blocks(const struct vf_pages_totals *totals) {
  size_t own = vf_jemalloc_metadata();
  return totals->used > own ? totals->used - own : 0;
}

static size_t threshold_of(const struct vf_pages_totals *totals,
                           uint32_t cpus) {
  size_t threshold =
      vf_policy_threshold(&policy, used_for_blocks(totals), cpus);
  return threshold > WORTH ? threshold : WORTH;
}

static size_t give(size_t bytes) {
  vf_plain_lock(&giving);
  struct vf_given given = vf_give_back(bytes);
  if (given.bytes != 0) {
    ++counts.returns;
    counts.ranges += given.ranges;
    counts.calls += given.calls;
    counts.bytes += given.bytes;
  }
  vf_plain_unlock(&giving, VF_PRIVATE);
  return given.bytes;
}

size_t vf_helper_give_all(void) {
  vf_jemalloc_release();
  return give(ALL);
}

static void give_under_pressure(void) {
  if (!vf_pressure_rose())
    return;
  ++counts.under_pressure;
  vf_helper_give_all();
}

struct watch {
  size_t low[LOOKS];
  unsigned looks;
  uint64_t slow_at, cpu_then;
  uint32_t cpus;                     /* in hundredths */
  uint64_t taken_then, regret_until; /* of the last return */
  size_t given;
};

static uint64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void look_slowly(struct watch *watch, uint64_t now) {
  uint64_t cpu = cpu_ns();
  if (now > watch->slow_at)
    watch->cpus =
        (uint32_t)((cpu - watch->cpu_then) * 100 / (now - watch->slow_at));
  watch->slow_at = now;
  watch->cpu_then = cpu;
}

/* The least that was free in the last LOOKS looks. */
static size_t least(const struct watch *watch) {
  size_t result = watch->looks < LOOKS ? 0 : SIZE_MAX;
  for (unsigned i = 0; i != LOOKS && result != 0; ++i)
    if (watch->low[i] < result)
      result = watch->low[i];
  return result;
}

static void settle(struct watch *watch, const struct vf_pages_totals *totals,
                   uint64_t now) {
  if (watch->given == 0)
    return;
  size_t taken = (size_t)(totals->taken_clean - watch->taken_then);
  bool regretted = taken > watch->given / 2;
  if (!regretted && now < watch->regret_until)
    return;
  counts.regrets += regretted;
  vf_policy_learn(&policy, watch->given, taken);
  watch->given = 0;
}

/* When it is about to matter for the first time. */
static void measure_costs(void) {
  static bool done;
  if (done)
    return;
  done = true;
  struct vf_costs costs = vf_give_costs();
  policy.fault_ns = costs.fault_ns;
  policy.call_ns = costs.call_ns;
}

static uint64_t pause_ns(const struct watch *watch, size_t resident) {
  return vf_policy_hold_ns(&policy, resident / page_size, 1, watch->cpus) /
         LOOKS;
}

/* One look; how long until the next, or 0 if nothing is to be seen until more
 * is freed. */
static uint64_t look(struct watch *watch) {
  uint64_t now = vf_now_ns();
  if (now - watch->slow_at >= SLOW_NS) {
    look_slowly(watch, now);
    give_under_pressure();
  }
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  settle(watch, &totals, now);
  watch->low[watch->looks++ % LOOKS] = vf_pages_lowest();
  size_t threshold = threshold_of(&totals, watch->cpus);
  size_t unused = least(watch);
  if (unused > threshold) {
    uint64_t hold =
        vf_policy_hold_ns(&policy, unused / page_size, 1, watch->cpus);
    size_t given =
        give((unused - vf_policy_padding(threshold)) & ~(page_size - 1));
    watch->given = given;
    watch->taken_then = totals.taken_clean;
    watch->regret_until = now + VF_REGRET_HOLDS * hold;
    watch->looks = 0;
    totals = vf_pages_totals();
  }
  if (totals.resident <= threshold) {
    watch->looks = 0;
    return 0;
  }
  measure_costs();
  return pause_ns(watch, totals.resident);
}

/* How long to sleep while little is free: until it shows whether the last
 * return is regretted, or somebody else may need what there is. */
static uint64_t time_to_wake(const struct watch *watch, size_t resident) {
  uint64_t wait = resident > WORTH ? SLOW_NS : UINT64_MAX;
  if (watch->given == 0)
    return wait;
  uint64_t now = vf_now_ns();
  uint64_t left = watch->regret_until > now ? watch->regret_until - now : 1;
  return left < wait ? left : wait;
}

/* Pressure does not wait for the next look. */
static void sleep_between_looks(uint64_t ns) {
  for (; ns > SLOW_NS; ns -= SLOW_NS) {
    vf_sleep_ns(SLOW_NS);
    give_under_pressure();
  }
  vf_sleep_ns(ns);
}

/* Until something is freed, or the last return can be judged. */
static void sleep_long(const struct watch *watch) {
  for (;;) {
    __atomic_store_n(&told, 0, __ATOMIC_SEQ_CST);
    /* What was freed before that is seen here, the rest is told. */
    vf_jemalloc_release();
    struct vf_pages_totals totals = vf_pages_totals();
    if (totals.resident > threshold_of(&totals, watch->cpus))
      return;
    int why = vf_futex_wait(&told, 0, time_to_wake(watch, totals.resident));
    if (why == ETIMEDOUT)
      give_under_pressure();
    if (__atomic_load_n(&told, __ATOMIC_ACQUIRE) != 0 || watch->given != 0)
      break;
  }
  /* Who frees will go on, or take it again: a look at once would only tell that
   * something was freed. */
  sleep_between_looks(pause_ns(watch, WORTH));
}

static void *run(void *unused) {
  (void)unused;
  struct watch watch = {.slow_at = vf_now_ns(), .cpu_then = cpu_ns()};
  vf_pages_lowest();
  for (;;) {
    uint64_t pause = look(&watch);
    if (pause != 0)
      sleep_between_looks(pause);
    else
      sleep_long(&watch);
  }
  return NULL;
}

static void start(void) {
  if (__atomic_exchange_n(&exists, 1, __ATOMIC_ACQ_REL))
    return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  if (pthread_create(&thread, &attributes, run, NULL) != 0) {
    /* No more threads, or no room for one, as we hold it all. */
    __atomic_store_n(&exists, 0, __ATOMIC_RELEASE);
    vf_helper_give_all();
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Where the process has a limit, threads' stacks need what we keep. */
static void make_room(void) {
  size_t spare = vf_space_spare();
  if (spare == SIZE_MAX)
    return;
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  if (totals.mapped > spare && totals.used < totals.mapped - spare)
    vf_pages_unmap();
}

void vf_helper_tell(void) {
  make_room();
  if (__atomic_load_n(&told, __ATOMIC_RELAXED) != 0)
    return;
  if (__atomic_load_n(&exists, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&told, 1, __ATOMIC_RELEASE);
    vf_futex_wake(&told, 1, VF_PRIVATE);
    return;
  }
  struct vf_pages_totals totals = vf_pages_totals();
  if (used_for_blocks(&totals) + totals.resident > WORTH)
    start();
}

struct vf_helper_counts vf_helper_counts(void) { return counts; }

void vf_helper_configure(void) {
  uint64_t number;
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  if (vf_env_number("VF_MALLOC_TUNE_PERCENT", 0, 10000, policy.tune_percent,
                    &number))
    policy.tune_percent = (uint32_t)number;
  if (vf_env_number("VF_MALLOC_HOLD_PRICE", 1, 1000000000, policy.hold_price,
                    &number))
    policy.hold_price = (uint32_t)number;
}

/* What is on its way back would be lost to the child. */
void vf_helper_before_fork(void) { vf_plain_lock(&giving); }

void vf_helper_after_fork(bool is_child) {
  if (!is_child) {
    vf_plain_unlock(&giving, VF_PRIVATE);
    return;
  }
  exists = told = 0;
  giving = VF_FREE; /* Sleepers stayed behind. */
}
