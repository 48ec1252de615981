// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A spin lock is seen by what happens to its word, wherever in an expression that happens and however it is written.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %s -- -std=gnu11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_spinlock_t spin;
int count;
void log_error(const char *, ...);

// The result is tested: the log is on the side on which the lock is not held.
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    int error;                                                                                                         \
    if ((error = (call)) != 0)                                                                                         \
      log_error("%s failed: %s", #call, strerror(error));                                                              \
  } while (0)
#define quick_lock(l) MUST(pthread_spin_lock(l))
#define quick_unlock(l) MUST(pthread_spin_unlock(l))

void in_macro(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates or releases memory
  quick_lock(&spin);
  free(p);
  quick_unlock(&spin);
}
// Not reported: only the other side logs.
void in_macro_short(void) {
  quick_lock(&spin);
  count++;
  quick_unlock(&spin);
}

int stored(void *p) {
  // CHECK: :[[@LINE+1]]:15: warning: holds 'spin' while 'free' allocates
  int error = pthread_spin_lock(&spin);
  if (error) {
    log_error("failed %d", error);
    return error;
  }
  free(p);
  return pthread_spin_unlock(&spin);
}

void tried(void *p) {
  // CHECK: :[[@LINE+1]]:7: warning: holds 'spin' while 'free' allocates
  if (pthread_spin_trylock(&spin) == 0) {
    free(p);
    pthread_spin_unlock(&spin);
  } else {
    sleep(1);
  }
  // Not reported.
  if (!pthread_spin_trylock(&spin)) {
    count++;
    pthread_spin_unlock(&spin);
  } else {
    sleep(1);
  }
}

void polled(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates
  while (pthread_spin_trylock(&spin) != 0)
    sched_yield();
  free(p);
  pthread_spin_unlock(&spin);
}

void in_expressions(void *p, void *q) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates
  pthread_spin_lock(&spin), count++;
  free(p);
  (void)(pthread_spin_unlock(&spin), 0);
  // CHECK: :[[@LINE+1]]:6: warning: holds 'spin' while 'free' allocates
  ({ pthread_spin_lock(&spin); count; });
  free(q);
  count = pthread_spin_unlock(&spin) ? 1 : 2;
}

// Assembly that tests before it exchanges, and a release by assembly in a function.
typedef volatile int asm_lock;
static inline int test_and_set(asm_lock *l) {
  int old;
  __asm__ volatile(" cmpb $0, %1\n\t mov $1, %0\n\t jnz 1f\n\t xchgb %1, %b0\n\t1:\n\t" : "=&q"(old), "=m"(*l) : "m"(*l) : "memory", "cc");
  return old;
}
static inline void asm_get(asm_lock *l) {
  int i = 1024;
  while (test_and_set(l))
    if (i > 0)
      i--;
    else
      sched_yield();
}
static inline void asm_put(asm_lock *l) { __asm__ volatile(" movb $0, %0\n\t" : "=m"(*l) : : "memory"); }
asm_lock *table;
void by_asm(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'table' while 'free' allocates
  asm_get(table);
  free(p);
  asm_put(table);
  free(p);
}

// By an address in a register, as on other processors.
static inline int swap(int *l) {
  int old;
  __asm__ volatile("xchgl %0, (%1)" : "=r"(old) : "r"(l), "0"(1) : "memory");
  return old;
}
static inline void drop(int *l) { __asm__ volatile("movl $0, (%0)" : : "r"(l) : "memory"); }
int plain;
void by_register(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'plain' while 'free' allocates
  while (swap(&plain))
    ;
  free(p);
  drop(&plain);
}

// The release is a plain store after a barrier, as its name says.
struct tas {
  int held;
};
static void tas_lock(struct tas *l) {
  while (__sync_lock_test_and_set(&l->held, 1))
    ;
}
static void tas_unlock(struct tas *l) {
  __sync_synchronize();
  l->held = 0;
}
struct tas tas;
void by_store(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'tas' while 'free' allocates
  tas_lock(&tas);
  free(p);
  tas_unlock(&tas);
}

// Tickets: taken by an addition and a wait, released by an addition.
struct ticket {
  unsigned next;
  volatile unsigned serving;
};
static void ticket_lock(struct ticket *l) {
  unsigned mine = __sync_fetch_and_add(&l->next, 1);
  while (l->serving != mine)
    __builtin_ia32_pause();
}
static void ticket_unlock(struct ticket *l) { l->serving++; }
struct ticket ticket;
void by_ticket(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'ticket' while 'free' allocates
  ticket_lock(&ticket);
  free(p);
  ticket_unlock(&ticket);
}

