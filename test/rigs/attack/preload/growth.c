// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four threads hand blocks over; resident memory grows by less than 30 % in the second half.

#include "attack.h"
#include <stdatomic.h>
static long rss(void) {
  long a, b;
  FILE *f = fopen("/proc/self/statm", "r");
  if (fscanf(f, "%ld %ld", &a, &b) != 2)
    return 0;
  fclose(f);
  return b * 4;
}
#define S 4096
static _Atomic(void *) slot[S];
static _Atomic long n;
static void *w(void *x) {
  unsigned r = (unsigned)(long)x * 7919 + 1;
  for (int i = 0; i < 2500000; i++) {
    r = r * 1664525 + 1013904223;
    size_t z =
        (r >> 10) % ((r & 7) == 0 ? ((r & 0xff00) == 0 ? 300000 : 3000) : 200) +
        1;
    void *p = malloc(z);
    *(char *)p = 1;
    void *o = atomic_exchange(&slot[(r >> 5) % S], p);
    free(o);
  }
  return 0;
}
int main(void) {
  pthread_t t[4];
  long h = 0;
  for (int k = 0; k < 2; k++) {
    for (long i = 0; i < 4; i++)
      pthread_create(t + i, 0, w, (void *)(i + k * 4 + 1));
    for (int i = 0; i < 4; i++)
      pthread_join(t[i], 0);
    long now = rss();
    fprintf(stderr, "rss %ld kB\n", now);
    if (!k)
      h = now;
    else
      puts(now < h * 13 / 10 + 4000 ? "ok" : "GROWS");
  }
}
