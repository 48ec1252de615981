// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that grow by the same again and again: only the author can let them grow by a factor.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --check-prefixes=CHECK,LLVM%llvm_major --implicit-check-not=remark:
// It is said with the rewrites off as well, and changes nothing.
// RUN: %vf_clang -O2 -c %s -o %t.o -mllvm -vf-heap=off -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --check-prefixes=CHECK,LLVM%llvm_major --implicit-check-not=remark:
// Nor is what sanitizers look for of any matter.
// RUN: %vf_clang -O2 -fsanitize=address -c %s -o %t.o -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --check-prefixes=CHECK,LLVM%llvm_major --implicit-check-not=remark:
// RUN: clang -O2 -S -emit-llvm %s -o %t.ll && opt -passes=verify -S %t.ll -o %t.before.ll
// RUN: %vf_opt -passes='vf-heap-churn<mode=off>' -S %t.ll -o - | diff %t.before.ll -

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

int ask(void);
char *next(void);
void use(void *);

int *each_round(int n) {
  int *p = NULL;
  for (int i = 0; i < n; i++) {
    // CHECK: growth.c:[[#@LINE+1]]:{{.*}} each iteration may copy the block to one that is larger by a constant; kept: only the author can make it grow by a factor
    p = realloc(p, (i + 1) * sizeof *p);
    p[i] = i;
  }
  return p;
}
// As often, but not larger by the same.
int *by_factor(int n) {
  int *p = NULL;
  size_t room = 1;
  for (int i = 0; i < n; i++) {
    p = realloc(p, (room *= 2) * sizeof *p);
    p[i] = i;
  }
  return p;
}
// What each line adds is its length: no constant.
char *joined(void) {
  char *text = NULL, *piece;
  size_t length = 0;
  while ((piece = next())) {
    text = realloc(text, length + strlen(piece) + 1);
    strcpy(text + length, piece);
    length += strlen(piece);
  }
  return text;
}
// Grows no more when the largest has come.
char *largest(void) {
  char *text = NULL, *piece;
  size_t room = 0;
  while ((piece = next())) {
    size_t need = strlen(piece) + 1;
    if (need > room)
      text = realloc(text, room = need);
    strcpy(text, piece);
  }
  return text;
}
// Gives back what is too much.
void shrinks(char *p, int n) {
  while (n-- > 0)
    p = realloc(p, n + 1);
  free(p);
}
void shrinks_by(char *p, size_t n, size_t by) {
  for (; n > by; n -= by)
    p = realloc(p, n);
  free(p);
}
// What is added is not known, but is a size.
char *by_width(size_t n, size_t width) {
  char *p = NULL;
  for (size_t i = 0; i < n; i++) {
    // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
    p = realloc(p, (i + 1) * width);
    memset(p + i * width, 1, width);
  }
  return p;
}
char **arrays(size_t n) {
  char **p = NULL;
  for (size_t i = 0; i < n; i++) {
    // LLVM 19 does not know the function.
    // LLVM19-NOT: growth.c:[[#@LINE+2]]
    // LLVM22: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
    p = reallocarray(p, i + 1, sizeof *p);
    p[i] = next();
  }
  return p;
}

