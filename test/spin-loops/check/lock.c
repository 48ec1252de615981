// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locks in C: by compare-and-swap, exchange, test-and-set, inline assembly,
// trylock calls, tickets, queues; and lock-free updates, which are no locks.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

int lock, other;
_Atomic int alock;
atomic_flag aflag;
pthread_mutex_t extra;
void pause_hint(void);
static inline void cpu_relax(void) { __asm__ volatile("pause" ::: "memory"); }

void tries(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'lock'
  while (!__sync_bool_compare_and_swap(&lock, 0, 1))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'lock'
  while (__sync_val_compare_and_swap(&lock, 0, 1) != 0)
    cpu_relax();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, exchange of atomic 'lock'
  while (__sync_lock_test_and_set(&lock, 1))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, exchange of atomic 'lock'
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, test-and-set of atomic 'lock'
  while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, exchange of atomic 'alock'
  while (atomic_exchange(&alock, 1))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, exchange of atomic 'aflag'
  while (atomic_flag_test_and_set(&aflag))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, test-and-set of atomic 'lock'
  while (__atomic_fetch_or(&lock, 1, __ATOMIC_ACQUIRE) & 1)
    ;
  int expected = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'alock'
  while (!atomic_compare_exchange_weak(&alock, &expected, 1))
    expected = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'alock'
  do {
    expected = 0;
  } while (!atomic_compare_exchange_strong(&alock, &expected, 1));
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'lock'
  for (;;) {
    int want = 0;
    if (__atomic_compare_exchange_n(&lock, &want, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      break;
    cpu_relax();
  }
}

static inline int xchg(volatile int *p, int v) {
  __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(*p) : : "memory");
  return v;
}
static inline unsigned char cas(volatile int *p, int old, int new) {
  unsigned char done;
  __asm__ volatile("lock; cmpxchgl %3, %1; sete %0"
                   : "=q"(done), "+m"(*p), "+a"(old)
                   : "r"(new)
                   : "memory");
  return done;
}
void by_assembly(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, inline assembly of atomic 'lock'
  while (xchg(&lock, 1))
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, inline assembly of atomic 'lock'
  while (!cas(&lock, 0, 1))
    __asm__ volatile("rep; nop");
}

// A lock passed about untyped is no device register.
static inline int try_untyped(volatile void *p) {
  int result;
  __asm__ volatile("lock\ncmpxchgl %2, %1"
                   : "=a"(result), "=m"(*(volatile int *)p)
                   : "q"(1), "0"(0), "m"(*(volatile int *)p)
                   : "memory");
  return result == 0;
}
static bool generic_cas(int *p, int *expected, int desired) {
  if (desired == 0)
    abort();
  return __atomic_compare_exchange(p, expected, &desired, true,
                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
struct backoff { int rounds; };
static inline void back_off(struct backoff *b) {
  if (b->rounds < 16) {
    for (int i = 0; i < b->rounds; i++)
      cpu_relax();
    b->rounds *= 2;
  } else {
    sched_yield();
  }
}
void through_wrappers(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, inline assembly of atomic 'lock'
  while (!try_untyped(&lock))
    cpu_relax();
  struct backoff b = {1};
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic 'lock' and yields
  for (;;) {
    int expected = 0;
    if (generic_cas(&lock, &expected, 1))
      break;
    back_off(&b);
  }
  int seen;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'lock'
  do {
    __atomic_load(&lock, &seen, __ATOMIC_ACQUIRE);
  } while (seen == 1);
  // Readers may enter while no writer is in: that is what it waits for.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, compare-and-swap of atomic 'lock'
  for (;;) {
    seen = __atomic_load_n(&lock, __ATOMIC_RELAXED);
    if (seen >= 0 && __atomic_compare_exchange_n(&lock, &seen, seen + 1, true,
                                                 __ATOMIC_ACQUIRE,
                                                 __ATOMIC_RELAXED))
      break;
    __atomic_fetch_or(&lock, 2, __ATOMIC_RELAXED); // Says that it waits.
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'pthread_mutex_trylock', up to 100 times:
  for (int i = 0; i < 100; i++) {
    if (!atomic_load(&alock) && !pthread_mutex_trylock(&extra))
      break;
  }
}

void test_and_test_and_set(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, exchange of atomic 'lock'
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'lock'
    while (__atomic_load_n(&lock, __ATOMIC_RELAXED))
      cpu_relax();
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, compare-and-swap of atomic 'alock'
  for (;;) {
    int expected = 0;
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'alock'
    while (atomic_load(&alock) != 0)
      ;
    if (atomic_compare_exchange_weak(&alock, &expected, 1))
      break;
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, exchange of atomic 'alock'
  while (atomic_load(&alock) || atomic_exchange(&alock, 1))
    cpu_relax();
  int old;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, compare-and-swap of atomic 'lock'
  do {
    old = __atomic_load_n(&lock, __ATOMIC_RELAXED);
  } while ((old & 1) || !__sync_bool_compare_and_swap(&lock, old, old | 1));
}

struct ticket_lock { _Atomic unsigned next, owner; };
void ticket(struct ticket_lock *l) {
  unsigned mine = atomic_fetch_add(&l->next, 1);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a ticket lock, atomic 'l->owner'
  while (atomic_load(&l->owner) != mine)
    cpu_relax();
}

struct qnode { struct qnode *_Atomic next; _Atomic int waiting; };
void queue(struct qnode *_Atomic *tail, struct qnode *me) {
  struct qnode *before = atomic_exchange(tail, me);
  if (before) {
    atomic_store(&before->next, me);
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a queue node, atomic 'me->waiting'
    while (atomic_load(&me->waiting))
      ;
  }
}

struct barrier { _Atomic int left; volatile int sense; int n; };
void barrier(struct barrier *b, int *my_sense) {
  int s = *my_sense = !*my_sense;
  if (atomic_fetch_sub(&b->left, 1) == 1) {
    b->left = b->n;
    b->sense = s;
  } else {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins at a barrier on volatile 'b->sense'
    while (b->sense != s)
      ;
  }
}

struct seq { _Atomic unsigned version; int x, y; } shared;
void seqlock(int *x, int *y) {
  unsigned v;
  do {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on atomic 'shared.version'
    while ((v = atomic_load(&shared.version)) & 1)
      cpu_relax();
    *x = shared.x;
  } while (v != atomic_load(&shared.version));
}

pthread_mutex_t mutex;
pthread_spinlock_t spin;
sem_t sem;
mtx_t mtx;
void trylocks(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'pthread_mutex_trylock'
  while (pthread_mutex_trylock(&mutex) != 0)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'pthread_spin_trylock' and yields between polls
  while (pthread_spin_trylock(&spin))
    sched_yield();
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'sem_trywait'
  while (sem_trywait(&sem) == -1)
    cpu_relax();
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'mtx_trylock'
  while (mtx_trylock(&mtx) == thrd_busy)
    thrd_yield();
  int rc;
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'pthread_mutex_trylock'
  do {
    rc = pthread_mutex_trylock(&mutex);
  } while (rc == EBUSY);
}

//===--- Not waits --------------------------------------------------------===//

// Lock-free updates: the swap expects what was just read and can succeed at
// once, however many others there are; only being overtaken repeats it.
void retry(_Atomic int *n, int *m) {
  int old = atomic_load(n);
  while (!atomic_compare_exchange_weak(n, &old, old + 1))
    ;
  do {
    old = *m;
  } while (!__sync_bool_compare_and_swap(m, old, old + 1));
  for (;;) {
    int seen = __atomic_load_n(m, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(m, &seen, seen * 2, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
      break;
  }
}
// The same by what the swap returns, by assembly too: the next try expects what
// this one has just seen.
// What it reads decides which of two updates it tries. Seen in bRPC.
void retry_either(_Atomic int *n, int least) {
  int seen = atomic_load(n);
  do {
    if (seen == 0) {
      break;
    } else if (seen < least) {
      if (atomic_compare_exchange_weak(n, &seen, 0))
        break;
    } else {
      if (atomic_compare_exchange_weak(n, &seen, seen / 2))
        break;
    }
  } while (1);
}
// A lock that is taken looks again, on a path without a try.
void lock_either(_Atomic int *n, int least) {
  int seen = atomic_load(n);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, compare-and-swap of atomic '*n'
  do {
    if (seen < least) {
      if (atomic_compare_exchange_weak(n, &seen, 0))
        break;
    } else {
      seen = atomic_load(n);
    }
  } while (1);
}
// One that forgets to read again expects what it has read before the loop.
// Seen in PARSEC's TBB (spin_rw_mutex_v2.cpp).
int retry_stale(volatile int *state, _Atomic int *p) {
  int s = *state, first = atomic_load(p), e;
  while (!(s & 3))
    if (__sync_bool_compare_and_swap(state, s, s + 4))
      return 1;
  do
    e = first;
  while (!atomic_compare_exchange_weak(p, &e, first + 1));
  return 0;
}
// A value from elsewhere is one that others have to store.
void wait_for_turn(_Atomic int *p, int turn) {
  int e;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic '*p'
  do
    e = turn;
  while (!atomic_compare_exchange_weak(p, &e, -1));
}
// One that knows its holder waits until the value read is free of it.
void wait_until_clear(int *n) {
  int s = *n & ~1;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a try-lock, compare-and-swap of atomic '*n'
  while (!__sync_bool_compare_and_swap(n, s, s | 1))
    ;
}
void retry_by_value(int *n, int top) {
  int e = *n;
  while (e < top) {
    int f = __sync_val_compare_and_swap(n, e, top);
    if (f == e)
      break;
    e = f;
  }
  int old;
  do {
    old = *n;
  } while (!cas(n, old, old + 1));
}
static inline int cas_untyped(volatile void *p, int value, int comparand) {
  int result;
  __asm__ volatile("lock\ncmpxchgl %2, %1"
                   : "=a"(result), "=m"(*(volatile int *)p)
                   : "q"(value), "0"(comparand), "m"(*(volatile int *)p)
                   : "memory");
  return result;
}
void retry_untyped(int *n) {
  int seen = *n, before;
  do {
    before = seen;
    seen = cas_untyped(n, before + 1, before);
  } while (seen != before);
}
// Announces what it has computed, again when overtaken.
int compute(void);
void announce(int *state) {
  int old;
  do {
    int new = other;
    __atomic_exchange(state, &new, &old, __ATOMIC_ACQUIRE);
  } while (old == 7);
}
// The early return is a failure, not a wait.
bool try_take(_Atomic int *count) {
  int old = atomic_load(count);
  do {
    if (old == 0)
      return false;
  } while (!atomic_compare_exchange_weak(count, &old, old - 1));
  return true;
}
struct item { struct item *next; };
struct item *_Atomic top;
struct item *pop(void) {
  struct item *old = atomic_load(&top);
  do {
    if (!old)
      return 0;
  } while (!atomic_compare_exchange_weak(&top, &old, old->next));
  return old;
}
// Only a signal makes this one go round again.
int interrupted(void) {
  int rc;
  do {
    rc = sem_trywait(&sem);
  } while (rc == -1 && errno == EINTR);
  return rc;
}
// Counts in shared memory as it goes.
void counts_outside(void) {
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
    __atomic_fetch_add(&other, 1, __ATOMIC_RELAXED);
}
// Each iteration takes a number: that is work, not a try.
void draws(_Atomic int *n) {
  while (atomic_fetch_add(n, 1) < 100)
    ;
}
// Steals work while it waits.
void take_item(void);
void steals(void) {
  while (atomic_exchange(&alock, 1))
    take_item();
}
// Taking the lock is not what ends this loop: it works under it.
void works_under_lock(void) {
  while (!atomic_load(&alock)) {
    if (!__sync_lock_test_and_set(&lock, 1)) {
      other++;
      __sync_lock_release(&lock);
    }
  }
}
