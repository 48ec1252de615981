// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork beside the first large allocations of threads.

#include "attack.h"
static pthread_barrier_t b;
static void *w(void *x) {
  (void)x;
  pthread_barrier_wait(&b);
  void *p = malloc(50000);
  *(volatile char *)p = 1;
  return 0;
}
static int one(int d) {
  pthread_t t[2];
  pthread_barrier_init(&b, 0, 3);
  for (int i = 0; i < 2; i++)
    pthread_create(t + i, 0, w, 0);
  pthread_barrier_wait(&b);
  for (volatile int i = 0; i < d; i++)
    ;
  pid_t c = fork();
  if (!c) {
    alarm(5);
    void *p = malloc(60000);
    *(volatile char *)p = 2;
    _exit(0);
  }
  int s;
  waitpid(c, &s, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], 0);
  return WIFSIGNALED(s);
}
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 100;
  if (c > 2)
    return one(atoi(v[2]));
  int h = 0;
  for (int i = 0; i < n && h < 4; i++) {
    pid_t p = fork();
    if (!p) {
      char d[20];
      sprintf(d, "%d", i % 40 * 700);
      execl(v[0], v[0], "1", d, (char *)0);
      _exit(9);
    }
    int s;
    waitpid(p, &s, 0);
    h += WEXITSTATUS(s) == 1;
    if (h >= 4)
      n = i + 1;
  }
  printf("%d hangs of %d\n", h, n);
}
