// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linked library locks at a fork what threads hold while they allocate.
// LIBRARY: linked

#include "attack.h"
extern pthread_mutex_t lib_lock;
static volatile int stop;
static void *w(void *x) {
  (void)x;
  unsigned r = 1;
  while (!stop) {
    pthread_mutex_lock(&lib_lock);
    for (int i = 0; i < 20; i++) {
      r = r * 1103515245 + 12345;
      void *p = malloc(100000 + (r >> 8) % 300000);
      free(p);
    }
    pthread_mutex_unlock(&lib_lock);
  }
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++)
    pthread_create(t + i, 0, w, 0);
  for (int i = 0; i < 300; i++) {
    pid_t c = fork();
    if (!c) {
      free(malloc(200000));
      _exit(0);
    }
    int s;
    waitpid(c, &s, 0);
    if (s) {
      puts("child");
      return 1;
    }
  }
  stop = 1;
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  puts("ok");
}
