// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread with the smallest stack is the first to allocate much.

#include "attack.h"
static void *w(void *x) {
  (void)x;
  void *p = malloc(40000);
  free(p);
  return 0;
}
int main(int c, char **v) {
  pthread_attr_t a;
  pthread_attr_init(&a);
  int e = pthread_attr_setstacksize(&a, c > 1 ? atoi(v[1]) : 16384);
  if (e)
    return 9;
  pthread_t t;
  if (pthread_create(&t, &a, w, 0)) {
    puts("create");
    return 1;
  }
  pthread_join(t, 0);
  puts("ok");
}
