// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the fixes make of a program means the same, does with fewer allocations,
// and loses no memory: results and live blocks are compared with those of the
// program as it was, with malloc and with one that always fails.
// RUN: clang -std=gnu11 -O1 -Wall -Werror -Wno-unused-value -Wl,--wrap=malloc,--wrap=free,--wrap=realloc %s -o %t.before
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' --fix %t.c -- -std=gnu11 > %t.out
// RUN: sed '/ FIXED/d' %t.c | FileCheck %s --check-prefix=FIXED
// RUN: clang -std=gnu11 -O1 -Wall -Werror -Wno-unused-value -Wl,--wrap=malloc,--wrap=free,--wrap=realloc %t.c -o %t.after
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out
// RUN: grep -c 'live 0' %t.after.out | FileCheck %s --check-prefix=NONE-LOST
// NONE-LOST: {{^}}2{{$}}
// RUN: sh -c 'test $(%t.after calls | sed -n s/calls//p) -lt $(%t.before calls | sed -n s/calls//p)'
//
// Fixed once, there is nothing left to fix.
// RUN: cp %t.c %t.again.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' --fix %t.again.c -- -std=gnu11 > %t.again.out
// RUN: diff %t.c %t.again.c

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long calls, live;
static int failing;
void *__real_malloc(size_t n);
void __real_free(void *p);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n) {
  calls++;
  if (failing)
    return NULL;
  live++;
  return __real_malloc(n);
}
void __wrap_free(void *p) {
  live -= p != NULL;
  __real_free(p);
}
void *__wrap_realloc(void *p, size_t n) {
  calls++;
  live += p == NULL;
  return __real_realloc(p, n);
}

// FIXED-LABEL: static int declared_in_body(
static int declared_in_body(int n) {
  int sum = 0;
  // FIXED: {{^}}  char *p = NULL;
  // FIXED-NEXT: {{^}}  for (int i = 0; i < n; i++) {
  // FIXED-NEXT: {{^}}    if (!p)
  // FIXED-NEXT: {{^}}      p = malloc(64);
  // FIXED-NEXT: {{^}}    if (p == NULL)
  // FIXED-NEXT: {{^}}      return -1;
  // FIXED-NEXT: {{^}}    snprintf(p, 64, "%d", i * 7);
  // FIXED-NEXT: {{^}}    sum += strlen(p) + p[0];
  // FIXED-NEXT: {{^}}  }
  // FIXED-NEXT: {{^}}  free(p);
  // FIXED-NEXT: {{^}}  return sum;
  for (int i = 0; i < n; i++) {
    char *p = malloc(64);
    if (p == NULL)
      return -1;
    snprintf(p, 64, "%d", i * 7);
    sum += strlen(p) + p[0];
    free(p);
  }
  return sum;
}

// FIXED-LABEL: static int declared_before(
static int declared_before(size_t size, int n) {
  int sum = 0;
  char *p;
  while (n-- > 0) {
    // FIXED: {{^}}  p = NULL;
    // FIXED-NEXT: {{^}}  for (int i = 0; i < 10; i++) {
    for (int i = 0; i < 10; i++) {
      // FIXED: {{^}}      if (!p)
      // FIXED-NEXT: {{^}}        p = malloc(size * sizeof *p);
      // FIXED-NOT: free
      // FIXED: {{^}}    }
      // FIXED-NEXT: {{^}}    free(p);
      p = malloc(size * sizeof *p);
      if (!p)
        continue;
      memset(p, i, size);
      sum += p[size - 1];
      free(p);
    }
  }
  return sum;
}

// FIXED-LABEL: static int reversed(
static int reversed(int n) {
  char *blocks[100];
  int i, sum = 0;
  for (i = 0; i < n; i++) {
    blocks[i] = malloc(10);
    if (!blocks[i])
      break;
  }
  n = i;
  // FIXED: for (int k = 0; k < n; k++)
  for (int k = n - 1; k >= 0; k--)
    free(blocks[k]);
  return sum + n;
}
// FIXED-LABEL: static void reversed_by_index(
static void reversed_by_index(void) {
  char *blocks[100];
  for (int i = 0; i < 100; i++)
    blocks[i] = malloc(10);
  // FIXED: free(blocks[i]);
  for (int i = 0; i < 100; i++)
    free(blocks[99 - i]);
  for (int i = 0; i < 50; i++)
    blocks[i] = malloc(10);
  // FIXED: for (int i = 0; i < 50; ++i) {
  // FIXED-NEXT: free(blocks[i]);
  for (int i = 50; i > 0; --i) {
    free(blocks[i - 1]);
  }
}

