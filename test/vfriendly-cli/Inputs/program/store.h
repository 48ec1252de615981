// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Declarations of store.c and parse.c: names that do not tell what the functions do, and names that lie.
#include <stddef.h>

struct entry {
  int key;
  char text[100];
};

struct entry *entry_for(int key);
void entry_done(struct entry *e);
struct entry *entry_of_table(int key);
void entry_unused(struct entry *e);
void *slot_malloc(size_t n);
void slot_free(void *p);

int parse_line(const char *line);
int parse_title(const char *line);
int parse_record(const char *line);
int parse_document(const char *line);
int read_all(const char *const *lines, int n);
// A list of texts of its own.
struct texts {
  char **all;
  int count;
};
int texts_open(struct texts *t, int n);
void texts_close(struct texts *t);
void texts_end(struct texts *t);
int texts_count(struct texts *t);
void keep_count(struct texts *t);

void keep(struct entry *e);
void squares(int *v, int n);
void squares_once(int *v, int n);
int repeat(int *v, int n);
