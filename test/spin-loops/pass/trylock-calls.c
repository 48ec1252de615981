// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library's trylock is called until it takes the lock: the lock is not ours
// to look into, and turning it into lock() would change what a program means
// that does something else on the way.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>

// CHECK-LABEL: @mutex(
// CHECK: @vf_spin_wait_or_fallback(ptr null, i64 0, i64 %{{.*}}, i32 1024)
// CHECK: call {{(signext )?}}i32 @pthread_mutex_trylock(
void mutex(pthread_mutex_t *m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (pthread_mutex_trylock(m) != 0) {}
}

void mutex_busy(pthread_mutex_t *m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (pthread_mutex_trylock(m) == EBUSY)
    sched_yield();
}

void spin(pthread_spinlock_t *l) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (pthread_spin_trylock(l)) {}
}

void semaphore(sem_t *s) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (sem_trywait(s) != 0) {}
}

void semaphore_errno(sem_t *s) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (sem_trywait(s) == -1 && errno == EAGAIN) {}
}

void c11(mtx_t *m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (mtx_trylock(m) != thrd_success) {}
}

void reader(pthread_rwlock_t *l) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (pthread_rwlock_tryrdlock(l)) {}
}

// Why not: it takes each of many locks, one an iteration.
void not_array(pthread_mutex_t *m, int n) {
  for (int i = 0; i < n; ++i)
    pthread_mutex_trylock(&m[i]);
}

// Why not: between the tries it does something else, which may be work.
void other_work(void);
void not_with_work(pthread_mutex_t *m) {
  while (pthread_mutex_trylock(m))
    other_work();
}

// Why not: pthread_mutex_lock blocks by itself.
void not_lock(pthread_mutex_t *m, int n) {
  while (n--) {
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}

// A signal came between: nobody is waited for.
int not_interrupted(sem_t *s) {
  int result;
  while ((result = sem_trywait(s)) == -1 && errno == EINTR) {}
  return result;
}

// As PostgreSQL asks: a switch over errno, of whose cases only EINTR goes on.
_Noreturn void fatal(const char *);
int not_interrupted_by_cases(sem_t *s) {
  int result;
  do {
    result = sem_trywait(s);
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    if (errno == EAGAIN || errno == EDEADLK)
      return 0;
    fatal("sem_trywait");
  }
  return 1;
}

// Why not: it goes on as long as it gets units, and ends when there are none. PostgreSQL, PGSemaphoreReset.
void not_draining(sem_t *s) {
  for (;;) {
    if (sem_trywait(s) < 0) {
      if (errno == EAGAIN || errno == EDEADLK)
        break;
      if (errno == EINTR)
        continue;
      fatal("sem_trywait");
    }
  }
}

// But this goes on while the semaphore is taken, too.
void taken_or_interrupted(sem_t *s) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (sem_trywait(s) == -1) {
    if (errno != EINTR)
      sched_yield();
  }
}
