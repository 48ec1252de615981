// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter of system calls that a program installs need not know the library: after it, the
// allocator only maps memory and waits for its locks. A filter that was there before the program
// began need not allow more than the loader and libc make. With strict seccomp, memory that is
// there can still be used. And without a filter, memory does go back (the twin).
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t threads
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t single
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t twin
// RUN: %vf_malloc %t strict
// RUN: %vf_malloc %t before

#include "check.h"
#include "vfriendly/malloc.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 60, SIZE = 150000, CALLS = 64 };

static void churn(void) {
  char *blocks[BLOCKS];
  for (int round = 0; round != 20; ++round) {
    for (int i = 0; i != BLOCKS; ++i) {
      CHECK(blocks[i] = malloc(SIZE));
      memset(blocks[i], 1, SIZE);
    }
    for (int i = 0; i != BLOCKS; ++i)
      free(blocks[i]);
  }
}

/* Every kind of work that may go to the kernel. */
static void use_all(void) {
  churn();
  char *large = malloc(8 << 20);
  memset(large, 1, 8 << 20);
  large = realloc(large, 40 << 20);
  CHECK(large && large[(8 << 20) - 1] == 1);
  free(large);
  large = calloc(3, 1 << 20);
  for (int i = 0; i < 3 << 20; i += 1000)
    CHECK(large[i] == 0);
  free(large);
  malloc_trim(0);
  churn();
}

/* Kills the process for all calls but these, or for these. */
static void filter(const int *calls, int n, bool are_allowed, unsigned flags) {
  struct sock_filter code[CALLS];
  int k = 0;
  code[k++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i != n; ++i)
    code[k++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (unsigned char)(n - i), 0);
  unsigned of_others = are_allowed ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
  unsigned of_these = are_allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
  code[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, of_others);
  code[k++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, of_these);
  struct sock_fprog program = {(unsigned short)k, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(flags ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0
              : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static const int least[] = {SYS_mmap, SYS_futex, SYS_exit_group};
enum { LEAST = sizeof least / sizeof *least };
static pthread_barrier_t filtered, done;

static void *works(void *unused) {
  churn();
  pthread_barrier_wait(&filtered);
  pthread_barrier_wait(&filtered);
  use_all();
  pthread_barrier_wait(&done);
  for (;;) /* No call that ends a thread is allowed. */
    pthread_barrier_wait(&done);
  return unused;
}

static void threads(void) {
  pthread_t thread;
  pthread_barrier_init(&filtered, NULL, THREADS + 1);
  pthread_barrier_init(&done, NULL, THREADS + 1);
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&thread, NULL, works, NULL) == 0);
  pthread_barrier_wait(&filtered);
  filter(least, LEAST, true, SECCOMP_FILTER_FLAG_TSYNC);
  pthread_barrier_wait(&filtered);
  use_all();
  pthread_barrier_wait(&done);
  _exit(0);
}

static void twin(void) {
  struct vf_malloc_stats stats;
  use_all();
  vf_malloc_stats(&stats, sizeof stats);
  CHECK(stats.returns != 0);
}

static void before(char *program) {
  static const int ours[] = {
      SYS_readlinkat, SYS_madvise,
#ifdef SYS_open
      SYS_open, SYS_readlink,
#endif
  };
  filter(ours, sizeof ours / sizeof *ours, false, 0);
  execl(program, program, "begun", (char *)NULL);
  CHECK(!"exec");
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  const char *what = argv[1];
  if (strcmp(what, "threads") == 0)
    threads();
  if (strcmp(what, "twin") == 0)
    twin();
  if (strcmp(what, "before") == 0)
    before(argv[0]);
  if (strcmp(what, "begun") == 0)
    free(malloc(100000));
  if (strcmp(what, "single") == 0) {
    churn();
    filter(least, LEAST, true, 0);
    use_all();
    _exit(0);
  }
  if (strcmp(what, "strict") == 0) {
    use_all();
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i != 1000; ++i)
      free(malloc(100));
    syscall(SYS_exit, 0);
  }
  return 0;
}
