// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock of FlexGuard's repository (--src DIR), chosen by -DUSE_NAME_LOCKS, behind three functions.
// -DTSC_KHZ has the frequency of the time stamp counter.

#include "interpose.h"

// In the place of the functions that the locks' preloaded library looks up.
#define REAL_ONE(name, result, ...) result (*REAL(name))(__VA_ARGS__) = name;
REAL_ONE(pthread_mutex_init, int, pthread_mutex_t *, const pthread_mutexattr_t *)
REAL_ONE(pthread_mutex_destroy, int, pthread_mutex_t *)
REAL_ONE(pthread_mutex_lock, int, pthread_mutex_t *)
REAL_ONE(pthread_mutex_timedlock, int, pthread_mutex_t *, const struct timespec *)
REAL_ONE(pthread_mutex_trylock, int, pthread_mutex_t *)
REAL_ONE(pthread_mutex_unlock, int, pthread_mutex_t *)
REAL_ONE(pthread_cond_init, int, pthread_cond_t *, const pthread_condattr_t *)
REAL_ONE(pthread_cond_destroy, int, pthread_cond_t *)
REAL_ONE(pthread_cond_timedwait, int, pthread_cond_t *, pthread_mutex_t *, const struct timespec *)
REAL_ONE(pthread_cond_wait, int, pthread_cond_t *, pthread_mutex_t *)
REAL_ONE(pthread_cond_signal, int, pthread_cond_t *)
REAL_ONE(pthread_cond_broadcast, int, pthread_cond_t *)

// MCS-TP asks bpftrace for the frequency, by this name in place of popen's.
FILE *drop_in_popen(const char *command, const char *mode) {
  static char text[32];
  (void)command;
  (void)mode;
  int size = snprintf(text, sizeof text, "%d\n", TSC_KHZ);
  return fmemopen(text, (size_t)size, "r");
}

void *drop_in_new(void) {
  libslock_t *lock = aligned_alloc(CACHE_LINE_SIZE, (sizeof *lock + CACHE_LINE_SIZE - 1) / CACHE_LINE_SIZE * CACHE_LINE_SIZE);
  if (!lock || libslock_init(lock))
    abort();
  return lock;
}

void drop_in_lock(void *lock) { libslock_lock(lock); }
void drop_in_unlock(void *lock) { libslock_unlock(lock); }
