// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Spin locks that the child of a fork and threads of real-time priority take, beside those that may.
// RUN: split-file %s %t
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %t/fork.c -- -std=gnu11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %t/fork.c --implicit-check-not=warning:
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %t/atfork.c -- -std=gnu11 -D_GNU_SOURCE 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %t/processes.c -- -std=gnu11 -D_GNU_SOURCE 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-held' %t/priority.c -- -std=gnu11 -D_GNU_SOURCE 2>&1 | grep '^/' | FileCheck %t/priority.c --implicit-check-not=warning:
// NONE-NOT: warning:

//--- lock.h
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int word;
static int count;
static void take(atomic_int *l) {
  while (atomic_exchange(l, 1))
    while (atomic_load(l))
      ;
}
static void give(atomic_int *l) { atomic_store(l, 0); }
static void add(void) {
  take(&word);
  count++;
  give(&word);
}

//--- fork.c
#include "lock.h"
static void *work(void *p) {
  take(&word);
  count++;
  give(&word);
  return p;
}
// The thread may hold the lock when the process is copied.
int starts(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  pid_t child = fork();
  if (child == 0) {
    // CHECK: :[[@LINE+1]]:5: warning: takes 'word' in the child of a fork: it polls for ever if another thread held it; take it in a handler of pthread_atfork
    take(&word);
    count++;
    give(&word);
    _exit(0);
  }
  // Not reported: the parent.
  take(&word);
  count++;
  give(&word);
  return pthread_join(t, 0);
}
static void log_in_child(void) {
  // CHECK: :[[@LINE+1]]:3: warning: takes 'word' in the child of a fork
  take(&word);
  count++;
  give(&word);
}
int by_way(void) {
  switch (fork()) {
  case 0:
    log_in_child();
    _exit(0);
  default:
    add();
    return 0;
  }
}
// Not reported: another program, and the parent's branch.
int runs(void) {
  pid_t child;
  if (!(child = fork())) {
    take(&word);
    give(&word);
    execl("/bin/true", "true", (char *)0);
  }
  if (child > 0)
    add();
  return 0;
}

//--- atfork.c
#include "lock.h"
// The lock is taken before the copy, so nobody else holds it.
static void prepare(void) { take(&word); }
static void after(void) { give(&word); }
static void *work(void *p) {
  add();
  return p;
}
int starts(void) {
  pthread_t t;
  pthread_atfork(prepare, after, after);
  pthread_create(&t, 0, work, 0);
  if (fork() == 0) {
    take(&word);
    count++;
    give(&word);
    _exit(0);
  }
  return pthread_join(t, 0);
}

//--- processes.c
#include "lock.h"
// Without threads, the holder is another process, which runs on.
int starts(atomic_int *shared) {
  if (fork() == 0) {
    take(shared);
    count++;
    give(shared);
    _exit(0);
  }
  return 0;
}

//--- priority.c
#include "lock.h"
static int grab(int *l) { return __sync_lock_test_and_set(l, 1) == 0; }
static void lock(int *l) {
  int polls = 0;
  struct timespec none = {0, 0};
  while (!grab(l))
    if (++polls > 32)
      nanosleep(&none, 0);
}
static void unlock(int *l) { __sync_lock_release(l); }
static int spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *plain(void *p) {
  lock(&spin);
  count++;
  unlock(&spin);
  return p;
}
static void *urgent(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: takes 'spin' in a thread of real-time priority: it polls for ever on the CPU that the holder waits for; use a mutex with PTHREAD_PRIO_INHERIT
  lock(&spin);
  count++;
  unlock(&spin);
  return p;
}
static void *raised(void *p) {
  // CHECK: :[[@LINE+1]]:3: warning: takes 'spin' in a thread of real-time priority
  lock(&spin);
  count++;
  unlock(&spin);
  return p;
}
static void tick(void) {
  // CHECK: :[[@LINE+1]]:3: warning: takes 'spin' in a thread of real-time priority
  lock(&spin);
  count++;
  unlock(&spin);
}
static void *raises_itself(void *p) {
  struct sched_param param = {.sched_priority = 2};
  pthread_setschedparam(pthread_self(), SCHED_RR, &param);
  tick();
  return p;
}
// Not reported: a mutex, and a policy that is none of those.
static void *blocks(void *p) {
  struct sched_param param = {.sched_priority = 2};
  sched_setscheduler(0, SCHED_FIFO, &param);
  pthread_mutex_lock(&mutex);
  count++;
  pthread_mutex_unlock(&mutex);
  return p;
}
static void *batch(void *p) {
  struct sched_param param = {0};
  sched_setscheduler(0, SCHED_BATCH, &param);
  lock(&spin);
  count++;
  unlock(&spin);
  return p;
}
void starts(pthread_t *t) {
  struct sched_param param = {.sched_priority = 1};
  pthread_t other;
  pthread_attr_t attr, normal;
  pthread_attr_init(&attr);
  pthread_attr_init(&normal);
  pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
  pthread_create(&t[0], &attr, urgent, 0);
  pthread_create(&t[1], &normal, plain, 0);
  pthread_create(&t[2], 0, raises_itself, 0);
  pthread_create(&t[3], 0, blocks, 0);
  pthread_create(&t[4], 0, batch, 0);
  pthread_create(&other, 0, raised, 0);
  pthread_setschedparam(other, SCHED_FIFO, &param);
}
