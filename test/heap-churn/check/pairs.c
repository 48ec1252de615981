// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that a loop allocates and releases in each iteration, and what only looks
// like that.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define unlikely(x) __builtin_expect(!!(x), 0)
struct item {
  struct item *next;
  char *text;
};
void use(void *memory);
int ask(void);
extern void *kept;
extern int pipes[2];

//===--- Pairs ------------------------------------------------------------===//

int in_one_round(int n) {
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'malloc' and released in each iteration of a loop: each return to the kernel interrupts every CPU; allocate before the loop (guidelines/heap-churn.md) [vfriendly-heap-churn-loop-allocation]
    char *p = malloc(64);
    if (unlikely(p == NULL))
      return -1;
    use(p);
    // CHECK: :[[@LINE+1]]:5: note: released here
    free(p);
  }
  return 0;
}

void on_all_ways(void) {
  char *p;
  while (ask()) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'strdup'
    if (!(p = strdup("text")))
      break;
    if (ask()) {
      free(p);
      continue;
    }
    use(p);
    free(p);
  }
}

void in_the_next_round(void) {
  char *last = NULL;
  do {
    free(last);
    // CHECK: :[[@LINE+1]]:12: warning: 'last' is allocated by 'calloc'
    last = calloc(4, 16);
    use(last);
  } while (ask());
  free(last);
}

// Each branch that takes it gives it back.
void in_some_rounds(void) {
  char *p;
  while (ask()) {
    if (ask()) {
      // CHECK: :[[@LINE+1]]:11: warning: 'p' is allocated by 'malloc'
      p = malloc(10);
      use(p);
      free(p);
      p = NULL;
    }
  }
  if (p)
    free(p);
}

void grown_within(int n) {
  while (n--) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'malloc'
    char *p = malloc(8);
    p = realloc(p, 80);
    use(p);
    free(p);
  }
}

// A function of the file that only returns fresh memory, and one that surely
// releases what it is given.
static struct item *item_new(const char *text) {
  struct item *item = malloc(sizeof *item);
  if (!item)
    return NULL;
  item->text = strdup(text);
  return item;
}
static void item_delete(struct item *item) {
  if (!item)
    return;
  free(item->text);
  free(item);
}
void wrapped(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:25: warning: 'item' is allocated by 'item_new'
    struct item *item = item_new("x");
    use(item);
    item_delete(item);
  }
}

// Known by attributes.
void *pool_take(size_t n) __attribute__((malloc, alloc_size(1)));
void pool_give(void *p) __attribute__((ownership_takes(malloc, 1)));
void attributes(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'pool_take'
    void *p = pool_take(100);
    use(p);
    pool_give(p);
  }
}

// In a macro all the same.
#define TEMPORARY(n) malloc(n)
void in_a_macro(void) {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'malloc'
    void *p = TEMPORARY(100);
    use(p);
    free(p);
  }
}

//===--- No pairs ---------------------------------------------------------===//

// The memory outlives the iteration: on one way, as a list, in a variable of
// others.
void kept_on_one_way(void **table) {
  for (int i = 0; i < 100; i++) {
    void *p = malloc(10);
    if (ask()) {
      table[i] = p;
      continue;
    }
    free(p);
  }
}
struct item *list(void) {
  struct item *head = NULL;
  while (ask()) {
    struct item *item = malloc(sizeof *item);
    item->next = head;
    head = item;
  }
  return head;
}
void *first_that_fits(void) {
  for (;;) {
    void *p = malloc(10);
    if (ask())
      return p;
    free(p);
  }
}
// Another variable's memory is what is released.
void swapped(void *spare) {
  while (ask()) {
    void *p = malloc(10);
    kept = p;
    p = spare;
    free(p);
    spare = NULL;
  }
}
// Others may change the variable.
void take_over(void **p);
void address_is_known(void) {
  while (ask()) {
    void *p = malloc(10);
    take_over(&p);
    free(p);
  }
}
// Never a second time.
void no_second_round(void) {
  do {
    void *p = malloc(10);
    use(p);
    free(p);
  } while (0);
  while (ask()) {
    void *p = malloc(10);
    use(p);
    free(p);
    break;
  }
}
// A few iterations only.
void both_ends(void) {
  for (int i = 0; i < 2 && ask(); i++) {
    char *p = malloc(10);
    pipes[i] = read(pipes[i], p, 10);
    free(p);
  }
}
// Until there is room enough: it seldom comes round.
void doubles(void) {
  size_t n = 64;
  for (;;) {
    char *p = malloc(n);
    if (getcwd(p, n)) {
      use(p);
      free(p);
      break;
    }
    free(p);
    n *= 2;
  }
}
void until_it_is_free(void) {
  int taken;
  do {
    char *name = strdup("name");
    taken = 0;
    if (ask())
      taken = 1;
    free(name);
  } while (taken);
}
// Runs once, by its name, and over the arguments of main.
void parse_options(void) {
  while (ask()) {
    void *p = malloc(10);
    use(p);
    free(p);
  }
}
void over_arguments(int argc, char **argv) {
  while (argc-- > 1) {
    char *p = strdup(argv[argc]);
    use(p);
    free(p);
  }
}
void over_words(const char **args) {
  for (int i = 0; *args[i]; i++) {
    char *p = strdup(args[i]);
    use(p);
    free(p);
  }
}
// Its end is that of the program.
void die_of(const char *const *reasons) {
  for (int i = 0; reasons[i]; i++) {
    char *p = strdup(reasons[i]);
    use(p);
    free(p);
  }
  exit(1);
}
// Another one is taken only when it has to be.
void while_it_is_the_same(void) {
  char *name = NULL;
  while (ask()) {
    if (!name || ask()) {
      free(name);
      name = strdup("x");
    }
    use(name);
  }
  free(name);
}
void when_it_is_missing(void) {
  char *p = NULL;
  while (ask()) {
    switch (ask()) {
    case 0:
      free(p);
      p = NULL;
      break;
    case 1:
      if (!p)
        p = malloc(10);
      use(p);
    }
  }
  free(p);
}
// The loop ends with it: it is given back only if something else is missing.
void until_all_is_there(size_t n) {
  char *p = NULL;
  while (n > 16) {
    if ((p = malloc(n))) {
      if (ask())
        break;
      free(p);
      p = NULL;
    }
    n = n / 4 * 3;
  }
  if (p != NULL)
    use(p);
  free(p);
}
// Returns fresh memory at times only, releases at times only.
static struct item *spare_items;
static struct item *item_get(void) {
  struct item *item = spare_items;
  if (item)
    spare_items = item->next;
  else
    item = malloc(sizeof *item);
  return item;
}
static void item_put(struct item *item) {
  if (ask()) {
    item->next = spare_items;
    spare_items = item;
    return;
  }
  free(item);
}
void from_a_free_list(void) {
  while (ask()) {
    struct item *item = item_get();
    use(item);
    item_put(item);
  }
  while (ask()) {
    struct item *item = malloc(sizeof *item);
    use(item);
    item_put(item);
  }
}
// The author says so.
__attribute__((annotate("vfriendly:keep"))) void keep(void) {
  while (ask()) {
    void *p = malloc(10);
    use(p);
    free(p);
  }
}
void no_lint(void) {
  while (ask()) {
    void *p = malloc(10); // NOLINT(vfriendly-heap-churn-loop-allocation)
    use(p);
    free(p);
  }
}
