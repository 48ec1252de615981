// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library of the process that calls libc's own functions, whatever is preloaded, wakes a
// thread that waits in the functions of libvfpthread: each primitive, with a library opened by
// RTLD_DEEPBIND or in a namespace of its own, before the wait or during it, and with functions
// asked for by libc's handle, as ctypes does. A lost wake-up shows as a run that does not end.
//
// REQUIRES: preload
// RUN: rm -rf %t.d && mkdir -p %t.d/inner
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include -DLIBRARY -fPIC -shared %s -o %t.d/library.so -pthread
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %vf_preload %t %t.d/library.so deepbind before 20
// RUN: %vf_preload %t %t.d/library.so deepbind during 1
// RUN: %vf_preload %t %t.d/library.so namespace before 20
// RUN: %vf_preload %t %t.d/library.so namespace during 1
// RUN: %vf_preload %t %t.d/library.so handle before 20
// RUN: %t %t.d/library.so deepbind before 20
//
// Only a second view makes the library step aside: waits are its own beside one that calls the
// replacements, and where dlsym has given those away.
// RUN: env VF_STATS=1 %vf_preload %t %t.d/library.so local before 20 2>&1 | FileCheck --check-prefix=OWN %s
// RUN: env VF_STATS=1 %vf_preload %t %t.d/library.so handle before 20 2>&1 | FileCheck --check-prefix=OWN %s
// RUN: env VF_STATS=1 %vf_preload %t %t.d/library.so deepbind before 20 2>&1 | FileCheck --check-prefix=LIBC %s
// OWN: "cond_sleeps": {{[1-9]}}
// LIBC: "cond_sleeps": 0
//
// libc sees who calls dlopen and dlsym: RUNPATH and RTLD_NEXT are the caller's.
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -DINNER -fPIC -shared %s -o %t.d/inner/libinner.so
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -DCALLER -fPIC -shared %s -o %t.d/libcaller.so -Wl,-rpath,'$ORIGIN/inner'
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -DCALLS %s -o %t.calls -Wl,-rpath,%t.d -L%t.d -Wl,--no-as-needed -lcaller -L%t.d/inner -linner -Wl,-rpath,%t.d/inner
// RUN: %vf_preload %t.calls
// RUN: %t.calls

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#if defined INNER
int next_one(void) { return 2; }
int inner(void) { return 7; }

#elif defined CALLER
int next_one(void) { return 1; }
int call(void) {
  void *inner = dlopen("libinner.so", RTLD_NOW);
  int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "next_one");
  return !inner || !dlsym(inner, "inner") ? -1 : next ? next() : -2;
}

#elif defined CALLS
int next_one(void);
int inner(void);
int call(void);
int main(void) { return next_one() == 1 && inner() == 7 && call() == 2 ? 0 : 1; }

#else

enum kind { SIGNAL, BROADCAST, C11, C11_ALL, MUTEX, READ, WRITE, SEM, BARRIER, SPIN, KINDS };
struct objects {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  mtx_t mtx;
  cnd_t cnd;
  pthread_rwlock_t rwlock;
  sem_t sem;
  pthread_barrier_t barrier;
  pthread_spinlock_t spin;
  int ready;
};

#ifdef LIBRARY
void take(struct objects *o, enum kind kind) {
  if (kind == MUTEX)
    pthread_mutex_lock(&o->mutex);
  else if (kind == READ)
    pthread_rwlock_wrlock(&o->rwlock);
  else if (kind == WRITE)
    pthread_rwlock_rdlock(&o->rwlock);
  else if (kind == SPIN)
    pthread_spin_lock(&o->spin);
}

void wake(struct objects *o, enum kind kind) {
  switch (kind) {
  case SIGNAL:
  case BROADCAST:
    pthread_mutex_lock(&o->mutex);
    o->ready = 1;
    if (kind == SIGNAL)
      pthread_cond_signal(&o->cond);
    else
      pthread_cond_broadcast(&o->cond);
    pthread_mutex_unlock(&o->mutex);
    break;
  case C11:
  case C11_ALL:
    mtx_lock(&o->mtx);
    o->ready = 1;
    if (kind == C11)
      cnd_signal(&o->cnd);
    else
      cnd_broadcast(&o->cnd);
    mtx_unlock(&o->mtx);
    break;
  case MUTEX:
    pthread_mutex_unlock(&o->mutex);
    break;
  case READ:
  case WRITE:
    pthread_rwlock_unlock(&o->rwlock);
    break;
  case SEM:
    sem_post(&o->sem);
    break;
  case BARRIER:
    pthread_barrier_wait(&o->barrier);
    break;
  default:
    pthread_spin_unlock(&o->spin);
  }
}

