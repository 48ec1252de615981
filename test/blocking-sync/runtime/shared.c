// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With VF_SHARED the primitives work between processes that map one page at
// different addresses.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#define _GNU_SOURCE /* memfd_create */
#include "validate.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
  vf_mutex mutex;
  vf_cond cond;
  vf_rwlock rwlock;
  vf_sem sem;
  vf_barrier barrier;
  vf_event event;
  long count, turn;
};

#define ROUNDS 2000

static void play(struct page *p, long me) {
  vf_event_wait(&p->event);
  for (long i = 0; i < ROUNDS; ++i) {
    vf_barrier_wait(&p->barrier);
    vf_mutex_lock(&p->mutex);
    while (p->turn != me)
      vf_cond_wait(&p->cond, &p->mutex);
    p->turn = !me;
    vf_mutex_unlock(&p->mutex);
    vf_cond_signal(&p->cond);
    vf_rwlock_rdlock(&p->rwlock);
    long seen = p->count;
    vf_rwlock_unlock(&p->rwlock);
    vf_rwlock_wrlock(&p->rwlock);
    CHECK(p->count >= seen);
    ++p->count;
    vf_rwlock_unlock(&p->rwlock);
    if (me)
      vf_sem_wait(&p->sem);
    else
      vf_sem_post(&p->sem);
  }
}

int main(void) {
  int file = memfd_create("page", 0);
  CHECK(file >= 0 && ftruncate(file, 4096) == 0);
  struct page *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(p != MAP_FAILED);
  CHECK(vf_mutex_init(&p->mutex, VF_SHARED) == 0);
  CHECK(vf_cond_init(&p->cond, VF_SHARED) == 0);
  CHECK(vf_rwlock_init(&p->rwlock, VF_SHARED) == 0);
  CHECK(vf_sem_init(&p->sem, VF_SHARED, 0) == 0);
  CHECK(vf_barrier_init(&p->barrier, VF_SHARED, 2) == 0);
  CHECK(vf_event_init(&p->event, VF_SHARED) == 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    struct page *again =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(again != MAP_FAILED && again != p);
    play(again, 1);
    _exit(0);
  }
  vf_event_set(&p->event);
  play(p, 0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
        WEXITSTATUS(status) == 0);
  CHECK(p->count == 2 * ROUNDS && vf_barrier_destroy(&p->barrier) == 0);
  return 0;
}
