// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes that the kernel restricts, each observed by its parent. A program of
// one thread keeps one thread and may create a user namespace. Where the kernel
// refuses threads (RLIMIT_NPROC, seccomp) or address space (RLIMIT_AS), free
// memory is returned nevertheless, and the library tries to start its helper
// once and not after each peak.
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: %vf_malloc %t

#include "check.h"
#include "vfriendly/malloc.h"
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 50, SIZE = 1000000, PEAKS = 5, SPACE = 400 << 20 };

static int attempts;
/* Counts all calls, also those of the library, and passes them on to libc. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *id,
                                                          const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *argument) {
  int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
          RTLD_NEXT, "pthread_create");
  __atomic_fetch_add(&attempts, 1, __ATOMIC_RELAXED);
  return next(id, attributes, run, argument);
}

static size_t resident_free(void) {
  struct vf_malloc_stats s;
  vf_malloc_stats(&s, sizeof s);
  return s.resident_free;
}

static void peak(void) {
  char *b[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i)
    CHECK((b[i] = malloc(SIZE)) && memset(b[i], i, SIZE));
  for (int i = 0; i != BLOCKS; ++i) {
    CHECK(b[i][0] == i && b[i][SIZE - 1] == i);
    free(b[i]);
  }
}

/* The library examines its free memory in a free, after some time. */
static void peaks(void) {
  for (int i = 0; i != PEAKS; ++i) {
    peak();
    while (resident_free() > BLOCKS * SIZE / 4) {
      sleep_ms(1);
      free(memset(malloc(SIZE), 1, SIZE));
    }
  }
}

/* The library tries again after ten seconds; this takes as long only on a busy machine. */
static void peaks_without_helper(void) {
  double began = seconds();
  attempts = 0;
  peaks();
  CHECK(attempts >= 1 && attempts <= 1 + (int)((seconds() - began) / 10));
}

static void *rests(void *unused) {
  for (;;)
    pause();
  return unused;
}

/* In a process of two threads the library starts its helper. */
static void be_two(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, rests, NULL) == 0);
}

static void alone(void) {
  peaks();
  CHECK(attempts == 0);
  /* EINVAL if there are other threads; some systems grant it to no process. */
  CHECK(unshare(CLONE_NEWUSER) == 0 || errno != EINVAL);
}

static void without_processes(void) {
  struct rlimit one = {1, 1};
  be_two();
  /* Root may exceed the limit. The system call changes this thread only, and libc's
   * setresuid all threads. */
  if (geteuid() == 0)
    CHECK(syscall(SYS_setresuid, 65534, 65534, 65534) == 0);
  CHECK(setrlimit(RLIMIT_NPROC, &one) == 0);
  pthread_t id;
  CHECK(pthread_create(&id, NULL, rests, NULL) == EAGAIN);
  peaks_without_helper();
}

static void without_clone(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  be_two();
  /* Not by libc's prctl, after which the library gives nothing back (sandbox.c): it knows nothing of a
   * filter that is older than the program. */
  CHECK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
  peaks_without_helper();
}

static void with_little_space(void) {
  struct rlimit little = {SPACE, SPACE};
  CHECK(setrlimit(RLIMIT_AS, &little) == 0);
  peaks();
  be_two();
  peaks();
  /* The freed memory can be used again: this is half of the address space. */
  void *volatile half = malloc(SPACE / 2);
  CHECK(half);
}

static unsigned threads_of(pid_t pid) {
  char path[64];
  struct stat tasks;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  return stat(path, &tasks) == 0 ? (unsigned)tasks.st_nlink - 2 : 0;
}

/* Runs in a child, which must never have more than `most` threads. */
static void in_child(void (*run)(void), unsigned most) {
  pid_t child = fork(), ended;
  CHECK(child >= 0);
  if (child == 0) {
    alarm(100);
    run();
    _exit(0);
  }
  int status;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
    CHECK(threads_of(child) <= most);
    sleep_ms(1);
  }
  CHECK(ended == child && status == 0);
}

int main(void) {
  in_child(alone, 1);
  in_child(without_processes, 2);
  in_child(without_clone, 2);
  in_child(with_little_space, 3);
  return 0;
}
