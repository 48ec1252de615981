// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Address space of 64 MB and 20 files: allocate until there is none, free, allocate again, create threads.

#include "attack.h"
#include <sys/resource.h>
static void *w(void *x) {
  (void)x;
  void *p = malloc(100000);
  if (p)
    memset(p, 1, 100000);
  free(p);
  return p ? (void *)1 : 0;
}
int main(void) {
  struct rlimit n = {20, 20};
  setrlimit(RLIMIT_NOFILE, &n);
  struct rlimit r = {64 << 20, 64 << 20};
  setrlimit(RLIMIT_AS, &r);
  static void *p[4000];
  int k = 0;
  while (k < 4000 && (p[k] = malloc(100000)))
    memset(p[k++], 2, 100000);
  int first = k;
  while (k)
    free(p[--k]);
  while (k < 4000 && (p[k] = malloc(100000)))
    k++;
  int second = k;
  while (k)
    free(p[--k]);
  pthread_t t;
  pthread_attr_t a;
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 1 << 20);
  int th = 0;
  for (int i = 0; i < 5; i++) {
    if (!pthread_create(&t, &a, w, 0)) {
      void *v;
      pthread_join(t, &v);
      th += v != 0;
    }
  }
  void *big = malloc(40 << 20);
  printf("%s %s %d %s\n", first > 350 ? "much" : "LITTLE",
         second >= first * 9 / 10 ? "again" : "LESS", th,
         big ? "big" : "NOBIG");
  fprintf(stderr, "%d %d\n", first, second);
}
