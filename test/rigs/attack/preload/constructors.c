// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that start and wait before main, those of a linked library before any other constructor.
// LIBRARY: linked

#include "attack.h"
#include "threads.h"
void library_ends(void);
__attribute__((constructor)) static void before_main(void) { start(3); }
int main(void) {
  library_ends();
  pid_t c = fork();
  if (!c) {
    free(malloc(100000));
    _exit(3);
  }
  int s;
  waitpid(c, &s, 0);
  end();
  printf("%d %d\n", WEXITSTATUS(s), turns >= 50);
}
