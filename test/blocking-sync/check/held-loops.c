// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops in the section of a spin lock, and functions and locks of other units.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %s -- -std=c11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

pthread_spinlock_t spin;
struct item {
  struct item *next;
  char name[16];
  int value, waits;
} *items, *lists[13];
int count;
void wake(struct item *), visit(struct item *);

void wake_all(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while a loop has no small limit: all waiters poll meanwhile; limit what one section does, or take the items out first
  pthread_spin_lock(&spin);
  // CHECK-NEXT: :[[@LINE+1]]:3: note: a loop has no small limit here
  for (struct item *i = items; i; i = i->next)
    if (i->waits) {
      i->waits = 0;
      wake(i);
    }
  pthread_spin_unlock(&spin);
}

// Not reported: a search, and what is done once.
void wake_one(const char *name) {
  pthread_spin_lock(&spin);
  for (struct item *i = items; i; i = i->next)
    if (strcmp(i->name, name) == 0) {
      wake(i);
      break;
    }
  pthread_spin_unlock(&spin);
}

// Not reported: few, and steps along a list.
void few(void) {
  pthread_spin_lock(&spin);
  for (int i = 0; i < 4; ++i)
    wake(&items[i]);
  for (struct item *i = items; i; i = i->next)
    count += i->value;
  pthread_spin_unlock(&spin);
}

void each_list(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while a loop has no small limit
  pthread_spin_lock(&spin);
  for (int n = 0; n < 13; ++n)
    for (struct item *i = lists[n]; i; i = i->next)
      count += i->value;
  pthread_spin_unlock(&spin);
}

static void visit_all(void) {
  for (struct item *i = items; i; i = i->next)
    visit(i);
}
void by_way(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'visit_all' repeats work without a small limit
  pthread_spin_lock(&spin);
  visit_all();
  // CHECK: note: by a loop
  pthread_spin_unlock(&spin);
}

// Not reported: the lock is free in each iteration.
void lets_go(void) {
  pthread_spin_lock(&spin);
  for (struct item *i = items; i; i = i->next) {
    pthread_spin_unlock(&spin);
    visit(i);
    pthread_spin_lock(&spin);
  }
  pthread_spin_unlock(&spin);
}

// Not reported: it tries again.
void adds(atomic_int *to, int (*const limit)(void)) {
  int most = limit();
  pthread_spin_lock(&spin);
  int before = atomic_load(to);
  do
    visit(items);
  while (before < most && !atomic_compare_exchange_weak(to, &before, before + 1));
  pthread_spin_unlock(&spin);
}

// Locks of another unit: how they wait is not to be seen. One says for how long it spins.
struct shared_lock {
  volatile unsigned long *word;
  unsigned spin;
} shared;
struct queued_lock {
  volatile unsigned long *word;
  unsigned waiters;
} queued;
void shared_lock(struct shared_lock *), shared_unlock(struct shared_lock *);
void queued_lock(struct queued_lock *), queued_unlock(struct queued_lock *);
void *slab_alloc_locked(int), *slab_of(int);

void *by_field(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'shared' while 'slab_alloc_locked' allocates or releases memory
  shared_lock(&shared);
  void *p = slab_alloc_locked(8);
  shared_unlock(&shared);
  return p;
}
// Not reported: waiters may sleep.
void *in_queue(void) {
  queued_lock(&queued);
  void *p = slab_alloc_locked(8);
  queued_unlock(&queued);
  return p;
}

// A name says more than a body of which a part does not show, and less than one that shows.
static void *session_create(void) { return slab_of(64); }
static struct item *item_alloc(void) {
  struct item *first = items;
  items = first->next;
  return first;
}
void names(void) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'spin' while 'session_create' allocates or releases memory
  pthread_spin_lock(&spin);
  void *session = session_create();
  pthread_spin_unlock(&spin);
  pthread_spin_lock(&spin);
  count += item_alloc() != session;
  pthread_spin_unlock(&spin);
}

// Not reported: a loop that never ends stands for the end of the program.
#define MUST(c) do { if (!(c)) for (;;) {} } while (0)
void few_that_must(void) {
  pthread_spin_lock(&spin);
  for (int i = 0; i < 4; ++i) {
    MUST(items[i].value);
    wake(&items[i]);
  }
  pthread_spin_unlock(&spin);
}

// A release in two words.
typedef int own_lock;
void ownSpinLock(own_lock *), ownSpinUnLock(own_lock *);
void two_words(own_lock *l, void *(*get)(void)) {
  // CHECK: :[[@LINE+1]]:3: warning: holds 'l' while 'get' is called through a pointer
  ownSpinLock(l);
  get();
  ownSpinUnLock(l);
}
