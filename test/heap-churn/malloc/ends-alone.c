// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process ends when its own last thread does, and a program of one thread stays one:
// a thread of ours that lived on would keep the process for ever, with all signals blocked;
// the kernel would refuse unshare, and what counts threads before it forks would warn.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t

#include "check.h"
#include "vfriendly/malloc.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 4 << 20, ROUNDS = 50, WITHIN_S = 30 };

static void churn(void) {
  for (int i = 0; i != ROUNDS; ++i) {
    char *volatile block = malloc(LARGE);
    memset(block, 1, LARGE);
    free(block);
  }
}

static unsigned threads(void) {
  struct stat tasks;
  CHECK(stat("/proc/self/task", &tasks) == 0);
  return (unsigned)tasks.st_nlink - 2;
}

static struct vf_malloc_stats stats(void) {
  struct vf_malloc_stats s;
  vf_malloc_stats(&s, sizeof s);
  return s;
}

/* Runs in a child, which has to end with 0. One that stays takes no other signal. */
static void in_child(void (*run)(void)) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    run();
    exit(0);
  }
  int status;
  double end = seconds() + WITHIN_S;
  pid_t ended;
  while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && seconds() < end)
    sleep_ms(1);
  if (ended == 0)
    kill(pid, SIGKILL);
  CHECK(ended == pid && status == 0);
}

static void one_thread_stays_one(void) {
  churn();
  CHECK(threads() == 1);
  CHECK(__libc_single_threaded);
  /* The kernel refuses that where there are more; other rights are not ours. */
  CHECK(unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD) == 0);
}

static void *churns(void *unused) {
  churn();
  sleep_ms(50);
  churn();
  return unused;
}

static void main_ends_first(void) {
  pthread_t id;
  churn();
  CHECK(pthread_create(&id, NULL, churns, NULL) == 0);
  CHECK(pthread_detach(id) == 0);
  pthread_exit(NULL);
}

static void *forks(void *unused) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    churn();
    return unused; /* The child's only thread. */
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  return unused;
}

static void childs_thread_returns(void) {
  pthread_t id;
  churn();
  CHECK(pthread_create(&id, NULL, forks, NULL) == 0);
  CHECK(pthread_join(id, NULL) == 0);
}

static volatile int stop;
static void *waits(void *unused) {
  while (!stop)
    sleep_ms(1);
  return unused;
}

/* With threads there is a helper; without, there is none soon after. */
static void helper_ends_with_the_others(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, waits, NULL) == 0);
  double end = seconds() + WITHIN_S;
  do
    churn();
  while (threads() < 3 && seconds() < end);
  CHECK(threads() == 3);
  stop = 1;
  CHECK(pthread_join(id, NULL) == 0);
  while (threads() != 1 && seconds() < end)
    sleep_ms(1);
  CHECK(threads() == 1);
  churn();
  CHECK(threads() == 1);
}

/* And while they wait, it ends too, but nothing that is free stays. */
static void helper_ends_when_idle(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, waits, NULL) == 0);
  double end = seconds() + WITHIN_S;
  do
    churn();
  while (threads() < 3 && seconds() < end);
  CHECK(threads() == 3);
  while (threads() != 2 && seconds() < end)
    sleep_ms(1);
  CHECK(threads() == 2 && stats().resident_free < LARGE / 2);
  stop = 1;
  CHECK(pthread_join(id, NULL) == 0);
}

static void *volatile blocks[2000];
static void small_blocks_go_back_at_the_last_free(void) {
  enum { SMALL = 100000 };
  for (int i = 0; i != 2000; ++i)
    blocks[i] = memset(malloc(SMALL), 1, SMALL);
  for (int i = 0; i != 2000; ++i)
    free(blocks[i]);
  CHECK(threads() == 1);
  CHECK(stats().resident_free < 6 << 20);
}

/* The last free is of a block that is all there is. */
static void a_large_block_goes_back(void) {
  for (int i = 0; i != 3; ++i) {
    char *volatile block = malloc(50 << 20);
    memset(block, 1, 50 << 20);
    free(block);
    CHECK(stats().resident_free < 6 << 20);
    sleep_ms(2000); /* A return may cost a 32nd of the time. */
  }
}

int main(void) {
  in_child(one_thread_stays_one);
  in_child(main_ends_first);
  in_child(childs_thread_returns);
  in_child(helper_ends_with_the_others);
  in_child(helper_ends_when_idle);
  in_child(small_blocks_go_back_at_the_last_free);
  in_child(a_large_block_goes_back);
  return 0;
}