#define TICKET_LOCK(l)                                                                                                 \
  do {                                                                                                                 \
    unsigned mine = __sync_fetch_and_add(&(l)->next, 1);                                                               \
    while ((l)->serving != mine)                                                                                       \
      ;                                                                                                                \
  } while (0)
void in_place(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'serving' while 'free' allocates
  TICKET_LOCK(&ticket);
  free(p);
  ticket.serving++;
  free(p);
}
// Not reported: a barrier.
void barrier(volatile unsigned *phase, unsigned all, void *p) {
  unsigned old = *phase;
  if (__sync_add_and_fetch(&ticket.next, 1) == all)
    ++*phase;
  else
    while (*phase == old)
      ;
  free(p);
}

// A lock that notes its owner, and one that counts under another lock.
struct owned {
  atomic_int word, owner;
};
static void owned_lock(struct owned *l) {
  while (atomic_exchange(&l->word, 1))
    ;
  atomic_store(&l->owner, getpid());
}
static void owned_unlock(struct owned *l) {
  atomic_store(&l->owner, 0);
  atomic_store(&l->word, 0);
}
struct owned owned;
void by_owner(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'owned' while 'free' allocates
  owned_lock(&owned);
  free(p);
  owned_unlock(&owned);
}

// Bits that are set and cleared.
atomic_uint bits;
void by_bits(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'bits' while 'free' allocates
  while (atomic_fetch_or(&bits, 1) & 1)
    ;
  free(p);
  atomic_fetch_and(&bits, ~1u);
  free(p);
}

// Through a pointer that is set once, and one whose name tells.
static int (*const take)(pthread_spinlock_t *) = pthread_spin_lock;
struct ops {
  void (*spin_lock)(void *), (*spin_unlock)(void *);
} *ops;
void by_pointer(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates
  take(&spin);
  free(p);
  pthread_spin_unlock(&spin);
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates
  ops->spin_lock((void *)&spin);
  free(p);
  ops->spin_unlock((void *)&spin);
}

// The verb may come first.
struct file;
void acquireSpinLock(struct file *), releaseSpinLock(struct file *);
void verb_first(struct file *f, void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'f' while 'free' allocates
  acquireSpinLock(f);
  free(p);
  releaseSpinLock(f);
  free(p);
}

// The caller releases it.
void begins(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'free' allocates
  pthread_spin_lock(&spin);
  if (count < 0) {
    log_error("broken");
    abort();
  }
  free(p);
}
// Not reported: another function releases it here, or what it calls.
void ends(pthread_spinlock_t *);
void lets(pthread_spinlock_t *other, void *p) {
  pthread_spin_lock(&spin);
  pthread_spin_unlock(other);
  free(p);
}
void spin_data_release(void *);
void lets_by_name(void *p) {
  pthread_spin_lock(&spin);
  spin_data_release(p);
  free(p);
}

// Not reported: it is taken anew, so it was free meanwhile.
static int take_or_give_up(atomic_int *l, int polls) {
  while (atomic_exchange(l, 1))
    if (!polls--)
      return -1;
  return 0;
}
atomic_int word;
void again(void) {
  for (;;) {
    if (take_or_give_up(&word, 100) == 0) {
      count++;
      atomic_store(&word, 0);
      return;
    }
    usleep(10);
  }
}

// Not reported: no lock is taken.
atomic_int *top;
void counts(void *p) {
  atomic_fetch_add(&word, 1);
  free(p);
  atomic_fetch_sub(&word, 1);
}
static void close_gate(atomic_int *gate) { atomic_store(gate, 0); }
void passes(void *p) {
  if (atomic_exchange(&word, 1))
    return;
  free(p);
  close_gate(&word);
}

// An alias has no body of its own.
struct aliased {
  volatile int word;
};
int impl_spin_lock(struct aliased *l) {
  while (__sync_lock_test_and_set(&l->word, 1))
    ;
  return 0;
}
int alias_spin_lock(struct aliased *l) __attribute__((alias("impl_spin_lock")));
void alias_spin_unlock(struct aliased *l);
void hold_by_alias(struct aliased *l, void *p) {
  // CHECK: :[[@LINE+1]]:7: warning: holds 'l' while 'free' allocates or releases memory
  if (alias_spin_lock(l))
    return;
  free(p);
  alias_spin_unlock(l);
}
