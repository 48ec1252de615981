// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vfork and exec beside threads that allocate.

#include "attack.h"
#include <spawn.h>
extern char **environ;
static void *w(void *x) {
  for (int i = 0; i < 60; i++) {
    pid_t p;
    char *a[] = {"true", 0};
    if ((long)x & 1) {
      if (posix_spawnp(&p, "true", 0, 0, a, environ))
        return (void *)1;
    } else {
      p = vfork();
      if (!p) {
        execvp("true", a);
        _exit(9);
      }
    }
    int s;
    if (waitpid(p, &s, 0) < 0 || s)
      return (void *)2;
    free(malloc(i * 5000));
  }
  return 0;
}
int main(void) {
  pthread_t t[6];
  long bad = 0;
  for (long i = 0; i < 6; i++)
    pthread_create(t + i, 0, w, (void *)i);
  for (int i = 0; i < 6; i++) {
    void *r;
    pthread_join(t[i], &r);
    bad += (long)r;
  }
  printf("%ld\n", bad);
}
