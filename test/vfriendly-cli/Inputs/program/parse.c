// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks in each call of functions, of which one is called in no loop.
#include "store.h"

#include <stdlib.h>
#include <string.h>

int parse_line(const char *line) {
  char *copy = malloc(strlen(line) + 1); // want: loop-allocation
  strcpy(copy, line);
  int words = 0;
  for (char *p = strtok(copy, " "); p; p = strtok(NULL, " "))
    words++;
  free(copy);
  return words;
}

int parse_title(const char *line) {
  char *copy = malloc(strlen(line) + 1);
  strcpy(copy, line);
  int words = 0;
  for (char *p = strtok(copy, ":"); p; p = strtok(NULL, ":"))
    words++;
  free(copy);
  return words;
}

// Another function is between the loop of loops.c and this one.
static int count(const char *line, int of) {
  char *copy = malloc(strlen(line) + 1); // want: loop-allocation
  strcpy(copy, line);
  int found = 0;
  for (char *p = strchr(copy, of); p; p = strchr(p + 1, of))
    found++;
  free(copy);
  return found;
}
int parse_record(const char *line) { return count(line, ',') + 1; }

// Two are.
static int count_all(const char *line, int of) {
  char *copy = malloc(strlen(line) + 1); // want: loop-allocation
  strcpy(copy, line);
  int found = 0;
  for (char *p = strchr(copy, of); p; p = strchr(p + 1, of))
    found++;
  free(copy);
  return found;
}
static int parse_table(const char *line) { return count_all(line, '|'); }
int parse_document(const char *line) { return parse_table(line) + 1; }

// Releases by a function of store.c.
void texts_end(struct texts *t) {
  texts_close(t);
  t->all = NULL;
}
