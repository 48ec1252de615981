// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop that allocates for each item, and its twin that keeps one block.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 2000 };

long churn(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) {
    char *text = malloc(LONGEST + i % 3); // HERE allocates
    if (!text)
      abort();
    memset(text, (int)i, 16);
    sum += text[i % 16];
    free(text);
  }
  return sum;
}

long keep(long n) {
  long sum = 0;
  char *text = malloc(LONGEST + 3);
  if (!text)
    abort();
  for (long i = 0; i < n; i++) {
    memset(text, (int)i, 16);
    sum += text[i % 16];
    __asm__ volatile("" : : "r"(text) : "memory");
  }
  free(text);
  return sum;
}

#ifdef MAIN
int main(void) {
  printf("%ld\n", HOW(30000000) + keep(300000000));
  return 0;
}
#endif
