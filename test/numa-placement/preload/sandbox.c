// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a program has prepared a filter of system calls, the library makes none of its own, also
// where the program binds a thread to CPUs; before, it binds threads (the twin).
//
// REQUIRES: native
// RUN: %numa_clang %s -o %t
// RUN: env VF_NUMA=interleave VF_NUMA_PIN=core VF_STATS=1 %vf_numa %t filter 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: env VF_NUMA=interleave VF_NUMA_PIN=core VF_STATS=1 %vf_numa %t twin 2>&1 | FileCheck %s
// NONE-NOT: {{.}}
// CHECK: "pinned": 1,

#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls that end the process: those of the library, but for the program's own. */
static void filter(void) {
  static const int calls[] = {SYS_mbind,      SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages,
                              SYS_openat,     SYS_getcpu,        SYS_tgkill,        SYS_sched_getaffinity,
                              SYS_prlimit64};
  enum { N = sizeof calls / sizeof *calls };
  struct sock_filter code[N + 3];
  code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i != N; ++i)
    code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], (unsigned char)(N - i), 0);
  code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  struct sock_fprog program = {N + 3, code};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *works(void *unused) {
  char *large = malloc(8 << 20);
  CHECK(large);
  memset(large, 1, 8 << 20);
  free(large);
  return unused;
}

int main(int argc, char **argv) {
  (void)argv;
  cpu_set_t all;
  pthread_t thread;
  CHECK(argc > 1);
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  if (argv[1][0] == 'f')
    filter();
  CHECK(pthread_create(&thread, NULL, works, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(sched_setaffinity(getpid(), sizeof all, &all) == 0);
  if (argv[1][0] == 'f')
    _exit(0); /* The library's report reads files. */
  return 0;
}
