// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork while others wait for locks that its thread holds: the child has the locks,
// the table of waiters and the marks in the words, but no waiters. It must unlock,
// lock and wait with threads of its own; the parent's waiters must not notice.
//
// REQUIRES: native
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#define _GNU_SOURCE
#include "forked.h"
#include "validate.h"
#include <errno.h>
#include <unistd.h>

static vf_mutex m;
static vf_cond c;
static vf_rwlock l;
static int turns;
static bool go;

static void *take_turn(void *arg) {
  (void)arg;
  vf_mutex_lock(&m);
  ++turns;
  vf_mutex_unlock(&m);
  vf_rwlock_rdlock(&l);
  vf_rwlock_unlock(&l);
  return NULL;
}

static void *wait_for_go(void *arg) {
  (void)arg;
  vf_mutex_lock(&m);
  while (!go)
    vf_cond_wait(&c, &m);
  vf_mutex_unlock(&m);
  return NULL;
}

static void let_go(void) {
  vf_mutex_lock(&m);
  go = true;
  vf_mutex_unlock(&m);
  vf_cond_broadcast(&c);
}

/* As many threads again, on the locks as they were found. */
static void live_on(void) {
  pthread_t ids[WAITERS], more[WAITERS];
  turns = 0;
  start(ids, take_turn);
  start(more, wait_for_go);
  sleep_ms(2); /* Until they sleep. */
  vf_mutex_unlock(&m);
  vf_rwlock_unlock(&l);
  join(ids);
  CHECK(turns == WAITERS);
  let_go();
  join(more);
}

/* Makes new objects, and starts threads that wait for the condition. */
static void begin_with_waiters(pthread_t *more) {
  vf_mutex_init(&m, 0); /* A mutex that has not recorded failed spins yet. */
  vf_cond_init(&c, 0);
  vf_rwlock_init(&l, 0);
  go = false;
  turns = 0;
  start(more, wait_for_go);
  sleep_ms(1);
}

/* In whatever phase the waiters are by then: just come, spinning, parked. */
static void fork_after(int delay_us) {
  pthread_t ids[WAITERS], more[WAITERS];
  begin_with_waiters(more);
  vf_mutex_lock(&m);
  vf_rwlock_wrlock(&l);
  start(ids, take_turn);
  pass_us(delay_us);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    /* A child's child is two generations away. */
    pid_t grandchild = fork();
    live_on();
    if (grandchild != 0)
      check_child(grandchild);
    _exit(0);
  }
  vf_mutex_unlock(&m);
  vf_rwlock_unlock(&l);
  join(ids);
  let_go();
  join(more);
  check_child(child);
}

/* Runs no handlers, so that the kernel must have emptied the table. The child has one
 * thread, and nobody whom its unlock or its signals could wake. */
static void fork_without_handlers(void) {
  pthread_t ids[WAITERS], more[WAITERS];
  struct timespec past = {1, 0};
  begin_with_waiters(more);
  vf_mutex_lock(&m);
  start(ids, take_turn);
  sleep_ms(2); /* Until they are parked. */
  pid_t child = _Fork();
  if (child == 0) {
    alarm(20);
    vf_mutex_unlock(&m);
    vf_mutex_lock(&m);
    CHECK(vf_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    vf_cond_signal(&c);
    vf_cond_broadcast(&c);
    CHECK(vf_mutex_clocklock(&m, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    vf_mutex_unlock(&m);
    _exit(0);
  }
  vf_mutex_unlock(&m);
  join(ids);
  let_go();
  join(more);
  CHECK(turns == WAITERS);
  check_child(child);
}

int main(void) {
  for (int i = 0; i < 20; ++i)
    fork_without_handlers();
  for (int round = 0; round < 4; ++round)
    for (int delay_us = 0; delay_us < 200; delay_us += 10)
      fork_after(delay_us);
  fork_after(2000);
  return 0;
}
