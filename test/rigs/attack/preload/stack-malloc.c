// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads with PTHREAD_STACK_MIN allocate, format and free.

#include "attack.h"
#include <limits.h>
static void *w(void *x) {
  (void)x;
  char *p = malloc(3000);
  snprintf(p, 3000, "%d", 7);
  char *q = realloc(p, 200000);
  free(q);
  void *z = calloc(3, 2 << 20);
  free(z);
  return 0;
}
int main(void) {
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN);
  pthread_t t;
  for (int i = 0; i < 50; i++) {
    if (pthread_create(&t, &a, w, 0)) {
      puts("create");
      return 1;
    }
    pthread_join(t, 0);
  }
  puts("ok");
}
