// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that are freed soon, that live on, and that another thread frees. No
// loop is in sight of those that are freed soon.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
  struct node *next;
  char text[40];
};

static struct node *all;
static char *volatile handed;

void *app_malloc(size_t size) {
  void *block = malloc(size);
  if (!block)
    abort();
  return block;
}

__attribute__((noinline)) void reply(int n) {
  char *text = app_malloc(n % 50 + 1); // SOON
  memset(text, n, n % 50 + 1);
  __asm__ volatile("" : : "r"(text) : "memory");
  free(text);
}

__attribute__((noinline)) void keep(void) {
  struct node *node = calloc(1, sizeof *node); // ON
  if (!node)
    abort();
  node->next = all;
  all = node;
}

static void *consume(void *unused) {
  for (int i = 0; i < 20000; i++) {
    char *block;
    while (!(block = __atomic_exchange_n(&handed, NULL, __ATOMIC_ACQ_REL)))
      usleep(10);
    free(block);
  }
  return unused;
}

__attribute__((noinline)) void hand_over(void) {
  char *block = realloc(NULL, 100); // PASSED
  while (__atomic_load_n(&handed, __ATOMIC_ACQUIRE))
    usleep(10);
  __atomic_store_n(&handed, block, __ATOMIC_RELEASE);
}

int main(void) {
  void (*volatile answer)(int) = reply;
  pthread_t other;
  if (fork() == 0) {
    for (int i = 0; i < 30000; i++)
      answer(i);
    _exit(0);
  }
  wait(NULL);
  if (pthread_create(&other, NULL, consume, NULL) != 0)
    abort();
  for (int i = 0; i < 100000; i++) {
    answer(i);
    if (i % 5 == 0) {
      keep();
      hand_over();
    }
  }
  return pthread_join(other, NULL);
}
