// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After all threads were joined, unshare(CLONE_NEWUSER) works.

#include "attack.h"
static void *w(void *x) {
  (void)x;
  for (int k = 0; k < 30; k++) {
    void *p[40];
    for (int i = 0; i < 40; i++) {
      p[i] = malloc(200000);
      memset(p[i], 1, 200000);
    }
    for (int i = 0; i < 40; i++)
      free(p[i]);
  }
  return 0;
}
int main(void) {
  int bad = 0;
  for (int r = 0; r < 5; r++) {
    pid_t c = fork();
    if (!c) {
      pthread_t t[3];
      for (int i = 0; i < 3; i++)
        pthread_create(t + i, 0, w, 0);
      for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
      // pthread_join returns before the kernel has let a thread go: without a library 24 of 300 were refused at once.
      for (int n = 0; n < 1000 && unshare(CLONE_NEWUSER) != 0; n++) {
        if (n == 999)
          _exit(errno);
        usleep(1000);
      }
      _exit(0);
    }
    int s;
    waitpid(c, &s, 0);
    if (s)
      bad = s >> 8;
  }
  printf("%s\n", bad == 0 ? "ok" : strerror(bad));
}
