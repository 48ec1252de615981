// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions, read-write locks, semaphores and barriers answer with libvfpthread as
// they do without: in results, errno, what stands in them and in the mutex, and in who
// is cancelled where. The program prints what it sees.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %t > %t.libc
// RUN: %vf_preload %t > %t.ours
// RUN: diff %t.libc %t.ours
// RUN: env VF_SPIN_BUDGET_NS=1000000 %vf_preload %t > %t.patient
// RUN: diff %t.libc %t.patient
// RUN: env VF_PTHREAD=off %vf_preload %t > %t.off
// RUN: diff %t.libc %t.off
// RUN: FileCheck %s < %t.libc
//
// That they answer something at all, and that what is compared was ours:
// CHECK: errorcheck wait unowned: 1, errno 77
// CHECK: sem interrupted: -1, errno 4
// RUN: env VF_STATS=1 %vf_preload %t 2>&1 >%t.again | FileCheck --check-prefix=OURS %s
// OURS: "cond_spins": {{[1-9].*}} "rwlock_spins": {{[1-9].*}} "sem_spins": {{[1-9].*}} "barrier_waits": {{[1-9]}}
//
// Turned off, libc does it all:
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 >%t.again | FileCheck --check-prefix=OFF %s
// OFF: "cond_spins": 0, "cond_spun": 0, "cond_sleeps": 0, "cond_wakes": 0, "rwlock_spins": 0, "rwlock_spun": 0, "sem_spins": 0, "sem_spun": 0, "barrier_waits": 0, "barrier_sleeps": 0
//
// What differs of one primitive leaves that to libc, and one line says so:
// RUN: clang -shared -fPIC -O1 -DODD %s -o %t-odd.so
// RUN: env VF_STATS=1 LD_PRELOAD=%t-odd.so:%vf_lib/libvfpthread.so %t 2>%t.err >%t.odd
// RUN: diff %t.libc %t.odd
// RUN: FileCheck --check-prefix=ODD %s < %t.err
// ODD: or has other layouts; not replaced: conditions barriers semaphores{{$}}
// ODD-NOT: not replaced
// ODD: "cond_spins": 0, {{.*}} "rwlock_spins": {{[1-9].*}} "sem_spins": 0, {{.*}} "barrier_waits": 0,

#ifdef ODD
/* Until it was asked once: so that only the question is answered oddly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

static int asked_conds, asked_barriers, asked_sems;

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr) {
  int (*real)(pthread_cond_t *, const pthread_condattr_t *) =
      dlsym(RTLD_NEXT, "pthread_cond_init");
  int result = real(cond, attr);
  if (asked_conds++ == 0)
    cond->__data.__wrefs ^= 4;
  return result;
}

int pthread_barrier_init(pthread_barrier_t *barrier,
                         const pthread_barrierattr_t *attr, unsigned count) {
  int (*real)(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned) =
      dlsym(RTLD_NEXT, "pthread_barrier_init");
  int result = real(barrier, attr, count);
  if (asked_barriers++ == 0)
    ((unsigned *)barrier)[1] = 1;
  return result;
}

int sem_init(sem_t *sem, int shared, unsigned value) {
  int (*real)(sem_t *, int, unsigned) = dlsym(RTLD_NEXT, "sem_init");
  return real(sem, shared, value + (asked_sems++ == 0));
}
#else
#define _GNU_SOURCE
#include "workers.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#define UNTOUCHED 77

static const char *kind = "";
static pthread_mutex_t mutex;
static pthread_cond_t cond;

static void say(const char *what, int result) {
  printf("%s %s: %d, errno %d\n", kind, what, result, errno);
  errno = UNTOUCHED;
}

static void *join(pthread_t id) {
  void *result;
  CHECK(pthread_join(id, &result) == 0);
  return result;
}

static void run_one(void *(*body)(void *), void *arg) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, body, arg) == 0);
  join(id);
}

/*===- conditions -------------------------------------------------------------===*/

static void say_mutex(const char *what) {
  struct __pthread_mutex_s *m = &mutex.__data;
  printf("%s %s: lock %d count %u owner %s users %u\n", kind, what,
         m->__lock != 0, m->__count,
         m->__owner == 0          ? "nobody"
         : m->__owner == gettid() ? "me"
                                  : "another",
         m->__nusers);
}

