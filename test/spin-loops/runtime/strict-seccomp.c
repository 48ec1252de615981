// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A waiter in seccomp's strict mode, where the kernel kills for all but read, write, exit
// and sigreturn, and the clock of the vDSO faults as well: rdtsc is forbidden. Nothing that is
// allowed tells a thread its mode, so the runtime cannot know; the pass sees the call that enters it,
// and its module's waits only pause.
//
// REQUIRES: native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -fpass-plugin=%vf_plugin -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -o %t.prctl %vf_link 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: %t.prctl
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -DBY_NUMBER -I %S/../../Inputs -I %vf_include %s -fpass-plugin=%vf_plugin -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -o %t.syscall 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: %t.syscall
// STRICT: seccomp's strict mode
//
// Other calls of these say nothing.
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -DOTHER -I %S/../../Inputs -I %vf_include %s -fpass-plugin=%vf_plugin -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c -o %t.o 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER-NOT: strict mode
// OTHER: failed polls now wait in the runtime
// OTHER-NOT: strict mode

#include "check.h"
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void enter(void) {
#ifdef OTHER
  prctl(PR_SET_NAME, "other");
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
#elif defined BY_NUMBER
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) == 0);
#else
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
#endif
}

int main(void) {
  atomic_int *word = mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(word != MAP_FAILED);
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    enter();
    while (!atomic_load(word))
      ;
    syscall(SYS_exit, 7);
  }
  sleep_ms(100);
  atomic_store(word, 1);
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  return 0;
}
