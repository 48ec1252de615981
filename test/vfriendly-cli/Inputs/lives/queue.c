// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes what functions of consumer.c end.
#include "queue.h"

#include <stdlib.h>
#include <string.h>

static struct message *first;
static struct entry *table;

void post(const char *text) {
  struct message *m = malloc(sizeof *m); // want: loop-allocation
  m->text = strdup(text);                // want: loop-allocation
  m->length = strlen(text);
  m->next = first;
  first = m;
}

struct message *take(void) {
  struct message *m = first;
  first = m ? m->next : NULL;
  return m;
}

void message_free(struct message *m) {
  free(m->text);
  free(m);
}

// Kept until all are forgotten.
void remember(const char *name) {
  struct entry *e = malloc(sizeof *e);
  e->name = strdup(name);
  e->next = table;
  table = e;
}

void forget_all(void) {
  while (table) {
    struct entry *e = table;
    table = e->next;
    free(e->name);
    free(e);
  }
}

void add_token(struct token **list, int kind) {
  struct token *t = malloc(sizeof *t); // want: loop-allocation
  t->kind = kind;
  t->next = *list;
  *list = t;
}

void tokens_free(struct token *list) {
  while (list) {
    struct token *next = list->next;
    free(list);
    list = next;
  }
}
