/*===- malloc/helper.c - The thread that returns memory -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "malloc/helper.h"
#include "common/plain_lock.h"
#include "common/sandbox.h"
#include "malloc/caller.h"
#include "malloc/cpu_cache.h"
#include "malloc/hysteresis.h"
#include "malloc/jemalloc.h"
#include "malloc/pressure.h"
#include "malloc/space.h"
#include "platform/linux/kernel.h"
#include "platform/linux/privilege.h"
#include <pthread.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stack size of the helper thread, 16 times what it needs: if the program's
 * last other thread ends just before the helper, libc calls exit() and its
 * handlers on this stack. */
#define STACK ((size_t)256 << 10)
/* Maximum delay until the helper notices that the process ends or has only one
 * thread left. */
#define CHECK_NS UINT64_C(50000000)
/* Time without frees after which the helper ends. Freed memory is kept for much
 * less than this before it is returned, so everything above the threshold has
 * been returned by then. The next free starts the helper again, so at most one
 * thread is started a second, which is cheap. */
#define IDLE_NS UINT64_C(1000000000)
/* Pause after a failed attempt to start the thread; an attempt takes about 20
 * us. */
#define RETRY_NS UINT64_C(10000000000)

/* State of the helper thread. NONE: there is none. TOLD: it runs, or has been
 * woken, and will examine memory. ASLEEP: it waits until a thread frees memory.
 * NONE -> TOLD by the thread that starts it. ASLEEP -> TOLD by a thread that
 * frees memory; if no thread does so, free memory is kept until the helper's
 * wait times out. TOLD -> ASLEEP and ASLEEP -> NONE by the helper. */
enum { NONE, ASLEEP, TOLD };
static uint32_t state;
static uint64_t retry_at; /* when to try again to start the helper; 0 if the
                             last attempt succeeded */
static uint64_t under_pressure;

/* Held while a helper is started or stopped. */
static uint32_t changing; /* a plain lock */
static pthread_t thread;  /* if has_thread: it runs, or has ended */
static bool has_thread;
static pid_t process; /* which started the last one */
/* Asks the helper to end. One that falls asleep and does not see it ends at its
 * next check. */
static uint32_t is_stopped;

