/*===- malloc/fork_gate.c - No lock of jemalloc is held at a fork ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A fork must find all locks of jemalloc free, as the child has no thread that
 * would release them. jemalloc takes each of them, some 60 for each arena, on
 * ten pages. After the fork the parent writes to all these pages to release the
 * locks, the child to initialize them, and the kernel copies each page twice.
 *
 * Here a fork takes none of them. A thread counts itself in before it takes its
 * first lock and out after it has released the last one. The fork closes a gate
 * and waits until no thread is counted in:
 *
 *   thread:  add 1 to its counter        fork:  gate = CLOSED
 *            if gate is CLOSED:                 wait for each counter to be 0
 *              subtract 1, wait, again
 *
 * Both write, then read what the other has written, sequentially consistent: so
 * the thread sees the closed gate, or the fork sees the count. A counter that
 * has been 0 after the gate was closed stays without holders of a lock, as
 * threads that come later see the gate. A thread that holds a lock passes the
 * gate for further ones, so it will release all of them.
 *
 * As in jemalloc.c, the functions __wrap_NAME are called in place of NAME.
 *===----------------------------------------------------------------------===*/

#include "malloc/fork_gate.h"
#include "platform/linux/kernel.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

/* Number of counters, each with a cache line of its own, so that threads on
 * different CPUs seldom write to the same line. Together they are a page. */
#define COUNTERS_LOG2 6
#define LINE 64
static struct {
  _Alignas(LINE) uint32_t inside;
} counters[1u << COUNTERS_LOG2];

/* AWAITED: CLOSED, and threads may sleep until it is OPEN. Set by such a thread
 * before it sleeps; failing to set it leaves the thread asleep for WAIT_NS. */
enum { OPEN, CLOSED, AWAITED };
static uint32_t gate;
#define WAIT_NS UINT64_C(1000000000)

/* Number of locks that this thread holds or waits for, plus COUNTED if a
 * counter has it. Changed by single stores, and counted in before and out after
 * them: a signal handler that takes a lock in between counts itself. */
#define COUNTED 0x10000u
static __thread __attribute__((tls_model("initial-exec"))) uint32_t held;

/* Stacks of threads, and so their variables, are multiples of a page apart. */
static uint32_t *my_counter(void) {
  uint32_t hash = (uint32_t)((uintptr_t)&held >> 12) * 0x9e3779b1u;
  return &counters[hash >> (32 - COUNTERS_LOG2)].inside;
}

/* Returns the counter that has this thread's 1, or NULL if none has. */
static const uint32_t *counted_at(void) {
  return held & COUNTED ? my_counter() : NULL;
}

static void wait_until_open(void) {
  uint32_t seen = CLOSED;
  if (__atomic_compare_exchange_n(&gate, &seen, AWAITED, false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
      seen == AWAITED)
    vf_futex_wait(&gate, AWAITED, WAIT_NS);
}

static void count_in(void) {
  uint32_t *counter = my_counter();
  for (;;) {
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&gate, __ATOMIC_SEQ_CST) == OPEN, 1))
      return;
    __atomic_fetch_sub(counter, 1, __ATOMIC_RELEASE);
    wait_until_open();
  }
}

/* A process with one thread forks without the gate, and its thread is not
 * counted. It can become one of several only while it holds no lock. */
static void enter(void) {
  uint32_t before = held;
  if (before != 0 || __libc_single_threaded) {
    held = before + 1;
    return;
  }
  count_in();
  held = COUNTED + 1;
}

static void leave(void) {
  uint32_t after = held - 1;
  if (after != COUNTED) {
    held = after;
    return;
  }
  held = 0;
  __atomic_fetch_sub(my_counter(), 1, __ATOMIC_RELEASE);
}

