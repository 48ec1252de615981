// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read-write locks, semaphores and barriers under libvfpthread, used at random by more
// threads than CPUs: each kind, tried, timed and untimed; cancelled and interrupted; and
// barriers where they count anew and where they are destroyed at once. A lost wake-up
// shows as a run that does not end.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %vf_preload %t rwlock-readers 8 3000
// RUN: %vf_preload %t rwlock-writers 8 3000
// RUN: %vf_preload %t rwlock-writers-only 8 3000
// RUN: %vf_preload %t rwlock-readers 2 30000
// RUN: %vf_preload %t sem 8 3000
// RUN: %vf_preload %t sem 2 30000
// RUN: %vf_preload %t sem-cancel 4 300
// RUN: %vf_preload %t ping-pong 2 20000
// RUN: %vf_preload %t processes 4 500
// RUN: %vf_preload %t barrier 8 3000
// RUN: %vf_preload %t barrier 2 30000
// RUN: %vf_preload %t barrier-anew 3 300
// RUN: %vf_preload %t barrier-destroy 3 1000
// RUN: %vf_preload %t barrier-crowd 8 5000
// RUN: env VF_SPIN_BUDGET_NS=0 %vf_preload %t barrier 8 1000
// RUN: env VF_SPIN_BUDGET_NS=0 %vf_preload %t barrier-anew 3 300
// RUN: env VF_SPIN_BUDGET_NS=1000000 %vf_preload %t rwlock-readers 8 1000
// The spins and sleeps are ours, but for what processes share. An emulator is too slow for
// a wait to spin:
// RUN: %if native %{ env VF_STATS=1 %vf_preload %t rwlock-readers 8 1000 2>&1 | FileCheck --check-prefix=RWLOCK %s %}
// RUN: %if native %{ env VF_STATS=1 %vf_preload %t sem 8 1000 2>&1 | FileCheck --check-prefix=SEM %s %}
// RUN: env VF_STATS=1 %vf_preload %t barrier 8 1000 2>&1 | FileCheck --check-prefix=BARRIER %s
// RWLOCK: "rwlock_spins": {{[1-9]}}
// SEM: "sem_spins": {{[1-9]}}
// BARRIER: "barrier_waits": {{[1-9]}}

#define _GNU_SOURCE
#include "arrivals.h"
#include "processes.h"
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/*===- rwlock -----------------------------------------------------------------===*/

static pthread_rwlock_t rwlock;
static long first_half, second_half;

static int lock_somehow(struct worker *w, bool writes) {
  clockid_t clock = draw(w, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  struct timespec at = in_us(clock, draw(w, 200));
  int result;
  switch (draw(w, 5)) {
  case 0:
    result = writes ? pthread_rwlock_trywrlock(&rwlock)
                    : pthread_rwlock_tryrdlock(&rwlock);
    CHECK(result == 0 || result == EBUSY);
    return result;
  case 1:
    result = writes ? pthread_rwlock_clockwrlock(&rwlock, clock, &at)
                    : pthread_rwlock_clockrdlock(&rwlock, clock, &at);
    CHECK(result == 0 || result == ETIMEDOUT);
    return result;
  case 2:
    at = in_us(CLOCK_REALTIME, draw(w, 200));
    result = writes ? pthread_rwlock_timedwrlock(&rwlock, &at)
                    : pthread_rwlock_timedrdlock(&rwlock, &at);
    CHECK(result == 0 || result == ETIMEDOUT);
    return result;
  default:
    result = writes ? pthread_rwlock_wrlock(&rwlock)
                    : pthread_rwlock_rdlock(&rwlock);
    CHECK(result == 0);
    return result;
  }
}

static void *use_rwlock(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    bool writes = draw(w, 4) == 0;
    errno = 77;
    if (lock_somehow(w, writes) != 0)
      continue;
    ++i;
    CHECK(errno == 77 && first_half == second_half);
    if (writes)
      ++first_half;
    hold(w);
    if (writes)
      ++second_half;
    CHECK(first_half == second_half);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
  }
  return NULL;
}

