// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process whose threads have been joined may call what the kernel refuses a process with
// threads, and one that still has a thread may not. The helper starts again afterwards.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/Inputs -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t

#include "check.h"
#include "churn.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 10, THREADS = 3, TRIES = 10 };

static void *churn(void *unused) {
  for (int round = 0; round != 30; ++round)
    churn_once();
  return unused;
}

static void run_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
}

static int count_threads(void) {
  int n = -2; /* . and .. */
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks);
  while (readdir(tasks))
    ++n;
  closedir(tasks);
  return n;
}

/* Without privileges: succeeds in a process with one thread, and does nothing. */
static int enter(void) { return unshare(CLONE_THREAD); }

static void *sleeps(void *unused) {
  CHECK(enter() == -1 && errno == EINVAL);
  return unused;
}

int main(void) {
  for (int i = 0; i != PROCESSES; ++i) {
    pid_t child = fork();
    if (child == 0) {
      for (int time = 0; time != 2; ++time) {
        run_threads();
        /* pthread_join may return a moment before the kernel has forgotten the thread. */
        int tries = 0;
        while (enter() != 0 && ++tries != TRIES)
          usleep(200);
        CHECK(tries != TRIES);
        CHECK(count_threads() == 1);
      }
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  pthread_t other;
  CHECK(pthread_create(&other, NULL, sleeps, NULL) == 0);
  CHECK(pthread_join(other, NULL) == 0);
  /* Errors are libc's. */
  CHECK(unshare(0x1) == -1 && errno == EINVAL);
  CHECK(setns(-1, 0) == -1 && errno == EBADF);
  return 0;
}
