// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers of forks (lock, unlock, unlock) whose locks threads hold while they allocate,
// whenever they were registered: before all constructors, by a library that the program is
// linked with, in a constructor, in main, by a thread that goes on registering, and by a
// library that is loaded later. And libc's own lock of files, which a thread that flushes all
// of them holds while it waits for one that allocates.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -pthread -DLIBRARY %s -o %t.linked.so
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared -pthread -DLIBRARY -Dlinked=loaded %s -o %t.loaded.so
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t %t.linked.so
// RUN: %vf_malloc %t handlers %t.loaded.so %if full %{ 300 %} %else %{ 50 %}
// RUN: %vf_malloc %t files unused %if full %{ 300 %} %else %{ 50 %}

#include <pthread.h>
#ifdef LIBRARY
pthread_mutex_t linked = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&linked); }
static void unlock(void) { pthread_mutex_unlock(&linked); }
__attribute__((constructor)) static void start(void) {
  pthread_atfork(lock, unlock, unlock);
}
#else
#include "check.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60, KINDS = 5, HANDLERS = 120 };

static int stop;
static int is_stopped(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

#define KIND(name)                                                             \
  static pthread_mutex_t name = PTHREAD_MUTEX_INITIALIZER;                     \
  static void lock_##name(void) { pthread_mutex_lock(&name); }                 \
  static void unlock_##name(void) { pthread_mutex_unlock(&name); }             \
  static void register_##name(void) {                                          \
    pthread_atfork(lock_##name, unlock_##name, unlock_##name);                 \
  }
KIND(earliest)
KIND(constructed)
KIND(latest)

__attribute__((section(".preinit_array"), used)) static void (*first)(void) =
    register_earliest;
__attribute__((constructor)) static void start(void) { register_constructed(); }
extern pthread_mutex_t linked;

static void *churns(void *lock) {
  unsigned state = 1;
  while (!is_stopped()) {
    pthread_mutex_lock(lock);
    for (int i = 0; i != 5; ++i) {
      state = state * 1103515245u + 12345u;
      free(malloc(100000 + (state >> 8) % 300000));
    }
    pthread_mutex_unlock(lock);
    sched_yield(); /* Else nobody else gets the lock for long. */
  }
  return NULL;
}

/* A handler that allocates. */
static void allocates(void) { free(malloc(200000)); }

/* libc then makes its table larger, by malloc, with a lock that fork takes. */
static void *registers(void *unused) {
  for (int i = 0; i != HANDLERS && !is_stopped(); ++i) {
    CHECK(pthread_atfork(allocates, allocates, allocates) == 0);
    usleep(100);
  }
  return unused;
}

static void fork_often(int forks) {
  for (int i = 0; i != forks; ++i) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(SECONDS);
      allocates();
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
}

static void handlers(const char *library, int forks) {
  pthread_mutex_t *locks[KINDS] = {&earliest, &linked, &constructed, &latest};
  pthread_t threads[KINDS + 1];
  int n = 0;
  register_latest();
  for (; n != KINDS - 1; ++n)
    CHECK(pthread_create(&threads[n], NULL, churns, locks[n]) == 0);
  fork_often(forks);
  void *loaded = dlopen(library, RTLD_NOW);
  CHECK(loaded);
  void *last = dlsym(loaded, "loaded");
  CHECK(last);
  CHECK(pthread_create(&threads[n++], NULL, churns, last) == 0);
  CHECK(pthread_create(&threads[n++], NULL, registers, NULL) == 0);
  fork_often(forks);
  stop = 1;
  while (n != 0)
    CHECK(pthread_join(threads[--n], NULL) == 0);
}

static FILE *shared_file;

/* Allocates a line of another length each time, with the file's lock. */
static void *reads(void *unused) {
  while (!is_stopped()) {
    char *line = NULL;
    size_t size = 0;
    if (getline(&line, &size, shared_file) < 0)
      rewind(shared_file);
    free(line);
  }
  return unused;
}

static void *flushes(void *unused) {
  while (!is_stopped())
    fflush(NULL);
  return unused;
}

static void files(int forks) {
  pthread_t threads[2];
  shared_file = tmpfile();
  CHECK(shared_file);
  for (int i = 0; i != 200; ++i)
    fprintf(shared_file, "%0*d\n", i * 500, i);
  rewind(shared_file);
  CHECK(pthread_create(&threads[0], NULL, reads, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, flushes, NULL) == 0);
  fork_often(forks);
  stop = 1;
  for (int i = 0; i != 2; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc > 3);
  alarm(SECONDS); /* A lock that is waited for in a circle hangs. */
  if (strcmp(argv[1], "files") == 0)
    files(atoi(argv[3]));
  else
    handlers(argv[2], atoi(argv[3]));
  return 0;
}
#endif
