// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked child that prepares a filter of system calls does not wait for
// threads that only its parent has: neither for their optional calls nor for
// the end of the allocator's helper. A fork may call no handlers. A process
// does wait for its own threads (the twin).
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/common/sandbox.c -DCOUNTS -ldl -o %t.counts
// RUN: %t.counts
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/Inputs -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t

#include "check.h"
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum fork { FORK, FORK_WITHOUT_HANDLERS, FORK_BY_CALL, FORKS };

static pid_t fork_by(enum fork kind) {
  return kind == FORK ? fork()
         : kind == FORK_WITHOUT_HANDLERS
             ? _Fork()
             : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Returns the signal that ended the child, or 0. */
static int signal_of(pid_t child) {
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

#ifdef COUNTS
#include "common/sandbox.h"

static uint32_t at_call, may_end;

static void *calls(void *unused) {
  CHECK(vf_begin_optional());
  __atomic_store_n(&at_call, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&may_end, __ATOMIC_SEQ_CST))
    sched_yield();
  vf_end_optional();
  return unused;
}

static pthread_t call(void) {
  pthread_t thread;
  __atomic_store_n(&at_call, 0, __ATOMIC_SEQ_CST);
  CHECK(pthread_create(&thread, NULL, calls, NULL) == 0);
  while (!__atomic_load_n(&at_call, __ATOMIC_SEQ_CST))
    sched_yield();
  return thread;
}

/* Ends the process when it sleeps, and then prepares a filter. Not by libc's
 * prctl, which is the one that is tested. */
static void prepare_without_sleep(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_nanosleep, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  CHECK(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0,
                0) == 0);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(!vf_begin_optional());
}

int main(void) {
  CHECK(pthread_atfork(NULL, NULL, vf_sandbox_forked) == 0); /* as the libraries do */
  pthread_t thread = call();
  for (enum fork kind = FORK; kind != FORKS; ++kind) {
    pid_t child = fork_by(kind);
    if (child == 0) {
      prepare_without_sleep();
      _exit(0);
    }
    CHECK(signal_of(child) == 0);
  }
  /* The twin: also in a child, which has a thread of its own. */
  pid_t child = fork();
  if (child == 0) {
    call();
    prepare_without_sleep();
    _exit(0);
  }
  CHECK(signal_of(child) == SIGSYS);
  may_end = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
#else
#include "churn.h"

static uint32_t ends;

static void *churn(void *unused) {
  while (!__atomic_load_n(&ends, __ATOMIC_RELAXED))
    churn_once();
  return unused;
}

static int tasks(void) {
  int n = 0;
  DIR *folder = opendir("/proc/self/task");
  CHECK(folder);
  for (struct dirent *entry; (entry = readdir(folder));)
    n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
  for (enum fork kind = FORK; kind != FORKS; ++kind) {
    while (tasks() < 3) /* the helper */
      sched_yield();
    pid_t child = fork_by(kind);
    if (child == 0) {
      alarm(20); /* It would wait for ever. */
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      CHECK(unshare(0) == 0);
      _exit(0);
    }
    CHECK(signal_of(child) == 0);
  }
  ends = 1;
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
#endif
