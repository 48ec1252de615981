// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process made by clone(CLONE_VM) allocates and locks with the memory and thread pointer of its parent.

#include "attack.h"
static volatile int done;
static int body(void *x) {
  (void)x;
  for (int i = 0; i < 20000; i++) {
    void *p = malloc(10 + i % 3000);
    free(p);
  }
  void *b = malloc(1 << 20);
  free(b);
  done = 1;
  _exit(0);
}
int main(void) {
  static char st[1 << 18] __attribute__((aligned(64)));
  for (int i = 0; i < 10; i++) {
    done = 0;
    pid_t c = clone(body, st + sizeof st, CLONE_VM | CLONE_VFORK | SIGCHLD, 0);
    int s;
    waitpid(c, &s, 0);
    if (s || !done) {
      printf("s%x\n", s);
      return 1;
    }
    free(malloc(500000));
  }
  puts("ok");
}
