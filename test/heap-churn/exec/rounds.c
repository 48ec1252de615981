// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same results with fewer allocations, and as many frees as allocations.
//
// RUN: clang -O2 -c %S/Inputs/counted.c -o %t.o
// RUN: clang -O2 %s %t.o -o %t.before -DVF_BEFORE
// RUN: %vf_clang -O2 -g %s %t.o -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of Inputs/counted.c. */
extern long allocations, frees, fails_from;

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%d: not so: %s\n", __LINE__, #x), abort()))

__attribute__((noinline)) static unsigned sum_of(const unsigned char *p, size_t n) {
  unsigned sum = 0;
  for (size_t i = 0; i != n; ++i)
    sum = sum * 31 + p[i];
  return sum;
}

/* Iterations that need it, iterations that don't, and a way out in the middle. */
__attribute__((noinline)) static unsigned digest(const char *text, size_t width,
                                                 int stop) {
  unsigned result = 1;
  for (int i = 0; text[i]; ++i) {
    if (text[i] == ' ')
      continue;
    unsigned char *p = malloc(width);
    if (!p)
      return 0;
    memset(p, text[i], width);
    p[0] = (unsigned char)i;
    result = result * 7 + sum_of(p, width);
    if (i == stop) {
      free(p);
      break;
    }
    free(p);
  }
  return result;
}

int main(void) {
  static const char text[] = "some text with a few words in it";
  int words = (int)sizeof text - 1 - 7;
  setvbuf(stdout, (char[BUFSIZ]){0}, _IOFBF, BUFSIZ);
  allocations = frees = 0;
  printf("%u\n", digest(text, 100000, -1));
  CHECK(allocations == frees);
#ifdef VF_BEFORE
  CHECK(allocations == words);
#else
  CHECK(allocations == 1);
#endif
  allocations = frees = 0;
  printf("%u\n", digest(text, 5000, 10));
  CHECK(allocations == frees);
  allocations = frees = 0;
  printf("%u\n", digest("   ", 5000, 10));
  CHECK(allocations == 0 && frees == 0);
  /* No memory at all: seen in the first iteration that asks. */
  fails_from = allocations = frees = 0;
  printf("%u\n", digest(text, 5000, 10));
  CHECK(frees == 0);
  return words == 0;
}