static void time_out(void) {
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), over = {-5, 0},
                  bad = {0, 1000000000}, both = {-5, -1}, low = {1, -1},
                  past = {1, 0}, later = in_us(CLOCK_MONOTONIC, 2000);
  say("timedwait", pthread_cond_timedwait(&cond, &mutex, &soon));
  say_mutex("after it");
  say("timedwait before time", pthread_cond_timedwait(&cond, &mutex, &over));
  say("timedwait past", pthread_cond_timedwait(&cond, &mutex, &past));
  say("timedwait bad", pthread_cond_timedwait(&cond, &mutex, &bad));
  say("timedwait low", pthread_cond_timedwait(&cond, &mutex, &low));
  say("timedwait both", pthread_cond_timedwait(&cond, &mutex, &both));
  say("clockwait",
      pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &later));
  say("clockwait clock", pthread_cond_clockwait(
                             &cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &later));
  say("clockwait bad",
      pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &bad));
  say_mutex("after all");
}

static bool ready, go;

static void *wait_for_go(void *arg) {
  (void)arg;
  errno = UNTOUCHED;
  pthread_mutex_lock(&mutex);
  ready = true;
  while (!go)
    say("wait", pthread_cond_wait(&cond, &mutex));
  say_mutex("woken");
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* Asleep: longer than any spin here. */
static void until_set(const bool *what) {
  for (bool is = false; !is; usleep(3000)) {
    pthread_mutex_lock(&mutex);
    is = *what;
    pthread_mutex_unlock(&mutex);
  }
}

static void wake(bool all) {
  pthread_t id;
  ready = go = false;
  CHECK(pthread_create(&id, NULL, wait_for_go, NULL) == 0);
  until_set(&ready);
  say_mutex("while one waits");
  say("destroy its mutex", pthread_mutex_destroy(&mutex));
  pthread_mutex_lock(&mutex);
  go = true;
  pthread_mutex_unlock(&mutex);
  int result = all ? pthread_cond_broadcast(&cond) : pthread_cond_signal(&cond);
  int after = errno;
  join(id);
  errno = after;
  say("signal", result);
}

static void *wait_unowned(void *arg) {
  struct timespec past = {1, 0};
  (void)arg;
  errno = UNTOUCHED;
  say("wait unowned", pthread_cond_wait(&cond, &mutex));
  say("timedwait unowned", pthread_cond_timedwait(&cond, &mutex, &past));
  say_mutex("after that");
  return NULL;
}

static void check_cond(const char *name, int type) {
  pthread_mutexattr_t attr;
  kind = name;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type);
  CHECK(pthread_mutex_init(&mutex, &attr) == 0);
  CHECK(pthread_cond_init(&cond, NULL) == 0);
  errno = UNTOUCHED;
  say("signal nobody", pthread_cond_signal(&cond));
  say("broadcast to nobody", pthread_cond_broadcast(&cond));
  if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE) {
    run_one(wait_unowned, NULL);
    pthread_mutex_lock(&mutex);
    run_one(wait_unowned, NULL);
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_lock(&mutex);
  time_out();
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    pthread_mutex_lock(&mutex);
    time_out(); /* It keeps the mutex while it waits. */
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
  wake(false);
  wake(true);
  say_mutex("at the end");
  say("destroy", pthread_cond_destroy(&cond));
  say("destroy mutex", pthread_mutex_destroy(&mutex));
}

