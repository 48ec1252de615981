// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// locks: two threads that wait for one lock at a known line.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void take(void) {
  pthread_mutex_lock(&lock); // HERE lock
  usleep(200);
  pthread_mutex_unlock(&lock);
}

static void *other(void *unused) {
  for (int i = 0; i < 500; i++)
    take();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  other(NULL);
  pthread_join(thread, NULL);
  printf("{}\n");
  return 0;
}
