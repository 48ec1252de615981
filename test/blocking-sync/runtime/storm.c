// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything at once, at random: threads on a mutex, a condition, a
// reader-writer lock and a semaphore, with and without deadlines; threads
// cancelled and started anew; signals that post; forks whose children go on
// with the locks they hold. Ends after so many seconds, or earlier with what
// was broken; a lost wake-up shows as no progress for 20 seconds. The long form
// is `storm 600`.
//
// TIMED: each thread moves within 20 s
// REQUIRES: native
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t 4

#include "validate.h"
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 8

static vf_mutex m = VF_MUTEX_INIT, inner = VF_MUTEX_INIT;
static vf_cond c = VF_COND_INIT;
static vf_rwlock l = VF_RWLOCK_INIT;
static vf_sem s = VF_SEM_INIT(2);
static long under_m[2], under_inner[2], under_l[2];
static long tokens, progress[WORKERS + 1]; /* The last is main's. */
static bool stop;

static void enter(long *counters) {
  CHECK(counters[0] == counters[1]);
  ++counters[0];
}

static void leave(long *counters) {
  ++counters[1];
  CHECK(counters[0] == counters[1]);
}

static void use_mutexes(struct worker *w) {
  struct timespec at = in_us(CLOCK_MONOTONIC, draw(w, 300));
  if (draw(w, 3) == 0) {
    if (vf_mutex_clocklock(&m, CLOCK_MONOTONIC, &at) != 0)
      return;
  } else {
    vf_mutex_lock(&m);
  }
  enter(under_m);
  if (draw(w, 3) == 0 && vf_mutex_trylock(&inner) == 0) {
    enter(under_inner);
    hold(w);
    leave(under_inner);
    vf_mutex_unlock(&inner);
  }
  hold(w);
  leave(under_m);
  vf_mutex_unlock(&m);
}

/* Tokens come and go; who waits for one gives up after a while. */
static void use_condition(struct worker *w) {
  vf_mutex_lock(&m);
  if (draw(w, 2)) {
    ++tokens;
    draw(w, 4) ? vf_cond_signal(&c) : vf_cond_broadcast(&c);
  } else {
    struct timespec at = in_us(CLOCK_REALTIME, draw(w, 2000));
    int result = 0;
    while (tokens == 0 && result != ETIMEDOUT)
      result = vf_cond_clockwait(&c, &m, CLOCK_REALTIME, &at);
    if (tokens > 0)
      --tokens;
  }
  enter(under_m);
  leave(under_m);
  vf_mutex_unlock(&m);
}

static void use_rwlock_once(struct worker *w) {
  if (draw(w, 4) == 0) {
    struct timespec at = in_us(CLOCK_MONOTONIC, draw(w, 300));
    if (vf_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &at) != 0)
      return;
    enter(under_l);
    hold(w);
    leave(under_l);
  } else {
    vf_rwlock_rdlock(&l);
    CHECK(under_l[0] == under_l[1]);
    hold(w);
  }
  vf_rwlock_unlock(&l);
}

static void use_semaphore(struct worker *w) {
  struct timespec at = in_us(CLOCK_MONOTONIC, draw(w, 300));
  if (vf_sem_clockwait(&s, CLOCK_MONOTONIC, &at) == 0) {
    work(draw(w, 300));
    vf_sem_post(&s);
  }
}

/* Cancelled between two turns only: to sleep in hold() is a cancellation point.
 */
static void let_cancel(void) {
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  pthread_testcancel();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void *toil(void *arg) {
  struct worker *w = arg;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    switch (draw(w, 4)) {
    case 0:
      use_mutexes(w);
      break;
    case 1:
      use_condition(w);
      break;
    case 2:
      use_rwlock_once(w);
      break;
    default:
      use_semaphore(w);
    }
    __atomic_fetch_add(&progress[w->number], 1, __ATOMIC_RELAXED);
    let_cancel();
  }
  return NULL;
}

/* Takes one away first, so that the number stays what it is. */
static void on_signal(int number) {
  (void)number;
  if (vf_sem_trywait(&s) == 0)
    vf_sem_post(&s);
}

/* The child has two locks and all that was said of waiters in them. */
static void fork_once(void) {
  vf_mutex_lock(&m);
  vf_rwlock_wrlock(&l);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    struct worker w = {.random = (uint64_t)getpid(), .number = 0};
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    pthread_t id;
    CHECK(pthread_create(&id, NULL, toil, &w) == 0);
    vf_rwlock_unlock(&l);
    vf_mutex_unlock(&m);
    struct worker mine = {.random = 5};
    for (int i = 0; i < 20; ++i) {
      use_mutexes(&mine);
      use_condition(&mine);
      use_rwlock_once(&mine);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(id, NULL);
    _exit(0);
  }
  vf_rwlock_unlock(&l);
  vf_mutex_unlock(&m);
  int status;
  pid_t seen;
  while ((seen = waitpid(child, &status, 0)) < 0 && errno == EINTR)
    ;
  CHECK(seen == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *watch(void *arg) {
  (void)arg;
  long seen[WORKERS + 1] = {0};
  double moved[WORKERS + 1];
  for (int i = 0; i <= WORKERS; ++i)
    moved[i] = seconds();
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    sleep_ms(50);
    for (int i = 0; i <= WORKERS; ++i) {
      long now = __atomic_load_n(&progress[i], __ATOMIC_RELAXED);
      if (now != seen[i])
        moved[i] = seconds();
      seen[i] = now;
      CHECK(seconds() - moved[i] < 20);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 2 && atof(argv[1]) > 0);
  double until = seconds() + atof(argv[1]);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval every = {{0, 700}, {0, 700}};
  CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);

  static struct worker workers[WORKERS];
  pthread_t ids[WORKERS];
  for (int i = 0; i < WORKERS; ++i) {
    workers[i] = (struct worker){.number = i, .random = (uint64_t)i + 1};
    CHECK(pthread_create(&ids[i], NULL, toil, &workers[i]) == 0);
  }
  pthread_t watcher;
  CHECK(pthread_create(&watcher, NULL, watch, NULL) == 0);
  struct worker self = {.random = 99};
  while (seconds() < until) {
    usleep(draw(&self, 5000));
    fork_once();
    int i = (int)draw(&self, WORKERS);
    CHECK(pthread_cancel(ids[i]) == 0);
    CHECK(pthread_join(ids[i], NULL) == 0);
    CHECK(pthread_create(&ids[i], NULL, toil, &workers[i]) == 0);
    __atomic_fetch_add(&progress[WORKERS], 1, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < WORKERS; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
  pthread_join(watcher, NULL);
  CHECK(vf_sem_value(&s) == 2);
  CHECK(vf_mutex_destroy(&m) == 0 && vf_rwlock_destroy(&l) == 0);
  return 0;
}
