// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages go from a thread to another, entries stay in a table, tokens live for a line.
#ifndef QUEUE_H
#define QUEUE_H

struct message {
  struct message *next;
  char *text;
  int length;
};
struct entry {
  struct entry *next;
  char *name;
};
struct token {
  struct token *next;
  int kind;
};
struct handler {
  int (*on_packet)(const char *data, int length);
  int (*on_open)(const char *name);
};

void post(const char *text);
struct message *take(void);
void message_free(struct message *m);
void handle(const char *text, int length);

void remember(const char *name);
void forget_all(void);

void add_token(struct token **list, int kind);
void tokens_free(struct token *list);
int parse(const struct token *list);

void serve(struct handler *h);
#endif
