// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ways by which an address becomes known to others: it is freed and used there as before.
//
// RUN: clang -O2 %s -o %t.before
// RUN: %vf_clang -O2 -g %s -o %t.after %vf_link
// RUN: %t.before > %t.before.out
// RUN: %t.after > %t.after.out
// RUN: diff %t.before.out %t.after.out

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the place of what was freed too early. */
__attribute__((noinline)) static void takes_200(void) {
  char *p = malloc(200);
  memset(p, 9, 200);
  __asm__ volatile("" ::"r"(p) : "memory");
  free(p);
}
static void (*volatile unknown)(void) = takes_200;

/* %p that is read again compares equal (C17 7.21.6.2), so it may be used and freed. */
__attribute__((noinline)) static void give(const char *text) {
  void *p;
  if (sscanf(text, "%p", &p) == 1) {
    printf("given: %d\n", ++*(int *)p);
    free(p);
  }
}
__attribute__((noinline)) static void gives(void) {
  char text[32];
  int *p = malloc(sizeof *p);
  *p = 41;
  snprintf(text, sizeof text, "%p", (void *)p);
  give(text);
}

__attribute__((noinline)) static void read_again(void) {
  char text[32];
  int *p = malloc(200), *q;
  p[0] = 7;
  snprintf(text, sizeof text, "%p", (void *)p);
  unknown();
  sscanf(text, "%p", (void **)&q);
  printf("read again: %d\n", q[0]);
  unknown();
  free(p);
}

/* Two functions that only read tell the two halves of an address. */
__attribute__((noinline)) static unsigned lower(char **p) { return (unsigned)(uintptr_t)*p; }
__attribute__((noinline)) static unsigned upper(char **p) {
  return (unsigned)((uint64_t)(uintptr_t)*p >> 32);
}
__attribute__((noinline)) static char *in_parts(void) {
  char *blocks[64];
  for (int i = 0; i < 64; i++) {
    blocks[i] = malloc(40);
    memset(blocks[i], 'a' + i % 26, 40);
  }
  char *kept = (char *)((uintptr_t)lower(&blocks[3]) | (uint64_t)upper(&blocks[3]) << 32);
  for (int i = 0; i < 64; i++) {
    putchar(blocks[i][i % 40]);
    if (i != 3)
      free(blocks[i]);
  }
  return kept;
}

/* Another thread's, or a signal handler's, way to it. */
struct box {
  char *_Atomic block;
};
__attribute__((noinline)) static int exchanged(int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    struct box *box = malloc(sizeof *box);
    char *block = malloc(100);
    memset(block, i, 100);
    box->block = NULL;
    free(__atomic_exchange_n((char **)&box->block, block, __ATOMIC_ACQ_REL));
    unknown();
    block = __atomic_exchange_n((char **)&box->block, NULL, __ATOMIC_ACQ_REL);
    sum += block[i];
    free(block);
    free(box);
  }
  return sum;
}

int main(void) {
  gives();
  read_again();
  char *kept = in_parts();
  unknown();
  printf("\nin parts: %c\n", kept[2]);
  free(kept);
  printf("exchanged: %d\n", exchanged(20 + (kept == NULL)));
  return 0;
}