int *when_full(int n) {
  int *p = NULL, used = 0, room = 0;
  while (n--) {
    if (used >= room) {
      room += 16;
      // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
      int *bigger = realloc(p, room * sizeof *p);
      if (!bigger)
        break;
      p = bigger;
    }
    p[used++] = n;
  }
  return p;
}
// LLVM takes used for room, as they are equal.
char *when_equal(void) {
  char *p = NULL;
  size_t room = 0, used = 0;
  for (int c; (c = ask()) >= 0;) {
    if (room == used) {
      room += 64;
      // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
      p = realloc(p, room);
    }
    p[used++] = (char)c;
  }
  return p;
}
char **those_that_match(void) {
  char **p = NULL, *line;
  size_t used = 0;
  while ((line = next())) {
    if (*line == '#')
      continue;
    // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
    p = realloc(p, (used + 1) * sizeof *p);
    p[used++] = line;
  }
  return p;
}
// The check is geometric, whatever the size is a sum of.
int *twice(int n) {
  int *p = NULL, used = 0, room = 0;
  while (n--) {
    if (used >= room) {
      p = realloc(p, 2 * (used + 1) * sizeof *p);
      room = 2 * (used + 1);
    }
    p[used++] = n;
  }
  return p;
}
char *twice_when_equal(void) {
  char *p = NULL;
  size_t room = 0, used = 0;
  for (int c; (c = ask()) >= 0;) {
    if (room == used) {
      room = room * 2 + 8;
      p = realloc(p, room);
    }
    p[used++] = (char)c;
  }
  return p;
}
int *by_half(int n) {
  int *p = NULL, used = 0, room = 16;
  while (n--) {
    if (used == room || !p)
      p = realloc(p, (room += room / 2) * sizeof *p);
    p[used++] = n;
  }
  return p;
}
// Not at each of these counts, but at a power of two.
char **at_powers(void) {
  char **p = NULL, *line;
  size_t used = 0;
  while ((line = next())) {
    if ((used & (used - 1)) == 0)
      p = realloc(p, (used * 2 + 1) * sizeof *p);
    p[used++] = line;
  }
  return p;
}
// The count goes on without the block, which follows by factors.
char **some_at_powers(void) {
  char **p = NULL, *line;
  size_t used = 0;
  while ((line = next())) {
    if (*line == '#') {
      use(line);
    } else {
      if ((used & (used - 1)) == 0)
        p = realloc(p, (used * 2 + 1) * sizeof *p);
      p[used++] = line;
    }
  }
  return p;
}
// As often as is needed may be twice as much.
char *until_enough(void) {
  char *text = NULL, *piece;
  size_t room = 0;
  while ((piece = next())) {
    while (ask())
      if (next())
        room += 16;
    text = realloc(text, room);
    strcat(text, piece);
  }
  return text;
}
// The side of a square grows by a constant, the square by more and more.
char *square(int n) {
  char *p = NULL;
  int used = 0;
  size_t side = 0;
  while (n--) {
    if (used >= (int)(side * side)) {
      side += 8;
      p = realloc(p, side * side);
    }
    p[used++] = (char)n;
  }
  return p;
}

// In a structure that the caller knows, and in one of an array.
struct text {
  char *at;
  long count;
};
void in_caller(struct text *t, long n) {
  for (long i = 0; i < n; i++) {
    // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
    t->at = realloc(t->at, 4096 * (i + 1));
    t->at[i] = 3;
  }
}
// A call may put another block there.
void in_caller_and_used(struct text *t, long n) {
  for (long i = 0; i < n; i++) {
    t->at = realloc(t->at, 4096 * (i + 1));
    use(t);
  }
}
void in_array(long which, long n) {
  struct text all[20];
  memset(all, 0, sizeof all);
  for (long i = 0; i < n; i++) {
    // CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
    all[which].at = realloc(all[which].at, 4096 * (i + 1));
    all[which].at[0] = 3;
  }
  for (int i = 0; i < 20; ++i)
    free(all[i].at);
}

// Each block once.
void others(char **p, size_t n) {
  for (size_t i = 0; i < n; i++)
    p[i] = realloc(p[i], i + 1);
}
// Few iterations.
char *few(int n) {
  char *p = NULL;
  for (int i = 0; i < n && i < 16; i++) {
    p = realloc(p, i + 1);
    p[i] = (char)ask();
  }
  return p;
}
// One size for all iterations.
char *same(int n, size_t size) {
  char *p = NULL;
  for (int i = 0; i < n; i++) {
    p = realloc(p, size);
    use(p);
  }
  return p;
}

// Left alone: by its author, as it is hardly ever run, or not optimized.
#define GROW(attribute, name)                                                                      \
  attribute char *name(int n) {                                                                    \
    char *p = NULL;                                                                                \
    for (int i = 0; i < n; i++) {                                                                  \
      p = realloc(p, i + 1);                                                                       \
      p[i] = 1;                                                                                    \
    }                                                                                              \
    return p;                                                                                      \
  }
GROW(__attribute__((annotate("vfriendly:keep"))), kept)
GROW(__attribute__((cold)), cold)
GROW(__attribute__((optnone, noinline)), not_optimized)
// Else it is advice.
// CHECK: growth.c:[[#@LINE+1]]:{{.*}} larger by a constant
GROW(, plain)
