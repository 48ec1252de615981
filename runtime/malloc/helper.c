/*===- malloc/helper.c - The thread that gives memory back ----------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "malloc/helper.h"
#include "malloc/caller.h"
#include "malloc/hysteresis.h"
#include "malloc/jemalloc.h"
#include "malloc/pressure.h"
#include "malloc/space.h"
#include "platform/linux/kernel.h"
#include <pthread.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>

/* Its own work needs less than a sixteenth. But where the program's last thread
 * ended just before it does, libc calls exit() in it. */
#define STACK ((size_t)256 << 10)
/* How late a process may end, or be known to have one thread again. */
#define CHECK_NS UINT64_C(50000000)
/* Much longer than a hold, after which all that is free would be returned were
 * it above the threshold; and a thread a second costs nothing. */
#define IDLE_NS UINT64_C(1000000000)
/* Where no thread can be started, an attempt is some 20 us. */
#define RETRY_NS UINT64_C(10000000000)

/* NONE -> TOLD by whoever starts it. ASLEEP -> TOLD by whoever frees: without
 * that, what was freed stays until the helper ends. TOLD -> ASLEEP and
 * ASLEEP -> NONE by the helper. */
enum { NONE, ASLEEP, TOLD };
static uint32_t state;
static uint64_t retry_at; /* 0: the last attempt to start it succeeded */
static uint64_t under_pressure;

static bool change(uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(&state, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

/* Returns false if the process has `few` threads or less. One that has ended
 * counts if it is main's and others are left. Without /proc, libc knows whether
 * there was ever a second one. */
static bool has_more_threads_than(unsigned few) {
  struct stat tasks;
  if (__libc_single_threaded)
    return false;
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink - 2 > few;
}

/* The helper and one more: main's, which may have ended, or the only one that a
 * fork left. */
static bool is_wanted(void) { return has_more_threads_than(2); }

static void give_under_pressure(void) {
  if (!vf_pressure_rose())
    return;
  __atomic_fetch_add(&under_pressure, 1, __ATOMIC_RELAXED);
  vf_give_all();
}

uint64_t vf_helper_pressure(void) {
  return __atomic_load_n(&under_pressure, __ATOMIC_RELAXED);
}

struct helper {
  struct vf_watch watch;
  uint64_t pressure_at;
};

static void check_pressure(struct helper *helper) {
  uint64_t now = vf_now_ns();
  if (now < helper->pressure_at)
    return;
  helper->pressure_at = now + VF_SLOW_NS;
  give_under_pressure();
}

/* Returns false once the helper is not wanted any more. */
static bool sleep_between_looks(struct helper *helper, uint64_t ns) {
  while (ns != 0) {
    uint64_t part = ns < CHECK_NS ? ns : CHECK_NS;
    vf_sleep_ns(part);
    ns -= part;
    if (!is_wanted())
      return false;
    check_pressure(helper);
  }
  return true;
}

static bool has_excess(const struct helper *helper) {
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  return totals.resident > vf_threshold(&helper->watch, &totals);
}

/* Nobody missed what is free, and nobody will look after it. Returns false if
 * more was freed meanwhile. */
static bool leave(struct helper *helper) {
  vf_watch_end(&helper->watch);
  vf_give_excess(&helper->watch);
  return change(ASLEEP, NONE);
}

/* Sleeps until something is freed. Returns false once it has left. */
static bool sleep_until_told(struct helper *helper) {
  uint64_t end = vf_now_ns() + IDLE_NS;
  for (;;) {
    __atomic_store_n(&state, ASLEEP, __ATOMIC_SEQ_CST);
    /* What was freed before that store is seen here, the rest is told. */
    if (!is_wanted() || vf_now_ns() >= end) {
      if (leave(helper))
        return false;
    } else if (has_excess(helper)) {
      __atomic_store_n(&state, TOLD, __ATOMIC_RELAXED);
      return true;
    } else {
      vf_futex_wait(&state, ASLEEP, CHECK_NS);
      check_pressure(helper);
    }
    /* Whoever frees goes on, or takes it again: a look at once would only tell
     * that something was freed. */
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == TOLD &&
        sleep_between_looks(helper, vf_first_pause_ns(&helper->watch)))
      return true;
  }
}

static void *run(void *unused) {
  struct helper helper = {.pressure_at = vf_now_ns() + VF_SLOW_NS};
  vf_watch_begin(&helper.watch);
  for (;;) {
    uint64_t pause = vf_look(&helper.watch);
    if (pause != 0 && sleep_between_looks(&helper, pause))
      continue;
    if (!sleep_until_told(&helper))
      return unused;
  }
}

static bool create(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK);
  bool is_there = pthread_create(&thread, &attributes, run, NULL) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_there;
}

/* Returns true if there is a helper now. */
static bool start(void) {
  if (__libc_single_threaded)
    return false;
  struct vf_pages_totals totals = vf_pages_totals();
  if (vf_used_for_blocks(&totals) + totals.resident <= VF_WORTH)
    return false;
  uint64_t not_before = __atomic_load_n(&retry_at, __ATOMIC_RELAXED);
  if ((not_before != 0 && vf_now_ns() < not_before) ||
      !has_more_threads_than(1))
    return false;
  if (!change(NONE, TOLD))
    return true;
  bool is_there = create();
  /* Else no more threads are allowed, or there is no room for one. */
  __atomic_store_n(&retry_at, is_there ? 0 : vf_now_ns() + RETRY_NS,
                   __ATOMIC_RELAXED);
  if (!is_there)
    __atomic_store_n(&state, NONE, __ATOMIC_RELEASE);
  return is_there;
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

bool vf_helper_tell(size_t drained) {
  make_room();
  if (__atomic_load_n(&state, __ATOMIC_RELAXED) == TOLD)
    return false;
  if (change(ASLEEP, TOLD)) {
    vf_futex_wake(&state, 1, VF_PRIVATE);
    return true;
  }
  return start() || vf_caller_look(drained);
}

void vf_helper_after_fork(void) {
  state = NONE;
  retry_at = 0;
  vf_caller_after_fork();
}
