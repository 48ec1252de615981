// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that do to the heap what no caller of another file sees.
#include "store.h"

#include <stdlib.h>

struct entry *entry_for(int key) {
  struct entry *e = malloc(sizeof *e);
  if (!e)
    return NULL;
  e->key = key;
  return e;
}

void entry_done(struct entry *e) { free(e); }

// The same types, but nothing is allocated: the entries are in a table.
static struct entry table[64];
struct entry *entry_of_table(int key) { return &table[key % 64]; }
void entry_unused(struct entry *e) { e->key = 0; }

// Named as an allocator, but the slots are the program's own.
static char slots[64][100];
static unsigned next;
void *slot_malloc(size_t n) {
  return n <= sizeof slots[0] ? slots[next++ % 64] : NULL;
}
void slot_free(void *p) { *(char *)p = 0; }

int texts_open(struct texts *t, int n) {
  t->all = calloc(n, sizeof *t->all);
  t->count = n;
  return t->all ? 0 : -1;
}
void texts_close(struct texts *t) { free(t->all); }
int texts_count(struct texts *t) { return t->count; }
