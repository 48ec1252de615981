// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that is held through a long loop which does not use it.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-held' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void use(void *memory);
int ask(void);
struct list {
  struct list *next;
};

void through_a_loop(int fd) {
  char *name = malloc(100);
  snprintf(name, 100, "%d", fd);
  puts(name);
  char byte;
  while (read(fd, &byte, 1) > 0)
    putchar(byte);
  // CHECK: :[[@LINE+2]]:3: warning: 'name' is held during a loop that does not use it: each return to the kernel interrupts every CPU; release it before the loop (guidelines/heap-churn.md) [vfriendly-heap-churn-held]
  // CHECK: :[[@LINE-3]]:3: note: the loop
  free(name);
}
struct list *below_what_stays(int n) {
  int *order = malloc(n * sizeof *order), sum = 0;
  for (int i = 0; i < n; i++)
    order[i] = ask();
  for (int i = 0; i < n; i++)
    sum += order[i];
  struct list *all = NULL;
  for (int i = 0; i < sum; i++) {
    struct list *one = malloc(sizeof *one);
    one->next = all;
    all = one;
  }
  // CHECK: :[[@LINE+1]]:3: warning: 'order' is held
  free(order);
  return all;
}

long number(int fd) {
  char *text = malloc(100);
  snprintf(text, 100, "%d", fd);
  long value = strtol(text, NULL, 10);
  while (ask())
    usleep(10);
  // CHECK: :[[@LINE+1]]:3: warning: 'text' is held
  free(text);
  return value;
}

// Used in the loop, or behind it.
void used(int fd, int n) {
  char *line = malloc(100);
  while (read(fd, line, 100) > 0)
    usleep(10);
  free(line);
  char *name = malloc(100);
  name[0] = n;
  while (ask())
    usleep(10);
  putchar(name[0]);
  free(name);
}
// Others may use it.
void known(void) {
  char *a = malloc(100), *b = malloc(100);
  use(a);
  char *alias = b + 1;
  while (ask())
    usleep(alias[0]);
  free(a);
  free(b);
}
// Others know the block through what a function of the library has stored.
char *shared;
void kept_by_the_library(int n) {
  char *text = malloc(100), *end;
  snprintf(text, 100, "%d rest", n);
  strtol(text, &end, 10);
  while (ask())
    usleep(end[0]);
  free(text);
  char *line = malloc(100);
  snprintf(line, 100, "%d rest", n);
  strtok(line, " ");
  char *rest = strtok(NULL, " ");
  while (ask())
    usleep(rest[0]);
  free(line);
  char *swapped = malloc(100);
  swapped[0] = n;
  __sync_lock_test_and_set(&shared, swapped);
  while (ask())
    usleep(shared[0]);
  free(swapped);
}
// Not for long: a loop that computes, and one that cleans up.
int short_phase(char **names, int n) {
  int *order = malloc(n * sizeof *order), sum = 0;
  order[0] = 1;
  for (int i = 0; i < n; i++)
    sum += i;
  for (int i = 0; i < n; i++)
    free(names[i]);
  free(order);
  return sum;
}