#else
#include "check.h"
#include <unistd.h>

static struct objects o;
static const char *how;
static const char *library;
static void (*take)(struct objects *, enum kind), (*wake)(struct objects *, enum kind);

static void *symbol(void *module, const char *name) {
  void *found = dlsym(module, name);
  CHECK(found);
  return found;
}

/* What ctypes' CDLL("libc.so.6") calls. */
static void wake_by_handle(struct objects *unused, enum kind kind) {
  static const char *const names[] = {"pthread_cond_signal", "pthread_cond_broadcast", "cnd_signal", "cnd_broadcast"};
  void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  CHECK(libc);
  (void)unused;
  bool c11 = kind >= C11;
  c11 ? mtx_lock(&o.mtx) : pthread_mutex_lock(&o.mutex);
  o.ready = 1;
  ((int (*)(void *))symbol(libc, names[kind]))(c11 ? (void *)&o.cnd : (void *)&o.cond);
  c11 ? mtx_unlock(&o.mtx) : pthread_mutex_unlock(&o.mutex);
  dlclose(libc);
}

static void open_library(void) {
  if (take)
    return;
  int mode = RTLD_NOW | (strcmp(how, "deepbind") == 0 ? RTLD_DEEPBIND : RTLD_LOCAL);
  void *module = strcmp(how, "namespace") == 0 ? dlmopen(LM_ID_NEWLM, library, RTLD_NOW) : dlopen(library, mode);
  CHECK(module);
  take = (void (*)(struct objects *, enum kind))symbol(module, "take");
  wake = (void (*)(struct objects *, enum kind))symbol(module, "wake");
  if (strcmp(how, "handle") == 0)
    wake = wake_by_handle;
}

static void *waiter(void *arg) {
  enum kind kind = *(enum kind *)arg;
  switch (kind) {
  case SIGNAL:
  case BROADCAST:
    pthread_mutex_lock(&o.mutex);
    while (!o.ready)
      pthread_cond_wait(&o.cond, &o.mutex);
    pthread_mutex_unlock(&o.mutex);
    break;
  case C11:
  case C11_ALL:
    mtx_lock(&o.mtx);
    while (!o.ready)
      cnd_wait(&o.cnd, &o.mtx);
    mtx_unlock(&o.mtx);
    break;
  case MUTEX:
    pthread_mutex_lock(&o.mutex);
    pthread_mutex_unlock(&o.mutex);
    break;
  case READ:
    pthread_rwlock_rdlock(&o.rwlock);
    pthread_rwlock_unlock(&o.rwlock);
    break;
  case WRITE:
    pthread_rwlock_wrlock(&o.rwlock);
    pthread_rwlock_unlock(&o.rwlock);
    break;
  case SEM:
    sem_wait(&o.sem);
    break;
  case BARRIER:
    pthread_barrier_wait(&o.barrier);
    break;
  default:
    pthread_spin_lock(&o.spin);
    pthread_spin_unlock(&o.spin);
  }
  return NULL;
}

static void round_of(enum kind kind, int ms) {
  pthread_t thread;
  o.ready = 0;
  if (take)
    take(&o, kind);
  CHECK(pthread_create(&thread, NULL, waiter, &kind) == 0);
  sleep_ms(ms);
  open_library();
  wake(&o, kind);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  CHECK(argc == 5);
  library = argv[1], how = argv[2];
  bool during = strcmp(argv[3], "during") == 0, handle = strcmp(how, "handle") == 0;
  CHECK(pthread_barrier_init(&o.barrier, NULL, 2) == 0);
  CHECK(pthread_rwlock_init(&o.rwlock, NULL) == 0 && sem_init(&o.sem, 0, 0) == 0);
  CHECK(pthread_mutex_init(&o.mutex, NULL) == 0 && pthread_cond_init(&o.cond, NULL) == 0);
  CHECK(mtx_init(&o.mtx, mtx_plain) == thrd_success && cnd_init(&o.cnd) == thrd_success);
  CHECK(pthread_spin_init(&o.spin, PTHREAD_PROCESS_PRIVATE) == 0);
  if (!during)
    open_library();
  /* Whether the waiter spins or sleeps when it is woken differs from round to round. */
  for (int i = 0; i != atoi(argv[4]); ++i)
    for (enum kind kind = 0; kind != (handle ? MUTEX : KINDS); ++kind) {
      if (during && kind >= MUTEX && kind != SEM && kind != BARRIER)
        continue;
      round_of(kind, during ? 20 : i % 4);
    }
}
#endif
#endif
