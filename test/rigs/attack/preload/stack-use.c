// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads with PTHREAD_STACK_MIN use 9 KB of their stack.

#include "attack.h"
#include <limits.h>
static void *w(void *x) {
  volatile char b[9000];
  for (int i = 0; i < 9000; i += 64)
    b[i] = (char)i;
  return (void *)(long)(b[64] == 64 && x == 0);
}
int main(void) {
  pthread_attr_t a;
  pthread_attr_init(&a);
  printf("%d ", pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN));
  pthread_t t;
  int ok = 0;
  for (int i = 0; i < 20; i++) {
    int e = pthread_create(&t, &a, w, 0);
    if (e) {
      printf("create %s\n", strerror(e));
      return 1;
    }
    void *r;
    pthread_join(t, &r);
    ok += (long)r;
  }
  printf("%d\n", ok);
}
