// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1,500 detached threads that free what others have allocated.

#include "attack.h"
#include <semaphore.h>

static sem_t done;

static void *end(void *block) {
  free(block);
  sem_post(&done);
  return NULL;
}

int main(void) {
  pthread_attr_t attributes;
  sem_init(&done, 0, 0);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 1500; i++) {
    pthread_t thread;
    int error;
    while ((error = pthread_create(&thread, &attributes, end, malloc(100))) == EAGAIN)
      ms(1);
    if (error)
      printf("%d\n", error);
    for (int k = 0; i % 50 == 49 && k < 50; k++)
      sem_wait(&done);
  }
  puts("ok");
}
