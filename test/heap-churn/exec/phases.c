// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases with blocks of a pool: the same results with fewer allocations, as many frees as
// allocations, whatever fails and wherever control leaves; and all as before where the
// runtime is not linked.
//
// RUN: clang -O2 -c %S/Inputs/counted.c -o %t.counted.o
// RUN: clang -O2 -c -DELSEWHERE %s -o %t.elsewhere.o
// RUN: clang -O2 %s %t.counted.o %t.elsewhere.o -o %t.before -DMOST=3000
// RUN: %vf_clang -O2 -g -c %s -o %t.o -DMOST=60
// RUN: clang %t.o %t.counted.o %t.elsewhere.o -o %t.after %vf_link
// RUN: %vf_clang -O2 -c %s -o %t.alone.o -DMOST=3000
// RUN: clang %if native %{-fuse-ld=bfd%} %t.alone.o %t.counted.o %t.elsewhere.o -o %t.alone
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: %t.alone > %t.alone.out
// RUN: llvm-dwarfdump --verify --quiet %t.o
// RUN: diff %t.before.out %t.after.out
// RUN: diff %t.before.out %t.alone.out
// RUN: FileCheck %s < %t.after.out
// CHECK: grows: 1000 blocks, {{[1-9]}}
// CHECK: words: {{[1-9]}}
// CHECK: rows: {{[1-9]}}
// CHECK: jumped

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of Inputs/counted.c. */
extern long allocations, frees, fails_from;

/* Not in sight of the compiler. */
void elsewhere(void);
extern jmp_buf *there;

#ifdef ELSEWHERE
jmp_buf *there;
void elsewhere(void) {
  if (there)
    longjmp(*there, 1);
}
#else

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "%d: not so: %s\n", __LINE__, #x), abort()))

__attribute__((noinline)) static unsigned sum_of(const unsigned char *p, size_t n) {
  unsigned sum = 0;
  for (size_t i = 0; i != n; ++i)
    sum = sum * 31 + p[i];
  return sum;
}

/* The thesis' listing 8.8: ever larger blocks, freed backwards. */
__attribute__((noinline)) static unsigned grows(void) {
  unsigned char *blocks[1000];
  unsigned sum = 1;
  for (int i = 0; i < 1000; i++) {
    blocks[i] = malloc((size_t)(10 * i + 1));
    if (!blocks[i]) {
      while (i-- != 0)
        free(blocks[i]);
      return 0;
    }
    memset(blocks[i], i, (size_t)(10 * i + 1));
  }
  for (int i = 0; i < 1000; i++)
    sum = sum * 7 + sum_of(blocks[i], (size_t)(10 * i + 1));
  for (int i = 1000; i-- != 0;)
    free(blocks[i]);
  return sum;
}

struct word {
  struct word *next;
  size_t length;
  char text[];
};

/* A list in sorted order; what comes twice is freed where it is found. */
__attribute__((noinline)) static unsigned words(const char *text) {
  struct word *all = NULL;
  unsigned sum = 1;
  while (*text) {
    size_t length = strcspn(text, " ");
    struct word *one = malloc(sizeof *one + length + 1);
    if (!one) {
      sum = 0;
      break;
    }
    one->length = length;
    memcpy(one->text, text, length);
    one->text[length] = 0;
    text += length + (text[length] == ' ');
    struct word *before = NULL, *after = all;
    while (after && strcmp(after->text, one->text) < 0) {
      before = after;
      after = after->next;
    }
    if (after && strcmp(after->text, one->text) == 0) {
      free(one);
      sum += 3;
      continue;
    }
    one->next = after;
    if (before)
      before->next = one;
    else
      all = one;
  }
  for (struct word *w = all; w && sum; w = w->next)
    sum = sum * 31 + sum_of((unsigned char *)w->text, w->length);
  while (all) {
    struct word *next = all->next;
    free(all);
    all = next;
  }
  return sum;
}

/* The array is malloc's, its rows the pool's; row by row goes early. */
__attribute__((noinline)) static unsigned rows(int n, size_t width) {
  unsigned char **all = malloc((size_t)n * sizeof *all);
  unsigned sum = 1;
  if (!all)
    return 0;
  for (int i = 0; i < n; i++) {
    all[i] = malloc(width * (size_t)(i % 5));
    if (!all[i]) {
      n = i;
      sum = 0;
      break;
    }
    memset(all[i], i, width * (size_t)(i % 5));
  }
  for (int i = 0; i < n && sum; i++) {
    sum = sum * 7 + sum_of(all[i], width * (size_t)(i % 5));
    free(all[i]);
    all[i] = NULL;
  }
  for (int i = 0; i < n; i++)
    free(all[i]);
  free(all);
  return sum;
}

/* Does not come back from elsewhere, when it has freed all. */
__attribute__((noinline)) static unsigned leaves(int n) {
  unsigned sum = 0;
  for (int round = 0; round < 3; ++round) {
    unsigned char *blocks[64];
    for (int i = 0; i < 64; ++i) {
      blocks[i] = malloc(500);
      if (blocks[i])
        memset(blocks[i], i + n, 500);
    }
    for (int i = 0; i < 64; ++i) {
      if (blocks[i])
        sum += sum_of(blocks[i], 500);
      free(blocks[i]);
    }
    elsewhere();
  }
  return sum;
}

static const char text[] = "a phase takes a word and a word and gives each word "
                           "back when the phase ends and each end takes a while";

static void none_is_lost(void) {
  CHECK(allocations == frees);
  allocations = frees = 0;
}

static void run_all(void) {
  grows();
  none_is_lost();
  words(text);
  none_is_lost();
  rows(300, 1000);
  none_is_lost();
}

int main(void) {
  setvbuf(stdout, (char[BUFSIZ]){0}, _IOFBF, BUFSIZ);
  allocations = frees = 0;
  printf("grows: 1000 blocks, %u\n", grows());
  CHECK(allocations < MOST);
  none_is_lost();
  printf("words: %u\n", words(text));
  none_is_lost();
  printf("rows: %u\n", rows(300, 1000));
  none_is_lost();

  for (fails_from = 0; fails_from < 1100; fails_from += fails_from < 50 ? 1 : 75)
    run_all();
  fails_from = 0;
  CHECK(grows() == 0 && words(text) == 0 && rows(300, 1000) == 0);
  fails_from = 1L << 60;

  jmp_buf here;
  there = &here;
  allocations = frees = 0;
  for (volatile int i = 0; i < 10; ++i)
    if (!setjmp(here))
      printf("%u\n", leaves(i));
  there = NULL;
  none_is_lost();
  printf("jumped, %u\n", leaves(1));
  none_is_lost();
  return 0;
}
#endif
