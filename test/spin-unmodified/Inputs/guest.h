// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cases of guest.c share: threads that spin until they are stopped.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(x)                                                                \
  do {                                                                         \
    if (!(x)) {                                                                \
      printf("%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno);         \
      fflush(stdout);                                                          \
      _exit(1);                                                                \
    }                                                                          \
  } while (0)

static volatile int stop;
static char *program;

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pass(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&t, &t) != 0)
    ;
}

// The number of threads that the library watches closely.
static int armed(void) {
  int n = 0;
  for (int file = 200; file != 1000; ++file)
    n += fcntl(file, F_GETSIG) == SIGURG || fcntl(file, F_GETSIG) == SIGWINCH;
  return n;
}

// Lets threads spin for some time; on a busy machine, until the library has
// interrupted them, unless it should leave them alone.
static void work(int ms) {
  pass(ms);
  if (!getenv("GUEST_AWAITS"))
    return;
  for (int i = 0; i != 500 && armed() == 0; ++i)
    pass(20);
  pass(200);
}

static void *spin(void *data) {
  (void)data;
  while (!stop)
    ;
  return NULL;
}

static void together(int threads, size_t stack, int ms) {
  pthread_t thread[512];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack)
    MUST(pthread_attr_setstacksize(&attributes, stack) == 0);
  stop = 0;
  for (int i = 0; i != threads; ++i)
    MUST(pthread_create(&thread[i], &attributes, spin, NULL) == 0);
  work(ms);
  stop = 1;
  for (int i = 0; i != threads; ++i)
    pthread_join(thread[i], NULL);
}
