// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper is wanted while threads end. Then libc frees what they had, with the lock held
// that pthread_create needs, and after the allocator's own end of the thread: no place to
// begin a thread. In each of many processes, as each begins a helper only once.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t 300

#include "check.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS = 5, EACH = 20, STACK = 1 << 18 };
static int done;

/* What it frees is in its cache until it ends: that is when much becomes free at once. */
static void *caches(void *unused) {
  void *block[KINDS][EACH];
  for (int k = 0; k != KINDS; ++k)
    for (int i = 0; i != EACH; ++i) {
      size_t size = 16000u + 4000u * (unsigned)k;
      block[k][i] = memset(malloc(size), 1, size);
    }
  for (int k = 0; k != KINDS; ++k)
    for (int i = 0; i != EACH; ++i)
      free(block[k][i]);
  return unused;
}

static void *lets_end(void *unused) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, caches, NULL) == 0);
  CHECK(pthread_join(id, NULL) == 0);
  __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
  return unused;
}

static void *nothing(void *unused) { return unused; }

/* Of threads whose stacks are ours nothing is kept for the next. */
static void child(void) {
  pthread_attr_t own;
  void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED);
  pthread_attr_init(&own);
  CHECK(pthread_attr_setstack(&own, stack, STACK) == 0);
  pthread_t id, other;
  CHECK(pthread_create(&other, NULL, lets_end, NULL) == 0);
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    CHECK(pthread_create(&id, &own, nothing, NULL) == 0);
    CHECK(pthread_join(id, NULL) == 0);
  }
  CHECK(pthread_join(other, NULL) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  for (int i = atoi(argv[1]); i > 0; --i) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      alarm(60); /* One that hangs does not stay. */
      child();
      _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  }
  return 0;
}