static void use_rwlocks(int kind, int threads, long rounds) {
  pthread_rwlockattr_t attr;
  CHECK(pthread_rwlockattr_init(&attr) == 0);
  CHECK(pthread_rwlockattr_setkind_np(&attr, kind) == 0);
  CHECK(pthread_rwlock_init(&rwlock, &attr) == 0);
  run(use_rwlock, threads, rounds);
  CHECK(rwlock.__data.__readers < 8 && rwlock.__data.__writers == 0);
  CHECK(pthread_rwlock_destroy(&rwlock) == 0);
}

/*===- sem --------------------------------------------------------------------===*/

#define PERMITS 3
static sem_t permits;
static long holders;

static int wait_somehow(struct worker *w) {
  clockid_t clock = draw(w, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  struct timespec at = in_us(clock, draw(w, 200));
  switch (draw(w, 5)) {
  case 0:
    return sem_trywait(&permits);
  case 1:
    return sem_clockwait(&permits, clock, &at);
  case 2:
    at = in_us(CLOCK_REALTIME, draw(w, 200));
    return sem_timedwait(&permits, &at);
  default:
    return sem_wait(&permits);
  }
}

static void *use_sem(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    if (wait_somehow(w) != 0) {
      CHECK(errno == EAGAIN || errno == ETIMEDOUT);
      continue;
    }
    ++i;
    CHECK(__atomic_add_fetch(&holders, 1, __ATOMIC_RELAXED) <= PERMITS);
    hold(w);
    __atomic_fetch_sub(&holders, 1, __ATOMIC_RELAXED);
    CHECK(sem_post(&permits) == 0);
  }
  return NULL;
}

static void use_sems(int threads, long rounds) {
  int value;
  CHECK(sem_init(&permits, 0, PERMITS) == 0);
  run(use_sem, threads, rounds);
  CHECK(sem_getvalue(&permits, &value) == 0 && value == PERMITS);
  CHECK(sem_destroy(&permits) == 0);
}

/* Takes until it is cancelled; what it took is counted. */
static long taken, posted;

static void *take_for_ever(void *arg) {
  (void)arg;
  for (;;) {
    while (sem_wait(&permits) != 0)
      CHECK(errno == EINTR);
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void post(int number) {
  (void)number;
  __atomic_fetch_add(&posted, 1, __ATOMIC_RELAXED);
  CHECK(sem_post(&permits) == 0);
}

/* Posts by thread and by signal handler; each is either taken or left. */
static void cancel_takers(int threads, long rounds) {
  struct worker w = {0, threads, rounds, 9};
  struct sigaction action = {.sa_handler = post};
  pthread_t ids[MAX_THREADS];
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (long i = 0; i < rounds; ++i) {
    int posts = (int)draw(&w, 20), value;
    taken = posted = 0;
    CHECK(sem_init(&permits, 0, 0) == 0);
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_create(&ids[t], NULL, take_for_ever, NULL) == 0);
    for (int n = 0; n < posts; ++n) {
      work(draw(&w, 1000));
      if (draw(&w, 4) == 0)
        CHECK(pthread_kill(ids[draw(&w, threads)], SIGUSR1) == 0);
      else
        post(0);
    }
    usleep(draw(&w, 100));
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_cancel(ids[t]) == 0);
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_join(ids[t], NULL) == 0);
    CHECK(sem_getvalue(&permits, &value) == 0);
    CHECK(taken + value == posted);
    /* Nobody is left noted as waiting. */
    CHECK(*((uint32_t *)&permits + 1) == 0);
    CHECK(sem_destroy(&permits) == 0);
  }
}

static sem_t sides[2];

static void *play(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds; ++i) {
    CHECK(sem_wait(&sides[w->number]) == 0);
    CHECK(sem_post(&sides[!w->number]) == 0);
  }
  return NULL;
}

static struct {
  sem_t one;
  long sum;
} *shared;

static void add_up(struct worker *w) {
  for (long n = 0; n < w->rounds; ++n) {
    CHECK(sem_wait(&shared->one) == 0);
    long sum = shared->sum;
    hold(w);
    shared->sum = sum + 1;
    CHECK(sem_post(&shared->one) == 0);
  }
}

static void share_sem(int processes, long rounds) {
  shared = share(sizeof *shared);
  CHECK(sem_init(&shared->one, 1, 1) == 0);
  run_processes(add_up, processes, rounds);
  CHECK(shared->sum == processes * rounds);
}

/*===- barrier ----------------------------------------------------------------===*/

