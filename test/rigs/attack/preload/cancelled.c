// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that are cancelled: waiters for a condition, and one that may be at any instruction.

#include "attack.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void unlock(void *unused) {
  (void)unused;
  pthread_mutex_unlock(&lock);
  free(malloc(10));
}

static void *wait_for_ever(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_cleanup_push(unlock, NULL);
  for (;;)
    pthread_cond_wait(&never, &lock);
  pthread_cleanup_pop(1);
  return unused;
}

static void *compute(void *unused) {
  int old;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  for (volatile unsigned i = 0;; i++)
    ;
  return unused;
}

int main(void) {
  int cancelled = 0;
  for (int round = 0; round < 30; round++) {
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
      pthread_create(&threads[i], NULL, i < 4 ? wait_for_ever : compute, NULL);
    ms(1);
    for (int i = 0; i < 6; i++)
      pthread_cancel(threads[i]);
    for (int i = 0; i < 6; i++) {
      void *result;
      pthread_join(threads[i], &result);
      cancelled += result == PTHREAD_CANCELED;
    }
    if (pthread_mutex_trylock(&lock) != 0)
      puts("still locked");
    pthread_mutex_unlock(&lock);
  }
  printf("%d\n", cancelled);
}
