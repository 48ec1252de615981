// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that grow by addition from iteration to iteration.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-growth' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdlib.h>
#include <string.h>

int ask(void);
char *next(void);

int *by_one(int n) {
  int *p = NULL;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:9: warning: 'realloc' in a loop grows a block by additions to 'i': each return to the kernel interrupts every CPU; grow it by a factor (guidelines/heap-churn.md) [vfriendly-heap-churn-growth]
    p = realloc(p, (i + 1) * sizeof *p);
    p[i] = i;
  }
  return p;
}

int *by_some(int n) {
  int *p = NULL, used = 0, room = 0;
  while (n--) {
    if (used == room) {
      room += 16;
      // CHECK: :[[@LINE+1]]:21: warning: 'realloc' in a loop grows a block by additions to 'room'
      int *bigger = realloc(p, room * sizeof *p);
      if (!bigger)
        break;
      p = bigger;
    }
    p[used++] = n;
  }
  return p;
}

char *by_what_comes(void) {
  char *text = NULL, *piece;
  size_t length = 0;
  while ((piece = next())) {
    // CHECK: :[[@LINE+1]]:12: warning: 'realloc' in a loop grows a block by additions to 'length'
    text = realloc(text, length + strlen(piece) + 1);
    strcpy(text + length, piece);
    length += strlen(piece);
  }
  return text;
}

int *by_factor(int n) {
  int *p = NULL, used = 0, room = 16;
  while (n--) {
    if (used == room) {
      room *= 2;
      p = realloc(p, room * sizeof *p);
    }
    p[used++] = n;
  }
  return p;
}
// Doubled where it is used.
int *by_twice(int n) {
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
// The largest so far: it grows as long as the input does, and then no more.
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
// One size for all iterations.
void same(char **p, int n, size_t size) {
  for (int i = 0; i < n; i++)
    p[i] = realloc(p[i], size);
}