struct words {
  uint32_t in, round, count, shared, out;
};

static pthread_barrier_t *barrier;

static int await_all(void) { return pthread_barrier_wait(barrier); }

static void *use_barrier(void *arg) {
  arrive_in_rounds(arg, await_all, PTHREAD_BARRIER_SERIAL_THREAD);
  return NULL;
}

static void use_barriers(int threads, long rounds) {
  static pthread_barrier_t object;
  barrier = &object;
  CHECK(pthread_barrier_init(barrier, NULL, (unsigned)threads) == 0);
  run(use_barrier, threads, rounds);
  CHECK(last_ones == rounds);
  CHECK(pthread_barrier_destroy(barrier) == 0);
}

/* A few rounds before it counts anew. */
static void use_barriers_anew(int threads, long rounds) {
  static pthread_barrier_t object;
  struct words *words = (struct words *)&object;
  uint32_t n = (uint32_t)threads, limit = UINT_MAX / 2 - UINT_MAX / 2 % n;
  barrier = &object;
  for (long i = 0; i < rounds; ++i) {
    CHECK(pthread_barrier_init(barrier, NULL, n) == 0);
    words->in = words->round = words->out = limit - n * (uint32_t)(i % 7 + 1);
    nobody_arrived();
    run(use_barrier, threads, 5);
    CHECK(last_ones == 5);
    CHECK(words->in < 20 * n && words->in == words->out);
    CHECK(pthread_barrier_destroy(barrier) == 0);
  }
}

/* Whoever is told to be last destroys it and unmaps it. */
static void *destroy_if_last(void *arg) {
  (void)arg;
  if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    CHECK(pthread_barrier_destroy(barrier) == 0);
    CHECK(munmap(barrier, (size_t)getpagesize()) == 0);
  }
  return NULL;
}

static void destroy_barriers(int threads, long rounds) {
  for (long i = 0; i < rounds; ++i) {
    barrier = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(barrier != MAP_FAILED);
    CHECK(pthread_barrier_init(barrier, NULL, (unsigned)threads) == 0);
    run(destroy_if_last, threads, 1);
  }
}

/* More threads than it is for: several rounds at once. */
static long to_come;

static void *crowd(void *arg) {
  (void)arg;
  while (__atomic_fetch_sub(&to_come, 1, __ATOMIC_RELAXED) > 0)
    if (pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
      __atomic_fetch_add(&last_ones, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void crowd_barriers(int threads, long rounds) {
  static pthread_barrier_t object;
  barrier = &object;
  CHECK(pthread_barrier_init(barrier, NULL, 2) == 0);
  to_come = 2 * rounds;
  run(crowd, threads, rounds);
  CHECK(last_ones == rounds);
  CHECK(pthread_barrier_destroy(barrier) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  const char *what = argv[1];
  int threads = atoi(argv[2]);
  long rounds = atol(argv[3]);
  CHECK(threads > 1 && threads <= MAX_THREADS);
  alarm(120); /* Some hundred times what it takes. */
  if (strcmp(what, "rwlock-readers") == 0)
    use_rwlocks(PTHREAD_RWLOCK_PREFER_READER_NP, threads, rounds);
  else if (strcmp(what, "rwlock-writers") == 0)
    use_rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NP, threads, rounds);
  else if (strcmp(what, "rwlock-writers-only") == 0)
    use_rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, threads, rounds);
  else if (strcmp(what, "sem") == 0)
    use_sems(threads, rounds);
  else if (strcmp(what, "sem-cancel") == 0)
    cancel_takers(threads, rounds);
  else if (strcmp(what, "ping-pong") == 0)
    sem_init(&sides[0], 0, 1), sem_init(&sides[1], 0, 0),
        run(play, threads, rounds);
  else if (strcmp(what, "processes") == 0)
    share_sem(threads, rounds);
  else if (strcmp(what, "barrier") == 0)
    use_barriers(threads, rounds);
  else if (strcmp(what, "barrier-anew") == 0)
    use_barriers_anew(threads, rounds);
  else if (strcmp(what, "barrier-destroy") == 0)
    destroy_barriers(threads, rounds);
  else if (strcmp(what, "barrier-crowd") == 0)
    crowd_barriers(threads, rounds);
  else
    return 2;
  return 0;
}
