// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sem_trywait until it succeeds.
//
// RUN: %spin_exec --tsan clean

#include <semaphore.h>

static int threads;
static sem_t sem;
__attribute__((constructor)) static void init(void) { sem_init(&sem, 0, 1); }
static void lock(int self) {
  (void)self;
  while (sem_trywait(&sem)) {}
}
static void unlock(int self) {
  (void)self;
  sem_post(&sem);
}

#define KIND_LOCK
#include "harness.h"
