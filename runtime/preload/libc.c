/*===- preload/libc.c - Checks of libc's layout ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Calls functions of libc that this library does not replace on an object of
 * each kind, and compares the fields of the object with the expected values.
 *===----------------------------------------------------------------------===*/

#include "preload/libc.h"
#include "blocking-sync/parking_table.h"
#include "common/environment.h"
#include "common/slice.h"
#include "platform/linux/privilege.h"
#include "preload/next.h"
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t vf_libc_mode;

static bool has(const pthread_mutex_t *mutex, int lock, unsigned count,
                int owner, unsigned users) {
  return mutex->__data.__lock == lock && mutex->__data.__count == count &&
         mutex->__data.__owner == owner && mutex->__data.__nusers == users;
}

#ifdef VF_LIBC_TID_OFFSET
static bool find_tid(void) { return true; }
#else
int vf_libc_tid_offset;

/* Asks for the offset what libc tells debuggers: the descriptor of the member
 * `tid` of struct pthread, whose third number is its offset there. The struct
 * begins at pthread_self(), before the thread pointer; on RISC-V 32 bytes of
 * another are between them. Threads that ask at the same time get the same
 * answer. */
static bool find_tid(void) {
  const uint32_t *tid = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
  intptr_t thread = (intptr_t)pthread_self();
  if (tid)
    __atomic_store_n(&vf_libc_tid_offset,
                     (int)(thread - (intptr_t)__builtin_thread_pointer()) +
                         (int)tid[2],
                     __ATOMIC_RELAXED);
  return tid;
}
#endif

/* Returns true if mutexes have the layout of the libc that this library knows,
 * with the thread id at vf_libc_tid_offset. */
static bool mutex_is_known(void) {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  if (!find_tid())
    return false;
  int self = vf_libc_tid();
  bool known = self > 0 && vf_libc_lock(&mutex) == 0 &&
               has(&mutex, 1, 1, self, 1) && vf_libc_trylock(&mutex) == 0 &&
               has(&mutex, 1, 2, self, 1) && vf_libc_unlock(&mutex) == 0 &&
               has(&mutex, 1, 1, self, 1) && vf_libc_unlock(&mutex) == 0;
  return known && has(&mutex, 0, 0, 0, 0);
}

static bool spin_lock_is_known(void) {
  pthread_spinlock_t lock = !VF_LIBC_SPIN_FREE;
  return pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0 &&
         lock == VF_LIBC_SPIN_FREE;
}

/* Returns true if the attributes of conditions have the known layout. The other
 * fields of a condition belong to the waiters in libc; the waiters of this
 * library are in the parking table. */
static bool cond_is_known(void) {
  pthread_cond_t cond;
  pthread_condattr_t attr;
  bool known =
      pthread_cond_init(&cond, NULL) == 0 && cond.__data.__wrefs == 0 &&
      pthread_condattr_init(&attr) == 0 &&
      pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
      pthread_cond_init(&cond, &attr) == 0 &&
      cond.__data.__wrefs == VF_LIBC_COND_MONOTONIC &&
      pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0 &&
      pthread_cond_init(&cond, &attr) == 0 &&
      cond.__data.__wrefs == (VF_LIBC_COND_MONOTONIC | VF_LIBC_COND_SHARED);
  return known && mutex_is_known() && vf_parking_prepare();
}

static bool rwlock_is_known(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  struct __pthread_rwlock_arch_t *data = &lock.__data;
  bool known =
      vf_libc_rdlock(&lock) == 0 && data->__readers == VF_LIBC_READER &&
      pthread_rwlock_tryrdlock(&lock) == 0 &&
      data->__readers == 2 * VF_LIBC_READER && data->__cur_writer == 0 &&
      pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_unlock(&lock) == 0 &&
      data->__readers == 0 && vf_libc_wrlock(&lock) == 0 &&
      data->__readers == (VF_LIBC_WRITER | VF_LIBC_WRITERS_TURN) &&
      data->__cur_writer == vf_libc_tid() && data->__flags == 0 &&
      pthread_rwlock_unlock(&lock) == 0;
  return known && data->__readers == VF_LIBC_WRITERS_TURN;
}

/* Returns true if barriers have the known layout. To test the layout, destroys
 * a barrier: libc then raises `out` to the number of departures at which the
 * counts restart. */
