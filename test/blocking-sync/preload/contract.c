// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kind of mutex answers with libvfpthread as it does without, in results, errno
// and what stands in the mutex; so do C11's and spin locks. The program prints what it
// sees.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %t > %t.libc
// RUN: %vf_preload %t > %t.ours
// RUN: diff %t.libc %t.ours
// RUN: env VF_PTHREAD=off %vf_preload %t > %t.off
// RUN: diff %t.libc %t.off
// RUN: FileCheck %s < %t.libc
//
// That they answer something at all, and that what is compared was ours:
// CHECK: recursive overflow: 11, errno 77
// CHECK: errorcheck lock again: 35, errno 77
// RUN: env VF_STATS=1 %vf_preload %t 2>&1 >%t.again | FileCheck --check-prefix=OURS %s
// OURS: "vfpthread": {"spins": {{[1-9]}}
//
// Turned off, libc does it all:
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 >%t.again | FileCheck --check-prefix=OFF %s
// OFF: "vfpthread": {"spins": 0, "spun": 0, "sleeps": 0, "wakes": 0
// RUN: env VF_PTHREAD=perhaps %vf_preload %t 2>&1 >%t.again | FileCheck --check-prefix=BAD %s
// BAD: VF_PTHREAD='perhaps' is not off or on
//
// Another libc is left alone, and one line says so.
// RUN: clang -shared -fPIC -DOTHER_LIBC %s -o %t-libc.so
// RUN: env VF_STATS=1 LD_PRELOAD=%t-libc.so:%vf_lib/libvfpthread.so %t 2>%t.err >%t.other
// RUN: diff %t.libc %t.other
// RUN: FileCheck --check-prefix=OTHER %s < %t.err
// OTHER: vfriendly: libvfpthread supports only glibc 2.34 to 2.41; this is 2.99
// OTHER-NOT: libvfpthread supports
// OTHER: "vfpthread": {"spins": 0, "spun": 0, "sleeps": 0, "wakes": 0

#ifdef OTHER_LIBC
const char *gnu_get_libc_version(void) { return "2.99"; }
#else
#define _GNU_SOURCE
#include "workers.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#define UNTOUCHED 77

static pthread_mutex_t mutex;
static pthread_spinlock_t spin;
static mtx_t mtx;
static const char *kind;

static void say(const char *what, int result) {
  int after = errno;
  struct __pthread_mutex_s *m = &mutex.__data;
  const char *owner = m->__owner == 0          ? "nobody"
                      : m->__owner == gettid() ? "me"
                                               : "another";
  printf("%s %s: %d, errno %d, lock %d count %u owner %s users %u kind %d\n",
         kind, what, result, after, m->__lock != 0, m->__count, owner,
         m->__nusers, m->__kind);
  errno = UNTOUCHED;
}

/* All that may be asked of a held lock without waiting for ever. */
static void try_all(const char *who) {
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), over = {-5, 0},
                  bad = {0, 1000000000}, both = {-5, -1}, low = {1, -1},
                  past = {1, 0}, later = in_us(CLOCK_MONOTONIC, 2000);
  printf("%s:\n", who);
  say("trylock", pthread_mutex_trylock(&mutex));
  say("timedlock", pthread_mutex_timedlock(&mutex, &soon));
  say("timedlock before time", pthread_mutex_timedlock(&mutex, &over));
  say("timedlock past", pthread_mutex_timedlock(&mutex, &past));
  say("timedlock bad", pthread_mutex_timedlock(&mutex, &bad));
  say("timedlock low", pthread_mutex_timedlock(&mutex, &low));
  say("timedlock both", pthread_mutex_timedlock(&mutex, &both));
  say("clocklock", pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &later));
  say("clocklock clock",
      pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &later));
  say("clocklock bad", pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &bad));
}

static void *as_another(void *arg) {
  errno = UNTOUCHED;
  try_all("another");
  if (arg) /* The kinds that look who unlocks. */
    say("unlock by another", pthread_mutex_unlock(&mutex));
  return NULL;
}

static void *hold_for_a_while(void *arg) {
  pthread_mutex_lock(&mutex);
  __atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
  usleep(3000);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void run_one(void *(*body)(void *), void *arg) {
  pthread_t id;
  pthread_create(&id, NULL, body, arg);
  pthread_join(id, NULL);
}

/* Waits that end with the lock. */
static void wait_for_another(void) {
  for (int how = 0; how < 3; ++how) {
    pthread_t id;
    int held = 0;
    pthread_create(&id, NULL, hold_for_a_while, &held);
    while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
      ;
    struct timespec real = in_us(CLOCK_REALTIME, 5000000),
                    mono = in_us(CLOCK_MONOTONIC, 5000000);
    say("wait", how == 0 ? pthread_mutex_lock(&mutex)
                : how == 1
                    ? pthread_mutex_timedlock(&mutex, &real)
                    : pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono));
    say("unlock", pthread_mutex_unlock(&mutex));
    pthread_join(id, NULL);
  }
}

