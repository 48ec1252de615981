// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Once a lock is free, or a semaphore given, its memory is the next one's: nothing
// of it may be touched any more. Here it is unmapped by whoever got it.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"
#include <sys/mman.h>

#define ROUNDS 3000

union object {
  vf_mutex mutex;
  vf_rwlock rwlock;
  vf_sem sem;
  vf_event event;
};

static union object *mapped[ROUNDS];
static vf_sem ready = VF_SEM_INIT(0);
static const char *what;

static void *take_and_unmap(void *arg) {
  (void)arg;
  for (int i = 0; i < ROUNDS; ++i) {
    vf_sem_wait(&ready);
    union object *o = mapped[i];
    if (*what == 'm')
      vf_mutex_lock(&o->mutex), vf_mutex_unlock(&o->mutex);
    else if (*what == 'r')
      vf_rwlock_rdlock(&o->rwlock), vf_rwlock_unlock(&o->rwlock);
    else if (*what == 's')
      vf_sem_wait(&o->sem);
    else
      vf_event_wait(&o->event);
    CHECK(munmap(o, 4096) == 0);
  }
  return NULL;
}

int main(void) {
  static const char *const all[] = {"mutex", "rwlock", "sem", "event"};
  for (int k = 0; k < 4; ++k) {
    what = all[k];
    pthread_t id;
    struct worker w = {.random = 1};
    CHECK(pthread_create(&id, NULL, take_and_unmap, NULL) == 0);
    for (int i = 0; i < ROUNDS; ++i) {
      union object *o = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      CHECK(o != MAP_FAILED);
      mapped[i] = o;
      if (*what == 'm')
        vf_mutex_lock(&o->mutex);
      if (*what == 'r')
        vf_rwlock_wrlock(&o->rwlock);
      vf_sem_post(&ready);
      work(draw(&w, 3000));
      /* Long enough for the other to sleep, sometimes. */
      if (i % 64 == 0)
        sleep_ms(2);
      if (*what == 'm')
        vf_mutex_unlock(&o->mutex);
      else if (*what == 'r')
        vf_rwlock_unlock(&o->rwlock);
      else if (*what == 's')
        vf_sem_post(&o->sem);
      else
        vf_event_set(&o->event);
    }
    pthread_join(id, NULL);
  }
  return 0;
}
