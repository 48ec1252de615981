// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ways by which an address becomes known to others: it is freed and used there as before.
//
// RUN: clang -O2 %s -o %t.before
// RUN: %vf_clang -O2 %s -o %t.after
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

int main(void) {
  gives();
  read_again();
  return 0;
}
