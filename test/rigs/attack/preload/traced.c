// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tracer that stops threads which allocate and lock at any instruction.

#include "attack.h"
#include <sys/ptrace.h>

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    begin_beside(4);
    ms(300);
    end_beside();
    _exit(4);
  }
  int status = 0, stops = 0;
  printf("%ld\n", ptrace(PTRACE_SEIZE, child, 0, 0));
  for (;;) {
    ms(3);
    ptrace(PTRACE_INTERRUPT, child, 0, 0);
    if (waitpid(child, &status, __WALL) != child || WIFEXITED(status))
      break;
    ++stops;
    ms(1);
    ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  }
  printf("%d %d\n", WEXITSTATUS(status), stops > 2);
  child = fork();
  if (child == 0) {
    begin_beside(4);
    ms(200);
    end_beside();
    _exit(5);
  }
  for (int i = 0; i < 20; i++) {
    kill(child, SIGSTOP);
    ms(2);
    kill(child, SIGCONT);
    ms(5);
  }
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
}
