// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that use and end messages, and a function that has tokens while it runs.
#include "queue.h"

#include <stdlib.h>
#include <string.h>

void produce(const char *const *lines, int n) {
  for (int i = 0; i < n; i++) {
    post(lines[i]);
    remember(lines[i]);
  }
}

void *consumer(void *unused) {
  struct message *m;
  int running = 1;
  while (running) {
    m = take();
    running = m != NULL;
    if (running && m) {
      handle(m->text, m->length);
      message_free(m);
    }
  }
  forget_all();
  return unused;
}

static int parse_line(const char *line) {
  struct token *list = NULL;
  for (const char *p = line; *p; p++)
    add_token(&list, *p);
  int found = parse(list);
  tokens_free(list);
  return found;
}

int parse_lines(const char *const *lines, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += parse_line(lines[i]);
  return sum;
}

// Called through a table: once for each packet, and once for a file.
static int got_packet(const char *data, int length) {
  char *copy = malloc(length + 1); // want: loop-allocation
  memcpy(copy, data, length);
  copy[length] = 0;
  int found = strchr(copy, ':') != NULL;
  free(copy);
  return found;
}
static int do_open(const char *name) {
  char *copy = malloc(strlen(name) + 1);
  strcpy(copy, name);
  int found = strchr(copy, '/') != NULL;
  free(copy);
  return found;
}
static struct handler handlers = {got_packet, do_open};
void run_all(void) { serve(&handlers); }
