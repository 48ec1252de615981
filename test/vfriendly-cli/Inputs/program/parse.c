// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block in each call: one function is called in a loop of loops.c, the other is not.
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

// Releases by a function of store.c.
void texts_end(struct texts *t) {
  texts_close(t);
  t->all = NULL;
}
