// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A daemon closes all descriptors and opens its own with the same numbers, which nobody else uses.

#include "attack.h"
#include <fcntl.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *l(void *x) {
  (void)x;
  for (int i = 0; i < 300000; i++) {
    pthread_mutex_lock(&m);
    n++;
    pthread_mutex_unlock(&m);
    if (i % 1000 == 0)
      free(malloc(300000));
  }
  return 0;
}
int main(void) {
  for (int i = 3; i < 1024; i++)
    close(i);
  int f[400][2], k = 0;
  for (; k < 400 && pipe(f[k]) == 0; k++)
    if (write(f[k][1], "datadata", 8) != 8)
      return 1;
  pthread_t t[4];
  for (int i = 0; i < 4; i++)
    pthread_create(t + i, 0, l, 0);
  for (int i = 0; i < 4; i++)
    pthread_join(t[i], 0);
  int bad = 0;
  for (int i = 0; i < k; i++) {
    char b[16];
    fcntl(f[i][0], F_SETFL, O_NONBLOCK);
    if (read(f[i][0], b, 16) != 8)
      bad++;
  }
  printf("%d %d %ld\n", k, bad, n);
}
