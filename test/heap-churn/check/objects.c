// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects of libraries, whose functions have no body here: a name and type for making
// one, and its counterpart for ending it.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stddef.h>

struct text;
struct text *text_new(void);
struct text *text_new_of(const char *words, int length);
void text_delete(struct text *text);
void text_put(struct text *text, int character);
int text_is_word(const struct text *text);

struct frame;
struct frame *frame_alloc(void);
void frame_free(struct frame **frame);
int frame_decode(struct frame *frame, int from);

typedef struct Buffer Buffer;
Buffer *newBuffer(int size);
void freeBuffer(Buffer *buffer);
int fill(Buffer *buffer, int from);

int words(const char *s) {
  int found = 0;
  while (*s) {
    // CHECK: :[[@LINE+1]]:25: warning: 'word' is allocated by 'text_new' and released in each iteration of a loop
    struct text *word = text_new();
    for (; *s > ' '; s++)
      text_put(word, *s);
    found += text_is_word(word);
    text_delete(word);
    if (*s)
      s++;
  }
  return found;
}

int parts(const char *s, int n) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:25: warning: 'part' is allocated by 'text_new_of' and released in each iteration of a loop
    struct text *part = text_new_of(s + i, 3);
    found += text_is_word(part);
    text_delete(part);
  }
  return found;
}

// Taken by an inner loop when it is first needed, and ended by the outer one.
int names(const char **lines, int n) {
  int found = 0;
  for (int i = 0; i < n; i++) {
    const char *at = lines[i];
    struct text *name = NULL;
    while (*at > ' ') {
      if (!name)
        // CHECK: :[[@LINE+1]]:16: warning: 'name' is allocated by 'text_new' and released in each iteration of a loop
        name = text_new();
      text_put(name, *at++);
    }
    if (!name)
      continue;
    found += text_is_word(name);
    text_delete(name);
  }
  return found;
}

int decode(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:27: warning: 'frame' is allocated by 'frame_alloc' and released in each iteration of a loop
    struct frame *frame = frame_alloc();
    if (!frame)
      continue;
    sum += frame_decode(frame, i);
    frame_free(&frame);
  }
  return sum;
}

_Noreturn void fail(const char *what, int line);
#define CHECKED(call)                                                                                                                      \
  do {                                                                                                                                     \
    if (!(call))                                                                                                                           \
      fail(#call, __LINE__);                                                                                                               \
  } while (0)

int buffers(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    Buffer *buffer;
    // CHECK: :[[@LINE+1]]:22: warning: 'buffer' is allocated by 'newBuffer' and released in each iteration of a loop
    CHECKED(buffer = newBuffer(100));
    sum += fill(buffer, i);
    freeBuffer(buffer);
  }
  return sum;
}

void *app_realloc_array(void *block, size_t count, size_t size);
void app_free(void *block);
int sum_of(int *from, int n);

int rows(int n, int m) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:16: warning: 'row' is allocated by 'app_realloc_array' and released in each iteration of a loop
    int *row = app_realloc_array(NULL, m, sizeof *row);
    if (row)
      sum += sum_of(row, m);
    app_free(row);
  }
  return sum;
}

// Works until it is told to end: no retry.
int ask(struct frame *frame);
void until_told(void) {
  int more = 1;
  while (more) {
    // CHECK: :[[@LINE+1]]:27: warning: 'frame' is allocated by 'frame_alloc' and released in each iteration of a loop
    struct frame *frame = frame_alloc();
    if (frame && ask(frame))
      more = 0;
    frame_free(&frame);
  }
}

//===--- Not reported -----------------------------------------------------===//

// Kept in a list.
void list_add(struct text *text);
void keep(int n) {
  for (int i = 0; i < n; i++)
    list_add(text_new());
}

// The counterpart ends another kind of object, or there is none, or the names
// are of a pool.
struct node;
struct node *node_new(void);
void node_free(struct text *other);
struct leaf;
struct leaf *leaf_new(void);
void leaf_print(struct leaf *leaf);
struct pooled;
struct pooled *pool_item_new(void);
void pool_item_free(struct pooled *item);
void others(int n, struct text *text) {
  for (int i = 0; i < n; i++) {
    struct node *node = node_new();
    node_free((struct text *)node);
    struct leaf *leaf = leaf_new();
    leaf_print(leaf);
    struct pooled *item = pool_item_new();
    pool_item_free(item);
  }
}

// Tries again until it succeeds.
int connect_by(struct frame *frame);
void retry(void) {
  int failed;
  do {
    failed = 0;
    struct frame *frame = frame_alloc();
    if (!connect_by(frame))
      failed = 1;
    frame_free(&frame);
  } while (failed);
}
