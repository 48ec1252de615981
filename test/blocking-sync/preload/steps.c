// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many instructions libvfpthread executes for locks that are free, counted
// by single steps, which do not depend on what else runs. The bounds are what
// commit a28895e7 took, before its functions had canaries and marks of
// control-flow enforcement.
//
// REQUIRES: preload, host-x86_64
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %vf_preload %t

#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER,
                       recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static const struct timespec never = {1l << 32, 0};

static void use_normal(void) {
  pthread_mutex_lock(&normal);
  pthread_mutex_unlock(&normal);
}
static void use_trylock(void) {
  pthread_mutex_trylock(&normal);
  pthread_mutex_unlock(&normal);
}
static void use_timedlock(void) {
  pthread_mutex_timedlock(&normal, &never);
  pthread_mutex_unlock(&normal);
}
static void use_recursive(void) {
  pthread_mutex_lock(&recursive);
  pthread_mutex_unlock(&recursive);
}
static void use_checking(void) {
  pthread_mutex_lock(&checking);
  pthread_mutex_unlock(&checking);
}
static void use_spin(void) {
  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
}
static void use_barrier(void) { pthread_barrier_wait(&barrier); }

static const struct {
  const char *name;
  void (*use)(void);
  long most;
} uses[] = {{"normal", use_normal, 43},       {"trylock", use_trylock, 65},
            {"timedlock", use_timedlock, 83}, {"recursive", use_recursive, 117},
            {"checking", use_checking, 117},  {"spin", use_spin, 35},
            {"barrier", use_barrier, 108}};

// Returns the steps of a child that uses it n times, from one signal to the
// next.
static long steps(void (*use)(void), int n) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
      _exit(1);
    raise(SIGSTOP);
    for (int i = 0; i < n; ++i)
      use();
    raise(SIGSTOP);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
    return -1;
  long taken = 0;
  do {
    ++taken;
    CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
          waitpid(child, &status, 0) == child);
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return taken;
}

int main(void) {
  int failed = 0;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, NULL, 1);
  for (size_t i = 0; i < sizeof uses / sizeof *uses; ++i) {
    uses[i].use();
    long few = steps(uses[i].use, 1), many = steps(uses[i].use, 11);
    if (few < 0 || many < 0) {
      puts("not counted: no single steps here");
      return 0;
    }
    long each = (many - few) / 10;
    printf("%s: %ld of %ld\n", uses[i].name, each, uses[i].most);
    failed |= each > uses[i].most;
  }
  return failed;
}
