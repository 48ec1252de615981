// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that call functions of store.c and parse.c.
#include "store.h"

int entries(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    struct entry *e = entry_for(i); // want: loop-allocation
    sum += e->text[i % 100];
    entry_done(e);
  }
  return sum;
}

int of_table(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    struct entry *e = entry_of_table(i);
    sum += e->text[i % 100];
    entry_unused(e);
  }
  return sum;
}

int slots_only(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    char *p = slot_malloc(100);
    sum += p[i % 100];
    slot_free(p);
  }
  return sum;
}

int read_all(const char *const *lines, int n) {
  int sum = parse_title(lines[0]);
  for (int i = 1; i < n; i++)
    sum += parse_line(lines[i]);
  return sum;
}

int read_records(const char *const *lines, int n) {
  int sum = 0;
  for (int i = 1; i < n; i++)
    sum += parse_record(lines[i]) + parse_document(lines[i]);
  return sum;
}

int repeat(int *v, int n) {
  squares_once(v, 64);
  while (v[0] < n)
    squares(v, 64);
  return v[0];
}

int texts(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    struct texts t;
    if (texts_open(&t, i)) // want: loop-allocation
      continue;
    sum += texts_count(&t);
    texts_end(&t);
  }
  return sum;
}

// The memory is there for all iterations.
int texts_of_all(int n) {
  struct texts t;
  int sum = texts_open(&t, n);
  for (int i = 0; i < n; i++) {
    sum += texts_count(&t);
    keep_count(&t);
  }
  texts_end(&t);
  return sum;
}
