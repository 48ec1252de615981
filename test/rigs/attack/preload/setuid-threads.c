// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setresuid beside running threads, which libc signals.

#include "attack.h"
static volatile int stop;
static void *w(void *x) {
  (void)x;
  while (!stop) {
    void *p[20];
    for (int i = 0; i < 20; i++) {
      p[i] = malloc(200000);
      memset(p[i], 1, 200000);
    }
    for (int i = 0; i < 20; i++)
      free(p[i]);
  }
  return (void *)(long)geteuid();
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++)
    pthread_create(t + i, 0, w, 0);
  ms(30);
  int e = setresuid(65534, 65534, 65534);
  ms(30);
  stop = 1;
  long u = 0;
  for (int i = 0; i < 3; i++) {
    void *r;
    pthread_join(t[i], &r);
    u += (long)r == 65534;
  }
  printf("%d %ld\n", e, u);
}