static bool barrier_is_known(void) {
  union {
    pthread_barrier_t object;
    struct vf_libc_barrier is;
  } barrier;
  const struct vf_libc_barrier made = {.threads = 3};
  if (pthread_barrier_init(&barrier.object, NULL, 3) != 0 ||
      memcmp(&barrier.is, &made, sizeof made) != 0)
    return false;
  barrier.is.in = barrier.is.phase = barrier.is.out = 6;
  return pthread_barrier_destroy(&barrier.object) == 0 && barrier.is.in == 6 &&
         barrier.is.out == VF_LIBC_BARRIER_LIMIT - VF_LIBC_BARRIER_LIMIT % 3;
}

static bool sem_is_known(void) {
  sem_t sem;
  return sem_init(&sem, 0, 3) == 0 && sem_trywait(&sem) == 0 &&
         *vf_libc_sem_value(&sem) == 2 && sem_post(&sem) == 0 &&
         *vf_libc_sem_value(&sem) == 3;
}

static const struct {
  uint32_t what;
  const char *name;
  bool (*is_known)(void);
} primitives[] = {{VF_MUTEXES, " mutexes", mutex_is_known},
                  {VF_SPIN_LOCKS, " spin locks", spin_lock_is_known},
                  {VF_CONDS, " conditions", cond_is_known},
                  {VF_RWLOCKS, " read-write locks", rwlock_is_known},
                  {VF_BARRIERS, " barriers", barrier_is_known},
                  {VF_SEMS, " semaphores", sem_is_known}};
#define PRIMITIVES (sizeof primitives / sizeof *primitives)

/* Returns N of glibc's version 2.N, or 0 for another. */
static int minor_version(void) {
  const char *version = gnu_get_libc_version();
  if (version[0] != '2' || version[1] != '.')
    return 0;
  int minor = 0;
  for (version += 2; *version >= '0' && *version <= '9' && minor < 1000;
       ++version)
    minor = 10 * minor + (*version - '0');
  return minor;
}

static uint32_t what_is_known(void) {
  uint32_t known = VF_DECIDED;
  int minor = minor_version();
  if (minor < VF_LIBC_FIRST || minor > VF_LIBC_LAST)
    return known;
  for (size_t i = 0; i < PRIMITIVES; ++i)
    if (primitives[i].is_known())
      known |= primitives[i].what;
  return known;
}

static void complain(uint32_t known) {
  char line[256]; /* Buffer size: the sentence takes 124 bytes, all names 65. */
  int n = snprintf(line, sizeof line,
                   "vfriendly: libvfpthread supports only glibc 2.%d to 2.%d; "
                   "this is %.20s or has other layouts; not replaced:",
                   VF_LIBC_FIRST, VF_LIBC_LAST, gnu_get_libc_version());
  for (size_t i = 0; i < PRIMITIVES; ++i)
    if (!(known & primitives[i].what))
      n +=
          snprintf(line + n, sizeof line - (size_t)n, "%s", primitives[i].name);
  n += snprintf(line + n, sizeof line - (size_t)n, "\n");
  if (write(STDERR_FILENO, line, (size_t)n) < 0)
    return; /* A failed write to stderr is ignored: there is nowhere to report
               it. */
}

uint32_t vf_libc_decide(void) {
  static uint32_t said; /* True after the line was printed. */
  int saved = errno;
  uint32_t all = VF_DECIDED, mode = what_is_known();
  for (size_t i = 0; i < PRIMITIVES; ++i)
    all |= primitives[i].what;
  /* Before libc's own constructor has run, environ is null, and the decision is
   * made as if the environment were empty. The decision may change when the
   * environment is readable. Such a change is harmless for locks, because libc
   * and this library can each unlock what the other has locked. It is not
   * harmless for conditions, because neither finds the other's waiters;
   * conditions are left to libc until then. */
  if (!environ) {
    mode &= ~VF_CONDS;
  } else {
    bool complete = mode == all;
    if (vf_env_choice("VF_PTHREAD_CROWDS", "libc", "own", false))
      mode |= VF_CROWDS;
    if (!vf_env_choice("VF_PTHREAD", "off", "on", true))
      mode = VF_DECIDED;
    else if (!complete && !vf_is_privileged() &&
             __atomic_exchange_n(&said, 1, __ATOMIC_RELAXED) == 0)
      complain(mode);
    vf_slice_prepare();
    if ((mode & VF_MUTEXES) && !vf_env_get("VF_STATS") && !vf_slice_is_there())
      mode |= VF_QUICK_MUTEXES;
    __atomic_store_n(&vf_libc_mode, mode, __ATOMIC_RELAXED);
  }
  errno = saved;
  return mode;
}

__attribute__((constructor)) static void prepare(void) { vf_is_on(VF_DECIDED); }
