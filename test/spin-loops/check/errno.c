// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that test errno after a try, and loops that take all units of a semaphore.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- 2>&1 | grep '^/' | \
// RUN:   FileCheck %s --implicit-check-not=warning:

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

void taken(sem_t *s) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'sem_trywait': the vCPU
  while (sem_trywait(s) == -1 && errno == EAGAIN)
    ;
}

int taken_with_return(sem_t *s) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'sem_trywait': the vCPU
  for (;;) {
    if (sem_trywait(s) == 0)
      return 1;
    if (errno != EAGAIN)
      return 0;
  }
}

void taken_or_interrupted(sem_t *s) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'sem_trywait' and yields
  while (sem_trywait(s) == -1)
    if (errno != EINTR)
      sched_yield();
}

// The return at case 0 is the lock taken. Boehm's collector, GC_generic_lock.
void by_cases(pthread_mutex_t *m) {
  // CHECK: :[[@LINE+1]]:3: warning: loop retries 'pthread_mutex_trylock': the vCPU
  for (;;) {
    switch (pthread_mutex_trylock(m)) {
    case 0:
      return;
    case EBUSY:
      break;
    }
  }
}

// Why not: a signal came between. Nobody is waited for.
void interrupted(sem_t *s) {
  while (sem_trywait(s) == -1 && errno == EINTR)
    ;
}

int interrupted_with_return(sem_t *s) {
  for (;;) {
    if (sem_trywait(s) == 0)
      return 1;
    if (errno != EINTR)
      return 0;
  }
}

// Why not: these end when nothing is left to take.
void drain(sem_t *s) {
  while (sem_trywait(s) == 0)
    ;
}

void drain_without_comparison(sem_t *s) {
  while (!sem_trywait(s))
    ;
}

// PostgreSQL, PGSemaphoreReset.
_Noreturn void fatal(const char *);
void drain_interrupted(sem_t *s) {
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

// Why not: the last reader has taken what it could.
void read_as_often_as_possible(pthread_rwlock_t *lock) {
  while (pthread_rwlock_tryrdlock(lock) <= 0)
    ;
}
