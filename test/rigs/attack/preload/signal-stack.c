// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler on a small alternate stack leaves a stack overflow by siglongjmp, and the program allocates.

#include "attack.h"
#include <setjmp.h>
static sigjmp_buf j;
static volatile int n;
static void h(int s) {
  (void)s;
  siglongjmp(j, 1);
}
static __attribute__((noinline)) int rec(int i) {
  volatile char b[4096];
  b[0] = (char)i;
  return rec(i + 1) + b[0];
}
int main(void) {
  static char st[16384];
  stack_t a = {.ss_sp = st, .ss_size = sizeof st};
  sigaltstack(&a, 0);
  struct sigaction sa = {.sa_handler = h, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &sa, 0);
  while (n < 20) {
    if (!sigsetjmp(j, 1))
      rec(0);
    n++;
    free(malloc(100000));
  }
  printf("%d\n", n);
}
