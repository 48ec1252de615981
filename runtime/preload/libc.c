/*===- preload/libc.c - Whether to take over ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *===----------------------------------------------------------------------===*/

#include "preload/libc.h"
#include "common/environment.h"
#include "common/process_wide.h"
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Exported by every glibc since 2.2.5, for libraries older than 2.34. */
int own_lock(pthread_mutex_t *mutex);
int own_trylock(pthread_mutex_t *mutex);
int own_unlock(pthread_mutex_t *mutex);
__asm__(".symver own_lock, __pthread_mutex_lock@GLIBC_2.2.5\n"
        ".symver own_trylock, __pthread_mutex_trylock@GLIBC_2.2.5\n"
        ".symver own_unlock, __pthread_mutex_unlock@GLIBC_2.2.5");

int vf_libc_lock(pthread_mutex_t *mutex) { return own_lock(mutex); }

int vf_libc_trylock(pthread_mutex_t *mutex) { return own_trylock(mutex); }

int vf_libc_unlock(pthread_mutex_t *mutex) { return own_unlock(mutex); }

uint32_t vf_libc_mode;

static bool has(const pthread_mutex_t *mutex, int lock, unsigned count,
                int owner, unsigned users) {
  return mutex->__data.__lock == lock && mutex->__data.__count == count &&
         mutex->__data.__owner == owner && mutex->__data.__nusers == users;
}

/* libc locks a mutex, and we look. Also that the id it leaves there is the one
 * found at VF_LIBC_TID_OFFSET. */
static bool mutex_is_known(void) {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  int self = vf_libc_tid();
  bool known = self > 0 && vf_libc_lock(&mutex) == 0 &&
               has(&mutex, 1, 1, self, 1) && vf_libc_trylock(&mutex) == 0 &&
               has(&mutex, 1, 2, self, 1) && vf_libc_unlock(&mutex) == 0 &&
               has(&mutex, 1, 1, self, 1) && vf_libc_unlock(&mutex) == 0;
  return known && has(&mutex, 0, 0, 0, 0);
}

static bool spin_lock_is_known(void) {
  pthread_spinlock_t lock = 0;
  return pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0 && lock == 1;
}

static void complain(void) {
  char line[160]; /* The sentence takes 100. */
  int n = snprintf(line, sizeof line,
                   "vfriendly: libvfpthread knows glibc %s only, this is %.20s "
                   "or differs: locks stay as they are\n",
                   VF_LIBC_VERSION, gnu_get_libc_version());
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
    return; /* Nobody left to tell. */
}

static bool libc_is_known(void) {
  return strcmp(gnu_get_libc_version(), VF_LIBC_VERSION) == 0 &&
         mutex_is_known() && spin_lock_is_known();
}

enum vf_libc_mode vf_libc_decide(void) {
  static uint32_t said; /* So that the line is printed once. */
  int saved = errno;
  bool known = libc_is_known();
  enum vf_libc_mode mode = known ? VF_TAKEN_OVER : VF_LEFT_TO_LIBC;
  /* Before libc's own constructor there is no environment to read: for now as
   * if there were nothing in it. Changing our mind later is harmless, as what
   * either locked the other unlocks. */
  if (environ) {
    if (!vf_env_choice("VF_PTHREAD", "off", "on", true))
      mode = VF_LEFT_TO_LIBC;
    else if (!known && __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) == 0)
      complain();
    __atomic_store_n(&vf_libc_mode, mode, __ATOMIC_RELAXED);
  }
  errno = saved;
  return mode;
}

static int (*timedlock)(pthread_mutex_t *, const struct timespec *);
static int (*clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);

/* Twice at the same time writes the same twice. */
static void look_up(void) {
  int saved = errno;
  __atomic_store_n(&timedlock, dlsym(RTLD_NEXT, "pthread_mutex_timedlock"),
                   __ATOMIC_RELAXED);
  __atomic_store_n(&clocklock, dlsym(RTLD_NEXT, "pthread_mutex_clocklock"),
                   __ATOMIC_RELAXED);
  errno = saved;
}

__attribute__((constructor)) static void prepare(void) {
  look_up();
  vf_is_on();
}

int vf_libc_timedlock(pthread_mutex_t *mutex, const struct timespec *at) {
  if (!__atomic_load_n(&timedlock, __ATOMIC_RELAXED))
    look_up();
  return timedlock(mutex, at);
}

int vf_libc_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                      const struct timespec *at) {
  if (!__atomic_load_n(&clocklock, __ATOMIC_RELAXED))
    look_up();
  return clocklock(mutex, clock, at);
}