void vf_fork_gate_close(void) {
  /* A signal handler that interrupted jemalloc may fork: it finds the locks of
   * its own thread as they are, also in the child. */
  const uint32_t *mine = counted_at();
  ++held; /* What jemalloc's fork handlers allocate passes the gate. */
  __atomic_store_n(&gate, CLOSED, __ATOMIC_SEQ_CST);
  for (unsigned i = 0; i != 1u << COUNTERS_LOG2; ++i) {
    uint32_t *counter = &counters[i].inside;
    for (unsigned reads = 0; __atomic_load_n(counter, __ATOMIC_SEQ_CST) !=
                             (counter == mine ? 1u : 0u);
         ++reads)
      vf_fork_wait(reads);
  }
}

/* A thread that came to the closed gate during the fork may have added its 1
 * and not yet subtracted it: in the child, no thread would. Only writes where
 * needed, as the kernel then copies the page. */
static void forget_other_threads(void) {
  const uint32_t *mine = counted_at();
  for (unsigned i = 0; i != 1u << COUNTERS_LOG2; ++i) {
    uint32_t *counter = &counters[i].inside, own = counter == mine;
    if (__atomic_load_n(counter, __ATOMIC_RELAXED) != own)
      __atomic_store_n(counter, own, __ATOMIC_RELAXED);
  }
}

void vf_fork_gate_open(bool is_child) {
  --held;
  if (is_child) { /* It has no other thread. */
    forget_other_threads();
    __atomic_store_n(&gate, OPEN, __ATOMIC_RELAXED);
  } else if (__atomic_exchange_n(&gate, OPEN, __ATOMIC_RELEASE) == AWAITED)
    vf_futex_wake_all(&gate);
}

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
  enter();
  int error = __real_pthread_mutex_trylock(mutex);
  if (error)
    leave();
  return error;
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  enter();
  int error = __real_pthread_mutex_lock(mutex);
  if (__builtin_expect(error != 0, 0))
    abort(); /* Only of a lock that this thread holds, if libc notices. */
  return 0;
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  int error = __real_pthread_mutex_unlock(mutex);
  leave();
  return error;
}

#ifdef VF_MALLOC_DEBUG
/* Lets libc notice a thread that waits for a lock that it holds. */
int __real_pthread_mutexattr_settype(pthread_mutexattr_t *attributes, int type);
int __wrap_pthread_mutexattr_settype(pthread_mutexattr_t *attributes, int type);
int __wrap_pthread_mutexattr_settype(pthread_mutexattr_t *attributes,
                                     int type) {
  (void)type;
  return __real_pthread_mutexattr_settype(attributes, PTHREAD_MUTEX_ERRORCHECK);
}
#endif

/* jemalloc's background threads wait for conditions, if MALLOC_CONF asks for
 * such threads. pthread_cond_wait would return with the mutex, which no thread
 * may take while the gate is closed. So they poll: a wake-up without cause is
 * allowed, and these threads have nothing to do in time. */
#define POLL_NS UINT64_C(100000000)

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) {
  (void)cond;
  __wrap_pthread_mutex_unlock(mutex);
  vf_sleep_ns(POLL_NS);
  return __wrap_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *at);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *at) {
  (void)at;
  return __wrap_pthread_cond_wait(cond, mutex);
}

/* jemalloc's fork handlers call these for each lock. */
void __wrap_je_malloc_mutex_prefork(void *tsdn, void *mutex);
void __wrap_je_malloc_mutex_prefork(void *tsdn, void *mutex) {
  (void)tsdn, (void)mutex;
}

void __wrap_je_malloc_mutex_postfork_parent(void *tsdn, void *mutex);
void __wrap_je_malloc_mutex_postfork_parent(void *tsdn, void *mutex) {
  (void)tsdn, (void)mutex;
}

void __wrap_je_malloc_mutex_postfork_child(void *tsdn, void *mutex);
void __wrap_je_malloc_mutex_postfork_child(void *tsdn, void *mutex) {
  (void)tsdn, (void)mutex;
}
