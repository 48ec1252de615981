// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the library adds to the start of a process, in page faults: little to a process that
// allocates nothing, and less than stock jemalloc to one that does. And fork handlers that a
// library registers before the first allocation may allocate.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %t %vf_lib/libvfmalloc.so
// RUN: %vf_malloc %t fork
// RUN: %vf_malloc %t forks

#include "check.h"
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int handled, leaves_forks;

/* jemalloc must not be locked yet. */
static void allocate(void) {
  if (leaves_forks)
    return;
  for (size_t size = 8; size != 1 << 20; size *= 2)
    free(malloc(size));
  ++handled;
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(allocate, allocate, allocate);
}

static int forks(void) {
  alarm(60); /* A lock that is taken twice hangs. */
  allocate();
  for (int i = 0; i != 3; ++i) {
    int before = handled, status;
    pid_t child = fork();
    CHECK(child >= 0);
    allocate();
    CHECK(handled == before + 3);
    if (child == 0)
      _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  return 0;
}

/* Fifty blocks of different sizes. */
static int allocates(void) {
  for (size_t i = 0; i != 50; ++i)
    memset(malloc(16 + i * 20), 1, 16 + i * 20);
  return 0;
}

/* A fork of a process with one thread makes its parent copy few pages. */
static int forks_often(void) {
  leaves_forks = 1;
  free(malloc(100));
  struct rusage before, after;
  CHECK(getrusage(RUSAGE_SELF, &before) == 0);
  for (int i = 0; i != 20; ++i) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
      _exit(0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  CHECK(getrusage(RUSAGE_SELF, &after) == 0);
  /* 3 each, and 16 if the allocator takes its locks. */
  CHECK(after.ru_minflt - before.ru_minflt <= 20 * 8);
  return 0;
}

/* Returns the minimum, as other processes may take pages of files away. */
static long faults(char *program, char *what) {
  char *arguments[] = {program, what, NULL};
  long least = 1000000;
  for (int i = 0; i != 5; ++i) {
    struct rusage usage;
    pid_t child;
    int status;
    CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
    CHECK(wait4(child, &status, 0, &usage) == child && status == 0);
    if (usage.ru_minflt < least)
      least = usage.ru_minflt;
  }
  return least;
}

int main(int n, char **arguments) {
  char *what = n > 1 ? arguments[1] : "";
  if (strcmp(what, "fork") == 0)
    return forks();
  if (strcmp(what, "forks") == 0)
    return forks_often();
  if (strcmp(what, "allocates") == 0)
    return allocates();
  if (strcmp(what, "idle") == 0)
    return 0;
  long idle = faults(arguments[0], "idle"), allocating = faults(arguments[0], "allocates");
  setenv("LD_PRELOAD", what, 1);
  /* The library's own pages: 17 of them, and with jemalloc started from its constructor 87. */
  CHECK(faults(arguments[0], "idle") - idle <= 35);
  /* Among them one page for each of 24 size classes: 95, and 172 with hooks set by mallctl. */
  CHECK(faults(arguments[0], "allocates") - allocating <= 120);
  return 0;
}
