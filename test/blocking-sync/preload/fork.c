// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork while others wait for locks that its thread holds: the child has the locks, as
// held and with the marks of sleepers and spinners, but not those threads. It must
// unlock, lock and wait with threads of its own; under its own thread id, whichever way
// it was forked. The parent's waiters must not notice. (Waits that went to libc count in
// the child, too, which then cannot destroy the condition: so all are the library's.)
//
// REQUIRES: preload, native
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t

#define _GNU_SOURCE
#include "forked.h"
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t m, checked, again;
static pthread_cond_t c;
static pthread_spinlock_t s;
static int turns;
static bool go;

static void make(pthread_mutex_t *mutex, int type) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  pthread_mutex_init(mutex, &attr);
}

static void *take_turn(void *arg) {
  (void)arg;
  CHECK(pthread_mutex_lock(&m) == 0);
  ++turns;
  CHECK(pthread_mutex_unlock(&m) == 0);
  CHECK(pthread_mutex_lock(&again) == 0 && pthread_mutex_lock(&again) == 0);
  CHECK(pthread_mutex_unlock(&again) == 0);
  CHECK(pthread_mutex_unlock(&again) == 0);
  CHECK(pthread_mutex_lock(&checked) == 0);
  CHECK(pthread_mutex_unlock(&checked) == 0);
  pthread_spin_lock(&s);
  pthread_spin_unlock(&s);
  return NULL;
}

static void *wait_for_go(void *arg) {
  (void)arg;
  pthread_mutex_lock(&m);
  while (!go)
    pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  return NULL;
}

static void let_go(void) {
  pthread_mutex_lock(&m);
  go = true;
  pthread_mutex_unlock(&m);
  pthread_cond_broadcast(&c);
}

/* As libc has it, an owner is a thread: what the parent locked with a check of
 * the owner is not the child's to unlock. */
static void live_on(void) {
  pthread_t ids[WAITERS];
  CHECK(pthread_mutex_unlock(&checked) == EPERM);
  CHECK(pthread_mutex_unlock(&again) == EPERM);
  make(&checked, PTHREAD_MUTEX_ERRORCHECK);
  make(&again, PTHREAD_MUTEX_RECURSIVE);
  CHECK(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&again) == 0);
  CHECK(checked.__data.__owner == gettid() && again.__data.__owner == gettid());
  CHECK(pthread_mutex_lock(&checked) == EDEADLK);
  turns = 0;
  start(ids, take_turn);
  sleep_ms(2); /* Until they sleep. */
  CHECK(pthread_mutex_unlock(&m) == 0);
  CHECK(pthread_mutex_unlock(&checked) == 0);
  CHECK(pthread_mutex_unlock(&again) == 0);
  pthread_spin_unlock(&s);
  join(ids);
  CHECK(turns == WAITERS);
  /* Who waits in the parent is not there, to be woken or to be counted. */
  CHECK(pthread_cond_signal(&c) == 0);
  pthread_t more[WAITERS];
  start(more, wait_for_go);
  sleep_ms(1);
  let_go();
  join(more);
  CHECK(pthread_cond_destroy(&c) == 0);
}

/* In whatever phase the waiters are by then: just come, spinning, asleep. */
static void fork_after(int delay_us, pid_t (*how)(void)) {
  pthread_t ids[WAITERS], more[WAITERS];
  make(&m, PTHREAD_MUTEX_NORMAL);
  make(&checked, PTHREAD_MUTEX_ERRORCHECK);
  make(&again, PTHREAD_MUTEX_RECURSIVE);
  pthread_cond_init(&c, NULL);
  pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE);
  go = false;
  turns = 0;
  start(more, wait_for_go);
  sleep_ms(1);
  CHECK(pthread_mutex_lock(&m) == 0 && pthread_mutex_lock(&checked) == 0);
  CHECK(pthread_mutex_lock(&again) == 0 && pthread_spin_lock(&s) == 0);
  start(ids, take_turn);
  pass_us(delay_us);
  pid_t child = how();
  if (child == 0) {
    alarm(20);
    live_on();
    _exit(0);
  }
  CHECK(pthread_mutex_unlock(&m) == 0 && pthread_mutex_unlock(&checked) == 0);
  CHECK(pthread_mutex_unlock(&again) == 0 && pthread_spin_unlock(&s) == 0);
  join(ids);
  let_go();
  join(more);
  check_child(child);
  CHECK(turns == WAITERS);
}

/* Runs no handlers. glibc's own locks are unusable in the child of a process
 * with threads only by luck, so only what is ours: those who wait in the parent,
 * some woken by now, are not there. */
static void fork_without_handlers(void) {
  pthread_t ids[WAITERS];
  struct timespec past = {1, 0};
  make(&m, PTHREAD_MUTEX_NORMAL);
  pthread_cond_init(&c, NULL);
  go = false;
  start(ids, wait_for_go);
  sleep_ms(1);
  pid_t child = _Fork();
  if (child == 0) {
    pthread_mutex_lock(&m);
    int result = pthread_cond_timedwait(&c, &m, &past);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < WAITERS; ++i)
      pthread_cond_signal(&c);
    pthread_cond_broadcast(&c);
    _exit(result == ETIMEDOUT ? 0 : 1);
  }
  check_child(child);
  let_go();
  join(ids);
}

int main(void) {
  alarm(60);
  for (int delay_us = 0; delay_us < 200; delay_us += 5)
    fork_after(delay_us, fork);
  fork_after(2000, fork);
  for (int i = 0; i < 20; ++i)
    fork_without_handlers();
  make(&checked, PTHREAD_MUTEX_ERRORCHECK);
  CHECK(pthread_mutex_lock(&checked) == 0);
  pid_t child = _Fork();
  if (child == 0) {
    int result = pthread_mutex_unlock(&checked);
    make(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_lock(&checked);
    _exit(result == EPERM && checked.__data.__owner == gettid() ? 0 : 1);
  }
  CHECK(pthread_mutex_unlock(&checked) == 0);
  check_child(child);
  return 0;
}
