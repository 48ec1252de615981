// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that are reported and left as they are, each for its reason: the fix
// would change what the program does.
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' --fix %t.c -- -std=gnu11 > %t.out 2>&1
// RUN: grep -c 'warning: .*vfriendly-heap-churn' %t.out | FileCheck %s
// by_a_jump is not reported: LLVM knows no loop there, as it has two entries.
// CHECK: {{^}}33{{$}}
// RUN: diff %s %t.c

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void use(void *memory);
// Returns each time: an unknown function in a loop forbids hoisting by itself.
__attribute__((nothrow)) int ask(void);

//===--- Hoisting ---------------------------------------------------------===//

// The text is the macro's, for all its uses.
#define ROUND()                                                                \
  while (ask()) {                                                              \
    char *p = malloc(10);                                                      \
    p[0] = 1;                                                                  \
    free(p);                                                                   \
  }
void in_macro(void) { ROUND(); }

// Another size in another iteration.
void another_size(void) {
  for (int i = 1; ask(); i++) {
    char *p = malloc(i);
    p[0] = 1;
    free(p);
  }
}
extern size_t size;
void size_of_others(void) {
  while (ask()) {
    char *p = malloc(size);
    p[0] = 1;
    free(p);
  }
}
// calloc clears in each iteration.
void cleared(void) {
  while (ask()) {
    int *p = calloc(10, sizeof *p);
    p[0]++;
    free(p);
  }
}
// use may remember the pointer and compare it with a later one.
void may_be_known(void) {
  while (ask()) {
    char *p = malloc(10);
    use(p);
    free(p);
  }
}
// The way out behind the release would lose the memory.
int leaves_behind(void) {
  while (ask()) {
    char *p = malloc(10);
    if (!p)
      return 0;
    snprintf(p, 10, "x");
    free(p);
    if (ask())
      return 1;
  }
  return 2;
}
// What is called behind the release may jump out of the loop, with longjmp.
void may_jump(void) {
  for (int i = 0; i < 100; i++) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
    use(NULL);
  }
}
// A function that does not return may jump or end the thread, even if it is
// declared not to throw.
__attribute__((noreturn, nothrow)) void fail(void);
void may_fail(void) {
  for (int i = 0; i < 100; i++) {
    if (ask())
      fail();
    char *p = malloc(10);
    p[0] = 1;
    free(p);
  }
}
// A pragma applies to the loop, whether or not this compilation knows it.
void after_pragma(int n) {
#pragma omp parallel for \
    schedule(static)
  for (int i = 0; i < n; i++) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
  }
#pragma omp parallel for
  // Each thread has a buffer.
  for (int i = 0; i < n; i++) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
  }
#define PARALLEL _Pragma("omp parallel for")
  PARALLEL
  for (int i = 0; i < n; i++) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
  }
}
// Two releases.
void two_ways(void) {
  while (ask()) {
    char *p = malloc(10);
    p[0] = 1;
    if (ask()) {
      free(p);
      continue;
    }
    free(p);
  }
}
// A second write: with p null, each iteration would allocate, and the release
// after the loop would get none of the blocks.
void set_to_null(void) {
  while (ask()) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
    p = NULL;
  }
}
// A second release, whichever of the two is found first.
void two_ways_else(void) {
  while (ask()) {
    char *p = malloc(10);
    p[0] = 1;
    if (ask())
      p[1] = 1;
    else {
      free(p);
      continue;
    }
    free(p);
  }
}
// What p was before is wanted behind the loop.
char *looked_at_later(void) {
  char *p = NULL;
  for (int i = 0; i < 100; i++) {
    p = malloc(10);
    p[0] = 1;
    free(p);
  }
  return p == NULL ? "" : NULL;
}
// Another variable has the name.
extern char *name;
void two_of_a_name(void) {
  for (int i = 0; i < 100; i++) {
    char *name = malloc(10);
    name[0] = 1;
    free(name);
  }
  use(name);
}
// No place before the loop that all ways come by.
void in_a_switch(int n) {
  switch (n) {
  case 0:
    use(NULL);
  case 1:
    for (int i = 0; i < 100; i++) {
      char *p = malloc(10);
      p[0] = 1;
      free(p);
    }
  }
}
void by_a_jump(int n) {
  if (n)
    goto in;
  for (int i = 0; i < 100; i++) {
    char *p;
  in:
    p = malloc(10);
    p[0] = 1;
    free(p);
  }
}
// A type that only the loop knows.
void type_of_the_loop(void) {
  for (int i = 0; i < 100; i++) {
    struct pair {
      int a, b;
    };
    struct pair *p = malloc(sizeof *p);
    p->a = i;
    free(p);
  }
}

// What an #if leaves out may leave the loop.
int other_ways(void) {
  while (ask()) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
#ifdef IMPATIENT
    if (p)
      return 1;
#endif
  }
  return 0;
}
// The pragma is for the loop: each thread has a buffer of its own.
void by_threads(int n) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    char *p = malloc(10);
    p[0] = 1;
    free(p);
  }
}

//===--- Reversing --------------------------------------------------------===//

// More is done than to release.
void does_more(int n) {
  char *m[100]; // Allocated in a run: the second report.
  for (int i = 0; i < n; i++)
    m[i] = malloc(10);
  for (int i = n - 1; i >= 0; i--) {
    use(m[i]);
    free(m[i]);
  }
}
// Where the counter ends is wanted.
int counter_is_wanted(int n) {
  char *m[100];
  int i, k;
  for (k = 0; k < n; k++)
    m[k] = malloc(10);
  for (i = n - 1; i >= 0; i--)
    free(m[i]);
  return i;
}
// Other elements than all.
void others(int n) {
  char *m[100];
  for (int i = 0; i < 100; i++)
    m[i] = malloc(10);
  for (int i = 0; i < n; i++)
    free(m[99 - i]);
}

//===--- Growth -----------------------------------------------------------===//

// An int may overflow where it did not before.
int *narrow(int n) {
  int *p = NULL, room = 0;
  for (int i = 0; i < n; i++) {
    if (i >= room) {
      room += 16;
      p = realloc(p, room * sizeof *p);
    }
    p[i] = i;
  }
  return p;
}
// The room is told to others.
int *told(size_t n, size_t *told) {
  int *p = NULL;
  size_t room = 0;
  for (size_t i = 0; i < n; i++) {
    if (i >= room) {
      room += 16;
      p = realloc(p, room * sizeof *p);
    }
    p[i] = i;
  }
  *told = room;
  return p;
}

//===--- One call ---------------------------------------------------------===//

// Each call's result is looked at; not all of a range; mprotect stops at the
// first range that fails.
int one_by_one(char *p, int n) {
  int failed = 0;
  for (int i = 0; i < n; i++)
    failed |= madvise(p + i * 65536, 65536, MADV_DONTNEED);
  for (int i = 0; i < n; i++)
    madvise(p + i * 131072, 65536, MADV_DONTNEED);
#pragma unroll
  for (int i = 0; i < n; i++)
    madvise(p + i * 65536, 65536, MADV_DONTNEED);
  for (int i = 0; i < n; i++)
    mprotect(p + i * 65536, 65536, PROT_READ);
  return failed;
}

//===--- Earlier ----------------------------------------------------------===//

// A way past the loop comes to the release, too.
void by_a_jump_to_the_end(int n) {
  char *p = malloc(10);
  p[0] = 1;
  if (n)
    goto end;
  while (ask())
    usleep(10);
end:
  use(NULL);
  free(p);
}