static bool change(uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(&state, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

/* Returns true if the process has more than `few` threads. The main thread
 * counts even after it has ended, if others are left. Without /proc, libc knows
 * whether there was ever a second thread. */
static bool has_more_threads_than(unsigned few) {
  struct stat tasks;
  if (__libc_single_threaded)
    return false;
  return stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink - 2 > few;
}

/* Returns true if the process has more threads than the helper and one other.
 * The other one is the main thread, which may have ended, or the only thread
 * that a fork left. */
static bool is_wanted(void) {
  return !__atomic_load_n(&is_stopped, __ATOMIC_RELAXED) &&
         has_more_threads_than(2);
}

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

/* Sleeps for ns nanoseconds, and checks memory pressure meanwhile. Returns
 * false early if the helper is no longer needed. */
static bool sleep_between_looks(struct helper *helper, uint64_t ns) {
  while (ns != 0) {
    uint64_t part = ns < CHECK_NS ? ns : CHECK_NS;
    vf_futex_wait(&is_stopped, false, part);
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

/* Returns free memory except the padding to the kernel, because no thread will
 * examine it any more, and ends the helper. Returns false if a thread freed
 * memory meanwhile. */
static bool leave(struct helper *helper) {
  vf_watch_end(&helper->watch);
  vf_cpu_cache_empty();
  vf_jemalloc_release();
  vf_give_excess(&helper->watch);
  return change(ASLEEP, NONE);
}

/* Sleeps until a thread frees memory. Returns false if the helper has ended
 * instead. */
static bool sleep_until_told(struct helper *helper) {
  uint64_t end = vf_now_ns() + IDLE_NS;
  for (;;) {
    __atomic_store_n(&state, ASLEEP, __ATOMIC_SEQ_CST);
    /* Memory freed before the state became ASLEEP is seen by this check; later
     * frees notify the helper. */
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
    /* The helper waits a moment before it examines memory, because a thread
     * that has just freed memory usually frees more, or allocates again. */
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

/* Waits for the end of a helper that ends. Unlike the functions of the
 * allocator, pthread_join is a cancellation point. */
static void join(void) {
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_join(thread, NULL);
  pthread_setcancelstate(before, &before);
  has_thread = false;
}

/* Not detached: the kernel counts a thread until its end, which vf_helper_stop
 * must await. */
static bool create(void) {
  sigset_t all, before;
  if (has_thread)
    join();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK);
  process = getpid();
  has_thread = pthread_create(&thread, &attributes, run, NULL) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return has_thread;
}

/* Starts the helper if there is enough free memory to be worth a thread, but
 * not in a privileged process: its threads call vf_caller_look instead. Returns
 * true if there is a helper now. */
static bool start(void) {
  if (__libc_single_threaded || vf_is_privileged())
    return false;
  struct vf_pages_totals totals = vf_pages_totals();
  if (vf_used_for_blocks(&totals) + totals.resident <= vf_worth)
    return false;
  uint64_t not_before = __atomic_load_n(&retry_at, __ATOMIC_RELAXED);
  if ((not_before != 0 && vf_now_ns() < not_before) ||
      !has_more_threads_than(1))
    return false;
  if (!vf_plain_try(&changing)) /* Another thread starts or stops it. */
    return false;
  bool is_first = change(NONE, TOLD);
  bool is_there = !is_first || create();
  vf_plain_unlock(&changing, VF_PRIVATE);
  if (!is_first)
    return true;
  /* pthread_create failed: the limit of threads is reached, or there is no
   * memory for a stack. */
  __atomic_store_n(&retry_at, is_there ? 0 : vf_now_ns() + RETRY_NS,
                   __ATOMIC_RELAXED);
  if (!is_there)
    __atomic_store_n(&state, NONE, __ATOMIC_RELEASE);
  return is_there;
}

/* If the process has a limit of address space, unmaps free memory, because the
 * stacks of its threads need that space. */
static void make_room(void) {
  size_t spare = vf_space_spare();
  if (spare == SIZE_MAX)
    return;
  vf_cpu_cache_empty();
  vf_jemalloc_release();
  struct vf_pages_totals totals = vf_pages_totals();
  if (totals.mapped > spare && totals.used < totals.mapped - spare)
    vf_pages_unmap();
}

static bool tell(size_t drained) {
  make_room();
  if (__atomic_load_n(&state, __ATOMIC_RELAXED) == TOLD)
    return false;
  if (change(ASLEEP, TOLD)) {
    vf_futex_wake(&state, 1, VF_PRIVATE);
    return true;
  }
  return start() || vf_caller_look(drained);
}

bool vf_helper_tell(size_t drained) {
  if (!vf_begin_optional())
    return false;
  bool result = tell(drained);
  vf_end_optional();
  return result;
}

bool vf_helper_stop(void) {
  /* None was started; or this is a child of a fork that calls no handlers
   * (_Fork, the system call), in which `changing` may be held for ever, or of
   * vfork, which must leave the helper to its parent. */
  if (process != getpid())
    return false;
  vf_plain_lock(&changing);
  bool was_there = has_thread;
  if (was_there) {
    __atomic_store_n(&is_stopped, true, __ATOMIC_RELAXED);
    vf_futex_wake_all(&is_stopped);
    if (change(ASLEEP, TOLD))
      vf_futex_wake(&state, 1, VF_PRIVATE);
    join();
    __atomic_store_n(&is_stopped, false, __ATOMIC_RELAXED);
  }
  vf_plain_unlock(&changing, VF_PRIVATE);
  return was_there;
}

void vf_helper_after_fork(void) {
  state = NONE;
  changing = VF_FREE;
  has_thread = false;
  is_stopped = false;
  retry_at = 0;
  vf_caller_after_fork();
}
