// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each iteration of a loop takes and frees is taken once, if each iteration has as much of it
// and nothing can make the loop vanish.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --check-prefixes=CHECK,LLVM%llvm_major --implicit-check-not=remark:
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Reads, and neither keeps nor frees what it is given: LLVM sees that.
__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
void unknown(int);
int any(void);

// Why not: each iteration would need a larger block than the one before, and none would be saved.
int growing(size_t n) {
  int sum = 0;
  for (size_t i = 4; i < n; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: its size grows in each iteration: allocate the largest size once, before the loop
    char *p = malloc(8 * i);
    if (!p)
      return -1;
    memset(p, 1, i);
    sum += look(p);
    free(p);
  }
  return sum;
}

int same(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} the block that each iteration of the loop allocates and frees is allocated once
    char *p = malloc(n);
    if (!p)
      return -1;
    memset(p, i, n);
    sum += look(p);
    free(p);
  }
  return sum;
}
// IR-LABEL: @same(
// IR: phi ptr
// IR: @malloc
// IR: @free

// Out of both loops.
int nested(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i)
    for (int j = 0; j < i; ++j) {
      // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
      char *p = malloc(n);
      memset(p, j, n);
      sum += look(p);
      free(p);
    }
  return sum;
}

// What may never come back stands where the memory is held: it was lost there before.
int held(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
    char *p = malloc(n);
    memset(p, i, n);
    unknown(i);
    sum += look(p);
    free(p);
  }
  return sum;
}

// What formats into memory comes back ...
int formats(size_t n, int rounds) {
  int sum = 0;
  char text[20];
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
    char *p = malloc(n);
    snprintf(p, n, "%5d|%-8s|%zu", i, "x", n);
    int r = look(p);
    free(p);
    snprintf(text, sizeof text, "%d", r);
    sum += look(text);
  }
  return sum;
}

// ... but the thread may be cancelled where it writes: POSIX lets it.
int prints(size_t n, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    int r = look(p);
    free(p);
    printf("%d\n", r);
  }
  return 0;
}
int reads(size_t n, int fd) {
  char c;
  int sum = 0;
  do {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, 1, n);
    sum += look(p);
    free(p);
  } while (read(fd, &c, 1) == 1);
  return sum;
}

// The library calls what it is given, which may jump.
int sorts(size_t n, int rounds, int *v, int (*compare)(const void *, const void *)) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
    qsort(v, 8, sizeof *v, compare);
  }
  return sum;
}
// A handler of a signal may, once it is told to.
volatile int ready;
int told(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
    ready = 1;
    sum *= 3;
    ready = 0;
  }
  return sum;
}
_Atomic int allowed;
int told_atomically(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
    allowed = 1;
    sum *= 3;
    allowed = 0;
  }
  return sum;
}
// What is read tells a handler nothing, nor what is written while the block is
// held: a jump would lose it anyway.
int told_while_held(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}}: the block that each iteration of the loop allocates and frees is allocated once
    char *p = malloc(n);
    memset(p, i, n);
    allowed = 1;
    sum += look(p);
    allowed = 0;
    free(p);
    sum *= allowed;
  }
  return sum;
}

// Where an address is can be read from a text, so it may be freed by another.
int shown(size_t n, int rounds, char *text) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a format string may print or store its address
    char *p = malloc(n);
    memset(p, i, n);
    snprintf(text, 20, "%p", (void *)p);
    sum += look(p);
    free(p);
  }
  return sum;
}
int shown_by(size_t n, int rounds, char *text, const char *format) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a format string may print or store its address
    char *p = malloc(n);
    memset(p, i, n);
    snprintf(text, 20, format, p);
    sum += look(p);
    free(p);
  }
  return sum;
}

int sizes(const int *n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
    char *p = malloc(n[i]);
    memset(p, i, n[i]);
    sum += look(p);
    free(p);
  }
  return sum;
}

// Of differing sizes the largest is kept, and would be lost in place of a small one.
int held_sizes(const int *n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread, and a larger
    char *p = malloc(n[i]);
    memset(p, i, n[i]);
    unknown(i);
    sum += look(p);
    free(p);
  }
  return sum;
}

// A longjmp out of the loop, in every call, would lose a buffer in every call.
int jumps(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
    unknown(i);
  }
  return sum;
}

int cleared(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
    char *p = calloc(n, 1);
    p[i] = 1;
    sum += look(p);
    free(p);
  }
  return sum;
}

// Nobody knows whether that ends for every n, but there is no other way out of it ...
__attribute__((noinline)) static int half_or_more(unsigned n, int *steps) {
  while (n != 1 && ++*steps)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return *steps;
}
__attribute__((noinline)) static int deeper(unsigned n, int *steps) {
  return half_or_more(n, steps) + half_or_more(n + 1, steps);
}
int before_it(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    deeper(i + 1u, &sum);
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} is allocated once
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
  }
  return sum;
}

// ... as there may be if it calls what is not in sight, a function further on.
__attribute__((noinline)) static int asks(unsigned n, int *steps) {
  while (n != 1 && ++*steps)
    n = n & 1 ? 3 * n + any() : n / 2;
  return *steps;
}
__attribute__((noinline)) static int asks_deeper(unsigned n, int *steps) {
  return asks(n, steps) + asks(n + 1, steps);
}
int before_unknown(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    asks_deeper(i + 1u, &sum);
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
  }
  return sum;
}

// Another program may have another one in its place.
__attribute__((noinline, weak)) int replaced(unsigned n) { return (int)n + 1; }
int before_replaced(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    sum += replaced(i + 1u);
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
  }
  return sum;
}

// Whether there is any is the same each time as before ...
__attribute__((noinline)) int look_if_any(const char *p) { return p ? p[0] + 3 * p[3] : 7; }
int asked(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // LLVM 19 does not tell this from keeping the address.
    // LLVM22: hoist.c:[[#@LINE+2]]:{{.*}} is allocated once
    // LLVM19: hoist.c:[[#@LINE+1]]:{{.*}} kept: a function that it is passed to may keep its address
    char *p = malloc(n);
    if (p)
      memset(p, i, n);
    sum += look_if_any(p);
    free(p);
  }
  return sum;
}

// ... but not where it is: a function that told two iterations' memory apart would count less.
__attribute__((noinline)) int where(const char *p) { return p[0] + (int)((size_t)p >> 4) % 1000; }
int placed(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: a function that it is passed to may keep its address
    char *p = malloc(n);
    memset(p, i, n);
    sum += where(p);
    free(p);
  }
  return sum;
}

// What realloc returned is another's, for all that LLVM may remove.
int resized(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: its size is changed
    char *p = malloc(n);
    memset(p, i, n);
    p = realloc(p, 2 * n);
    sum += look(p);
    free(p);
  }
  return sum;
}

// Which way the loop is left decides whether there is one to free: not in sight.
int mixed(size_t n, int rounds) {
  char *p = 0;
  int i = 0;
  do {
    // CHECK: hoist.c:[[#@LINE+1]]:{{.*}} kept: at an exit of the loop it may or may not have been freed
    p = malloc(n);
    memset(p, i, n);
    if (look(p))
      break;
    free(p);
  } while (++i < rounds);
  return any() ? look(p) : 0;
}
