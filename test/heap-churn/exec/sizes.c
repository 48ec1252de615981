// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that differ: the largest so far is kept. calloc's zeros are there in each iteration, a
// malloc that fails is seen, and is asked again in the next iteration.
//
// RUN: clang -O2 -c %S/Inputs/counted.c -o %t.o
// RUN: clang -O2 %s %t.o -o %t.before -DVF_BEFORE
// RUN: %vf_clang -O2 -g %s %t.o -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of Inputs/counted.c. */
extern long allocations, frees, fails_from, fails_above;

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%d: not so: %s\n", __LINE__, #x), abort()))

__attribute__((noinline)) static unsigned sum_of(const unsigned char *p, size_t n) {
  unsigned sum = 0;
  for (size_t i = 0; i != n; ++i)
    sum = sum * 31 + p[i];
  return sum;
}

static const size_t sizes[] = {300, 200, 5000, 10, 0, 5000, 4999, 70000, 1, 20};
enum { ROUNDS = sizeof sizes / sizeof *sizes };

__attribute__((noinline)) static unsigned varying(const size_t *n, int rounds) {
  unsigned result = 1;
  for (int i = 0; i < rounds; ++i) {
    unsigned char *p = malloc(n[i]);
    if (!p) {
      result = result * 3 + 1;
      continue;
    }
    memset(p, i, n[i]);
    result = result * 7 + sum_of(p, n[i]);
    free(p);
  }
  return result;
}

__attribute__((noinline)) static unsigned zeros(const size_t *n, int rounds) {
  unsigned result = 1;
  for (int i = 0; i < rounds; ++i) {
    unsigned char *p = calloc(n[i], 3);
    if (!p)
      return 99;
    result = result * 7 + sum_of(p, 3 * n[i]);
    // Read, or it would not be written.
    memset(p, 0xee, 3 * n[i]);
    result += sum_of(p, 3 * n[i]);
    free(p);
  }
  return result;
}

/* What is found stays behind the loop. */
__attribute__((noinline)) static unsigned found(const size_t *n, int rounds, int stop) {
  unsigned char *p;
  int i;
  for (i = 0; i < rounds; ++i) {
    p = malloc(n[i] + 1);
    if (!p)
      return 98;
    memset(p, i, n[i] + 1);
    if (i == stop)
      goto got;
    free(p);
  }
  return 97;
got:;
  unsigned result = sum_of(p, n[i] + 1);
  free(p);
  return result;
}

#ifdef VF_BEFORE
#define TAKEN(before, after) (allocations == (before))
#else
#define TAKEN(before, after) (allocations == (after))
#endif

int main(int argc, char **argv) {
  // Not a constant, or the loops would be unrolled.
  int rounds = ROUNDS + argc - 1;
  setvbuf(stdout, (char[BUFSIZ]){0}, _IOFBF, BUFSIZ);
  allocations = frees = 0;
  printf("%u\n", varying(sizes, rounds));
  CHECK(TAKEN(ROUNDS, 3) && allocations == frees);
  allocations = frees = 0;
  printf("%u\n", zeros(sizes, rounds));
  CHECK(TAKEN(ROUNDS, 3) && allocations == frees);
  allocations = frees = 0;
  printf("%u\n", found(sizes, rounds, 3));
  CHECK(TAKEN(4, 2) && allocations == frees);
  allocations = frees = 0;
  printf("%u\n", found(sizes, rounds, 30));
  CHECK(allocations == frees);
  // n * 3 is too large for a size_t: the product would be small.
  allocations = frees = 0;
  printf("%u\n", zeros((size_t[]){50, (size_t)-1 / 3 + 9}, 2));
  CHECK(allocations == frees);
  // Only the large one fails, and what was kept is not lost.
  fails_above = 60000;
  allocations = frees = 0;
  printf("%u\n", varying(sizes, rounds));
  CHECK(allocations == frees);
  fails_from = allocations = frees = 0;
  printf("%u\n", varying(sizes, rounds));
  printf("%u\n", found(sizes, rounds, 3));
  CHECK(allocations == 0 && frees == 0);
  return 0;
}