/* Which clock a timed wait looks at. */
static void check_clock(clockid_t clock) {
  pthread_condattr_t attr;
  kind = clock == CLOCK_MONOTONIC ? "monotonic" : "realtime";
  pthread_condattr_init(&attr);
  CHECK(pthread_condattr_setclock(&attr, clock) == 0);
  CHECK(pthread_cond_init(&cond, &attr) == 0);
  pthread_mutex_init(&mutex, NULL);
  pthread_mutex_lock(&mutex);
  struct timespec soon = in_us(clock, 20000);
  say("timedwait", pthread_cond_timedwait(&cond, &mutex, &soon));
  struct timespec now = in_us(clock, 0);
  printf("not early: %d\n",
         now.tv_sec > soon.tv_sec ||
             (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
  pthread_mutex_unlock(&mutex);
}

/* Whether it acts, and that the mutex is held then. */
static void at_cancel(void *arg) {
  (void)arg;
  say_mutex("at cancel");
  pthread_mutex_unlock(&mutex);
}

static void *be_cancelled(void *arg) {
  int how = (int)(long)arg;
  struct timespec soon = in_us(CLOCK_REALTIME, 20000);
  errno = UNTOUCHED;
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(at_cancel, NULL);
  ready = true;
  if (how == 1)
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  if (how == 2)
    pthread_cancel(pthread_self());
  if (how == 3)
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  say("wait", pthread_cond_timedwait(&cond, &mutex, &soon));
  go = true;
  int type;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  say("type", type);
  pthread_setcanceltype(type, NULL);
  if (how == 1 || how == 2)
    say("again", pthread_cond_timedwait(&cond, &mutex, &soon));
  else
    say("for ever", pthread_cond_wait(&cond, &mutex));
  pthread_cleanup_pop(1);
  return "finished";
}

static void check_cancel(void) {
  kind = "cancel";
  pthread_mutex_init(&mutex, NULL);
  pthread_cond_init(&cond, NULL);
  for (long how = 0; how < 4; ++how) {
    pthread_t id;
    ready = go = false;
    CHECK(pthread_create(&id, NULL, be_cancelled, (void *)how) == 0);
    until_set(how == 0 || how == 3 ? &go : &ready);
    if (how != 2)
      CHECK(pthread_cancel(id) == 0);
    char *result = join(id);
    printf("%ld: %s\n", how, result == PTHREAD_CANCELED ? "cancelled" : result);
    say_mutex("afterwards");
  }
}

static void check_cnd(void) {
  mtx_t m;
  cnd_t c;
  struct timespec past = {1, 0}, bad = {0, -1};
  kind = "cnd";
  mtx_init(&m, mtx_plain);
  cnd_init(&c);
  mtx_lock(&m);
  errno = UNTOUCHED;
  say("timedwait past", cnd_timedwait(&c, &m, &past));
  say("timedwait bad", cnd_timedwait(&c, &m, &bad));
  say("signal", cnd_signal(&c));
  say("broadcast", cnd_broadcast(&c));
  mtx_unlock(&m);
  cnd_destroy(&c);
}

/*===- read-write locks -------------------------------------------------------===*/

static pthread_rwlock_t rwlock;

static void say_rwlock(const char *what, int result) {
  struct __pthread_rwlock_arch_t *l = &rwlock.__data;
  printf("%s %s: %d, errno %d, readers %x writers %x, writer %d\n", kind, what,
         result, errno, l->__readers, l->__writers, l->__cur_writer != 0);
  errno = UNTOUCHED;
}

static void *try_rwlock(void *arg) {
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), over = {-5, 0},
                  bad = {0, 1000000000}, past = {1, 0},
                  later = in_us(CLOCK_MONOTONIC, 2000);
  bool reads = arg;
  errno = UNTOUCHED;
#define TRY(name, ...)                                                         \
  do {                                                                         \
    int result = reads ? pthread_rwlock_##name##rdlock(&rwlock, ##__VA_ARGS__) \
                       : pthread_rwlock_##name##wrlock(&rwlock, ##__VA_ARGS__);\
    say_rwlock(#name, result);                                                 \
    if (result == 0)                                                           \
      pthread_rwlock_unlock(&rwlock);                                          \
  } while (0)
  TRY(try);
  TRY(timed, &soon);
  TRY(timed, &over);
  TRY(timed, &past);
  TRY(timed, &bad);
  TRY(clock, CLOCK_MONOTONIC, &later);
  TRY(clock, CLOCK_REALTIME, &past);
  TRY(clock, CLOCK_REALTIME, &bad);
  TRY(clock, CLOCK_PROCESS_CPUTIME_ID, &later);
  return NULL;
}

static void check_rwlock(const char *name, int preference, int shared) {
  pthread_rwlockattr_t attr;
  struct timespec past = {1, 0};
  kind = name;
  pthread_rwlockattr_init(&attr);
  CHECK(pthread_rwlockattr_setkind_np(&attr, preference) == 0);
  CHECK(pthread_rwlockattr_setpshared(&attr, shared) == 0);
  CHECK(pthread_rwlock_init(&rwlock, &attr) == 0);
  errno = UNTOUCHED;
  say_rwlock("rdlock", pthread_rwlock_rdlock(&rwlock));
  run_one(try_rwlock, NULL);
  run_one(try_rwlock, &rwlock);
  say_rwlock("unlock", pthread_rwlock_unlock(&rwlock));
  say_rwlock("wrlock", pthread_rwlock_wrlock(&rwlock));
  say_rwlock("wrlock again", pthread_rwlock_wrlock(&rwlock));
  say_rwlock("rdlock again", pthread_rwlock_rdlock(&rwlock));
  say_rwlock("timed again", pthread_rwlock_timedrdlock(&rwlock, &past));
  say_rwlock("timed again", pthread_rwlock_timedwrlock(&rwlock, &past));
  run_one(try_rwlock, NULL);
  run_one(try_rwlock, &rwlock);
  say_rwlock("unlock", pthread_rwlock_unlock(&rwlock));
  run_one(try_rwlock, NULL);
  run_one(try_rwlock, &rwlock);
  say_rwlock("destroy", pthread_rwlock_destroy(&rwlock));
}

/*===- semaphores -------------------------------------------------------------===*/

static sem_t sem;

static void say_sem(const char *what, int result) {
  int saved = errno, value;
  CHECK(sem_getvalue(&sem, &value) == 0);
  errno = saved;
  printf("%d waiters, value %d, ", ((int *)&sem)[1], value);
  say(what, result);
}

static void on_alarm(int number) { (void)number; }

static void *wait_cancelled(void *arg) {
  if (arg) /* Acts although there is one to take. */
    pthread_cancel(pthread_self());
  sem_wait(&sem);
  return "finished";
}

static void check_sem(int shared) {
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), over = {-5, 0},
                  bad = {0, 1000000000}, past = {1, 0},
                  later = in_us(CLOCK_MONOTONIC, 2000);
  struct sigaction action = {.sa_handler = on_alarm};
  kind = "sem";
  CHECK(sem_init(&sem, shared, 1) == 0);
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  errno = UNTOUCHED;
  say_sem("timedwait bad, free", sem_timedwait(&sem, &bad));
  say_sem("clockwait clock, free", sem_clockwait(&sem, 99, &later));
  say_sem("wait", sem_wait(&sem));
  say_sem("trywait", sem_trywait(&sem));
  say_sem("timedwait", sem_timedwait(&sem, &soon));
  say_sem("timedwait before time", sem_timedwait(&sem, &over));
  say_sem("timedwait past", sem_timedwait(&sem, &past));
  say_sem("timedwait bad", sem_timedwait(&sem, &bad));
  say_sem("clockwait", sem_clockwait(&sem, CLOCK_MONOTONIC, &later));
  say_sem("clockwait clock", sem_clockwait(&sem, 99, &later));
  say_sem("clockwait bad", sem_clockwait(&sem, CLOCK_REALTIME, &bad));
  ualarm(20000, 20000); /* Again and again: the first may come too early. */
  int result = sem_wait(&sem), after = errno;
  ualarm(0, 0);
  errno = after;
  say_sem("interrupted", result);
  say_sem("post", sem_post(&sem));
  for (long pending = 0; pending < 2; ++pending) {
    pthread_t id;
    if (!pending)
      CHECK(sem_wait(&sem) == 0);
    CHECK(pthread_create(&id, NULL, wait_cancelled, (void *)pending) == 0);
    usleep(20000);
    if (!pending)
      CHECK(pthread_cancel(id) == 0);
    char *end = join(id);
    say_sem(end == PTHREAD_CANCELED ? "cancelled" : end, 0);
    if (!pending)
      CHECK(sem_post(&sem) == 0);
  }
  CHECK(sem_destroy(&sem) == 0);
}

/*===- barriers ---------------------------------------------------------------===*/

static pthread_barrier_t barrier;

static void *arrive(void *arg) {
  errno = UNTOUCHED;
  int result = pthread_barrier_wait(&barrier);
  CHECK(errno == UNTOUCHED);
  if (result == PTHREAD_BARRIER_SERIAL_THREAD)
    __atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void check_barrier(const char *name, int shared, unsigned before) {
  enum { THREADS = 3 };
  pthread_barrierattr_t attr;
  unsigned *words = (unsigned *)&barrier;
  kind = name;
  pthread_barrierattr_init(&attr);
  CHECK(pthread_barrierattr_setpshared(&attr, shared) == 0);
  CHECK(pthread_barrier_init(&barrier, &attr, THREADS) == 0);
  unsigned limit = 0x7fffffffu - 0x7fffffffu % THREADS;
  if (before)
    words[0] = words[1] = words[4] = limit - before * THREADS;
  for (int round = 0; round < 4; ++round) {
    pthread_t ids[THREADS];
    int last = 0;
    for (int t = 0; t < THREADS; ++t)
      CHECK(pthread_create(&ids[t], NULL, arrive, &last) == 0);
    for (int t = 0; t < THREADS; ++t)
      join(ids[t]);
    printf("%s: last %d, in %u round %u of %u shared %u out %u\n", kind, last,
           words[0], words[1], words[2], words[3], words[4]);
  }
  say("destroy", pthread_barrier_destroy(&barrier));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  check_cond("normal", PTHREAD_MUTEX_NORMAL);
  check_cond("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP);
  check_cond("recursive", PTHREAD_MUTEX_RECURSIVE);
  check_cond("errorcheck", PTHREAD_MUTEX_ERRORCHECK);
  check_clock(CLOCK_MONOTONIC);
  check_clock(CLOCK_REALTIME);
  check_cancel();
  check_cnd();
  check_rwlock("readers", PTHREAD_RWLOCK_PREFER_READER_NP, 0);
  check_rwlock("writers", PTHREAD_RWLOCK_PREFER_WRITER_NP, 0);
  check_rwlock("only", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, 0);
  check_rwlock("shared", PTHREAD_RWLOCK_PREFER_READER_NP, 1);
  check_sem(0);
  check_sem(1);
  check_barrier("barrier", 0, 0);
  check_barrier("barrier anew", 0, 2);
  check_barrier("shared barrier", 1, 2);
  return 0;
}
#endif