// FIXED-LABEL: static void reversed_to(
static void reversed_to(int n) {
  char *blocks[100];
  for (int i = 0; i <= (n & 31); i++)
    blocks[i] = malloc(10);
  // FIXED: for (int i = 0; i <= (n & 31); ++i)
  for (int i = n & 31; i >= 0; --i)
    free(blocks[i]);
  for (int i = 0; i < (n & 31); i++)
    blocks[i] = malloc(10);
  // FIXED: for (int i = 0; i < (n & 31); ++i)
  // FIXED-NEXT: free(blocks[i]);
  for (int i = n & 31; i > 0; --i)
    free(blocks[i - 1]);
}
// Only the end of the process may follow the test.
// FIXED-LABEL: static int or_exits(
static int or_exits(int n) {
  int sum = 0;
  // FIXED: char *p = NULL;
  for (int i = 0; i < n; i++) {
    if (i < 0)
      exit(1);
    char *p = malloc(64);
    if (!p)
      return -1;
    snprintf(p, 64, "%d", i);
    sum += p[0];
    free(p);
  }
  return sum;
}
// FIXED-LABEL: static long by_factor(
static long by_factor(int n) {
  long *values = NULL, sum = 0;
  size_t room = 0;
  for (int i = 0; i < n; i++) {
    if (i >= room) {
      // FIXED: room += room / 2 + 16;
      room += 16;
      values = realloc(values, room * sizeof *values);
    }
    values[i] = i;
  }
  for (int i = 0; i < n; i++)
    sum += values[i];
  free(values);
  return sum;
}

// FIXED-LABEL: static long earlier(
static long earlier(int n) {
  long sum = 0;
  char *name = malloc(100);
  if (!name)
    return -1;
  snprintf(name, 100, "%d", n);
  sum += strlen(name);
  // FIXED: {{^}}  free(name);
  // FIXED-NEXT: {{^}}  for (int i = 0; i < n; i++) {
  for (int i = 0; i < n; i++) {
    usleep(0);
    sum += i;
  }
  // FIXED: {{^}}  return sum;
  free(name);
  return sum;
}

// FIXED-LABEL: static int one_call(
static int one_call(unsigned n, int m) {
  enum { Size = 65536 };
  char *memory = mmap(NULL, 64 * Size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 1, 64 * Size);
  // FIXED: {{^}}  madvise(memory, (size_t)n * Size, MADV_DONTNEED);
  for (unsigned i = 0; i < n; i++)
    madvise(memory + i * Size, Size, MADV_DONTNEED);
  char *rest = memory + 32 * Size;
  // FIXED: {{^}}  if (m > 0)
  // FIXED-NEXT: {{^}}    madvise(rest, (size_t)m * 65536, MADV_DONTNEED);
  for (int i = 0; i < m; i++) {
    madvise(rest + i * 65536, 65536, MADV_DONTNEED);
  }
  int sum = 0;
  for (int i = 0; i < 64; i++)
    sum += memory[i * Size + Size - 1];
  munmap(memory, 64 * Size);
  return sum;
}

int main(int argc, char **argv) {
  for (failing = 0; failing < 2; failing++) {
    printf("%d ", declared_in_body(0));
    printf("%d ", declared_in_body(20));
    printf("%d ", declared_before(100, 3));
    printf("%d ", reversed(60));
    reversed_by_index();
    reversed_to(60);
    printf("%d ", or_exits(20));
    printf("%ld ", by_factor(1000));
    printf("%ld ", earlier(10));
    printf("%d ", one_call(5, 7));
    printf("%d ", one_call(0, -7));
    printf("live %ld\n", live);
  }
  if (argc > 1)
    printf("%s %ld\n", argv[1], calls);
  return 0;
}
