// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of the program that allocate, resize and release: by their bodies, or by
// the names that programs give them.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation,vfriendly-heap-churn-growth' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ask(void);
void use(void *memory);
extern void *kept;

//===--- By name ----------------------------------------------------------===//

void *app_malloc(size_t size);
void *app_realloc(void *block, size_t size);
void app_free(void *block);
char *dbg_strdup(const char *text);
void dbg_free(void *block, const char *file, int line);
struct rule {
  struct rule *next;
  const char *text;
};

int named(struct rule *rule, const char *name) {
  for (; rule; rule = rule->next) {
    // CHECK: :[[@LINE+1]]:18: warning: 'full' is allocated by 'app_malloc' and released in each iteration of a loop
    char *full = app_malloc(strlen(rule->text) + strlen(name) + 1);
    strcpy(full, rule->text);
    strcat(full, name);
    use(full);
    app_free(full);
    if (ask())
      return 1;
  }
  return 0;
}
void named_with_place(struct rule *rule) {
  for (; rule; rule = rule->next) {
    // CHECK: :[[@LINE+1]]:18: warning: 'copy' is allocated by 'dbg_strdup' and released
    char *copy = dbg_strdup(rule->text);
    use(copy);
    dbg_free(copy, __FILE__, __LINE__);
  }
}
int *grown(int *length) {
  int *values = NULL;
  size_t n = 0;
  int value;
  while ((value = ask())) {
    n++;
    // CHECK: :[[@LINE+1]]:14: warning: 'app_realloc' in a loop grows a block by additions to 'n'
    values = app_realloc(values, n * sizeof *values);
    values[n - 1] = value;
  }
  *length = (int)n;
  return values;
}

// Names of what does not give memory back, and of what takes something else than a
// size or a block.
void *pool_malloc(size_t size);
void pool_free(void *block);
struct arena;
void *arena_alloc(struct arena *from, size_t size);
void tree_free(struct rule *tree);
struct rule *tree_malloc(const char *from);
void other_names(struct arena *arena) {
  while (ask()) {
    void *p = pool_malloc(100);
    use(p);
    pool_free(p);
    void *q = arena_alloc(arena, 100);
    use(q);
    struct rule *tree = tree_malloc("text");
    use(tree);
    tree_free(tree);
  }
}

//===--- By body: too long to be inlined ----------------------------------===//

#define LOG(what) fprintf(stderr, "%s %d %s %s\n", __FILE__, __LINE__, __func__, what)
#define LOGS(what) LOG(what), LOG(what), LOG(what), LOG(what), LOG(what), LOG(what), LOG(what), LOG(what), LOG(what), LOG(what)

static struct rule *rule_new(const char *text, int trace) {
  struct rule *made = malloc(sizeof *made);
  if (!made) {
    LOGS("no memory");
    return NULL;
  }
  if (trace)
    LOGS(text);
  made->next = NULL;
  made->text = text;
  return made;
}
static void rule_end(struct rule *rule, int trace) {
  if (!rule)
    return;
  if (trace)
    LOGS(rule->text);
  free(rule);
}
void by_body(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:25: warning: 'made' is allocated by 'rule_new' and released
    struct rule *made = rule_new("text", ask());
    use(made);
    rule_end(made, ask());
  }
}
// A wrapper of a wrapper.
static char *joined(const char *a, const char *b) {
  char *text = app_malloc(strlen(a) + strlen(b) + 1);
  if (ask())
    LOGS(a);
  strcpy(text, a);
  strcat(text, b);
  return text;
}
void by_body_of_body(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:18: warning: 'text' is allocated by 'joined' and released
    char *text = joined("a", "b");
    use(text);
    app_free(text);
  }
}

// A block that the function resizes before it returns it.
static char *read_all(void) {
  char *text = NULL;
  size_t length = 0;
  for (int c; (c = ask()); length++) {
    if (length % 64 == 0) {
      text = realloc(text, 2 * length + 64);
      if (!text)
        return NULL;
    }
    text[length] = (char)c;
  }
  if (ask())
    LOGS("end");
  return text;
}
void resized(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:18: warning: 'text' is allocated by 'read_all' and released
    char *text = read_all();
    use(text);
    free(text);
  }
}

// The block may be one that the function has kept.
static struct rule *spare;
static struct rule *rule_take(const char *text) {
  struct rule *made = spare;
  if (made) {
    LOGS("spare");
    spare = made->next;
  } else {
    made = malloc(sizeof *made);
  }
  LOGS(text);
  return made;
}
static void rule_give(struct rule *rule) {
  LOGS(rule->text);
  rule->next = spare;
  spare = rule;
}
void reused(void) {
  while (ask()) {
    struct rule *made = rule_take("text");
    use(made);
    rule_give(made);
  }
}
// The block is kept in a list as well.
static struct rule *all;
static struct rule *rule_add(const char *text) {
  struct rule *made = malloc(sizeof *made);
  LOGS(text);
  made->text = text;
  made->next = all;
  all = made;
  return made;
}
static void rule_release(struct rule *rule) {
  LOGS(rule->text);
  if (ask())
    free(rule); // Only the last reference ends the block.
}
void referenced(void) {
  while (ask()) {
    struct rule *made = rule_new("text", 0);
    use(made);
    rule_release(made);
  }
  while (ask()) {
    struct rule *made = rule_add("text");
    use(made);
    rule_end(made, 0);
  }
}
// Released on some ways only, by an early return.
static void rule_maybe(struct rule *rule, int trace) {
  if (trace > 2)
    return;
  LOGS(rule->text);
  free(rule);
}
void early(void) {
  while (ask()) {
    struct rule *made = rule_new("text", 0);
    use(made);
    rule_maybe(made, ask());
  }
}

//===--- Through pointers of the program ----------------------------------===//

extern void *(*hook_malloc)(size_t size);
extern void (*hook_free)(void *block);
extern void *(*hook_pool_malloc)(size_t size);
extern void (*hook_pool_free)(void *block);

void hooked(struct rule *rule) {
  for (; rule; rule = rule->next) {
    // CHECK: :[[@LINE+1]]:18: warning: 'copy' is allocated by 'hook_malloc' and released in each iteration of a loop
    char *copy = hook_malloc(strlen(rule->text) + 1);
    strcpy(copy, rule->text);
    use(copy);
    hook_free(copy);
  }
}
// A pool keeps it.
void hooked_to_pool(struct rule *rule) {
  for (; rule; rule = rule->next) {
    char *copy = hook_pool_malloc(strlen(rule->text) + 1);
    strcpy(copy, rule->text);
    use(copy);
    hook_pool_free(copy);
  }
}
