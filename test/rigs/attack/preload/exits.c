// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exit beside 8 threads that allocate and lock; handlers at the exit allocate, destructors lock.

#include "attack.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *w(void *x) {
  (void)x;
  for (;;) {
    void *p = malloc(100000);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    free(p);
  }
}
static void ae(void) {
  free(malloc(1 << 20));
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
}
int main(void) {
  for (int r = 0; r < 30; r++) {
    pid_t c = fork();
    if (!c) {
      alarm(10);
      atexit(ae);
      pthread_t t;
      for (int i = 0; i < 8; i++)
        pthread_create(&t, 0, w, 0);
      usleep(3000);
      exit(5);
    }
    int s;
    waitpid(c, &s, 0);
    if (!WIFEXITED(s) || WEXITSTATUS(s) != 5) {
      printf("%x\n", s);
      return 1;
    }
  }
  puts("ok");
}
