// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coroutines on stacks of the heap, each used by two threads in turn.

#include "attack.h"
#include <semaphore.h>
#include <ucontext.h>

enum { COROUTINES = 4, SWITCHES = 100, STACK = 65536 };
static ucontext_t callers[COROUTINES], coroutines[COROUTINES];
static int sums[COROUTINES];
static sem_t turns[2];

static void body(int i) {
  for (int k = 0; k < SWITCHES; k++) {
    char *block = malloc(100 + k);
    *block = 1;
    pthread_mutex_lock(&beside_lock);
    sums[i] += *block;
    pthread_mutex_unlock(&beside_lock);
    swapcontext(&coroutines[i], &callers[i]);
    free(block);
  }
}

static void *run(void *number) {
  long self = (long)number;
  for (int k = 0; k <= SWITCHES; k++) {
    sem_wait(&turns[self]);
    if (k % 2 == self)
      for (int i = 0; i < COROUTINES; i++)
        swapcontext(&callers[i], &coroutines[i]);
    sem_post(&turns[!self]);
  }
  return NULL;
}

int main(void) {
  pthread_t other;
  char *stacks[COROUTINES];
  begin_beside(2);
  for (int i = 0; i < COROUTINES; i++) {
    getcontext(&coroutines[i]);
    coroutines[i].uc_stack.ss_sp = stacks[i] = malloc(STACK);
    coroutines[i].uc_stack.ss_size = STACK;
    coroutines[i].uc_link = &callers[i];
    makecontext(&coroutines[i], (void (*)(void))body, 1, i);
  }
  sem_init(&turns[0], 0, 1);
  sem_init(&turns[1], 0, 0);
  pthread_create(&other, NULL, run, (void *)1);
  run((void *)0);
  pthread_join(other, NULL);
  end_beside();
  for (int i = 0; i < COROUTINES; i++) {
    printf("%d\n", sums[i]);
    free(stacks[i]);
  }
}