static void check(void) {
  struct timespec bad = {0, -1};
  int type = mutex.__data.__kind & 3;
  int looks = type == PTHREAD_MUTEX_RECURSIVE_NP ||
              type == PTHREAD_MUTEX_ERRORCHECK_NP || mutex.__data.__kind & 0x30;
  errno = UNTOUCHED;
  say("new", 0);
  if (looks)
    say("unlock free", pthread_mutex_unlock(&mutex));
  say("lock", pthread_mutex_lock(&mutex));
  run_one(as_another, looks ? &mutex : NULL);
  if (type == PTHREAD_MUTEX_ERRORCHECK_NP || type == PTHREAD_MUTEX_RECURSIVE_NP)
    say("lock again", pthread_mutex_lock(&mutex));
  try_all("me");
  if (type == PTHREAD_MUTEX_RECURSIVE_NP) {
    struct timespec soon = in_us(CLOCK_REALTIME, 2000);
    unsigned count = mutex.__data.__count;
    mutex.__data.__count = UINT_MAX;
    say("overflow", pthread_mutex_lock(&mutex));
    say("overflow", pthread_mutex_trylock(&mutex));
    say("overflow", pthread_mutex_timedlock(&mutex, &soon));
    mutex.__data.__count = count;
    while (mutex.__data.__count > 1)
      say("unlock", pthread_mutex_unlock(&mutex));
  }
  say("destroy held", pthread_mutex_destroy(&mutex));
  say("unlock", pthread_mutex_unlock(&mutex));
  /* Looked at only by who would wait. */
  say("timedlock bad", pthread_mutex_timedlock(&mutex, &bad));
  say("unlock", pthread_mutex_unlock(&mutex));
  say("clocklock bad", pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &bad));
  say("unlock", pthread_mutex_unlock(&mutex));
  say("clocklock clock", pthread_mutex_clocklock(&mutex, 99, &bad));
  say("trylock", pthread_mutex_trylock(&mutex));
  say("unlock", pthread_mutex_unlock(&mutex));
  if (looks)
    say("unlock free", pthread_mutex_unlock(&mutex));
  wait_for_another();
  say("destroy", pthread_mutex_destroy(&mutex));
}

static void check_kind(const char *name, int type, int robust, int protocol,
                       int shared) {
  pthread_mutexattr_t attr;
  kind = name;
  pthread_mutexattr_init(&attr);
  if (type >= 0)
    pthread_mutexattr_settype(&attr, type);
  pthread_mutexattr_setrobust(&attr, robust);
  pthread_mutexattr_setprotocol(&attr, protocol);
  pthread_mutexattr_setpshared(&attr, shared);
  memset(&mutex, 0, sizeof mutex);
  int result = pthread_mutex_init(&mutex, &attr);
  printf("%s: init %d\n", name, result);
  if (result == 0)
    check();
}

static void *use_spin(void *arg) {
  (void)arg;
  printf("another's spin trylock %d\n", pthread_spin_trylock(&spin));
  return NULL;
}

static void check_spin(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  for (int round = 0; round < 2; ++round) {
    printf("spin %d lock %d", spin, pthread_spin_lock(&spin));
    printf(" now %d\n", spin);
    run_one(use_spin, NULL);
    printf("trylock %d", pthread_spin_trylock(&spin));
    printf(" now %d unlock %d", spin, pthread_spin_unlock(&spin));
    printf(" now %d errno %d\n", spin, errno);
  }
  /* As another process may leave it that counts down as libc does. */
  spin = -3;
  printf("counted down: trylock %d", pthread_spin_trylock(&spin));
  printf(" unlock %d", pthread_spin_unlock(&spin));
  printf(" now %d lock %d\n", spin, pthread_spin_lock(&spin));
}

static int use_mtx(void *arg) {
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), bad = {0, -1};
  (void)arg;
  printf("another's mtx_trylock %d", mtx_trylock(&mtx));
  printf(" timedlock %d", mtx_timedlock(&mtx, &soon));
  printf(" bad %d\n", mtx_timedlock(&mtx, &bad));
  return 0;
}

static void check_mtx(int type) {
  thrd_t id;
  printf("mtx %d init %d\n", type, mtx_init(&mtx, type));
  printf("lock %d\n", mtx_lock(&mtx));
  thrd_create(&id, use_mtx, NULL);
  thrd_join(id, NULL);
  int again = mtx_trylock(&mtx);
  printf("trylock %d\n", again);
  if (again == thrd_success)
    printf("unlock %d\n", mtx_unlock(&mtx));
  printf("unlock %d\n", mtx_unlock(&mtx));
  if (type & mtx_recursive)
    printf("unlock free %d\n", mtx_unlock(&mtx));
  mtx_destroy(&mtx);
}

int main(void) {
  static const struct {
    const char *name;
    int type;
  } types[] = {{"default", -1},
               {"normal", PTHREAD_MUTEX_NORMAL},
               {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
               {"recursive", PTHREAD_MUTEX_RECURSIVE},
               {"errorcheck", PTHREAD_MUTEX_ERRORCHECK}};
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (unsigned i = 0; i < sizeof types / sizeof *types; ++i) {
    const char *name = types[i].name;
    int type = types[i].type;
    check_kind(name, type, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
               PTHREAD_PROCESS_PRIVATE);
    check_kind(name, type, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE,
               PTHREAD_PROCESS_SHARED);
    check_kind(name, type, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE,
               PTHREAD_PROCESS_PRIVATE);
    if (type != PTHREAD_MUTEX_ADAPTIVE_NP)
      check_kind(name, type, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT,
                 PTHREAD_PROCESS_PRIVATE);
  }
  check_spin();
  check_mtx(mtx_plain);
  check_mtx(mtx_timed);
  check_mtx(mtx_timed | mtx_recursive);
  return 0;
}
#endif
