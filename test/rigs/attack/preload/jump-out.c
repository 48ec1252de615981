// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler jumps out of code that it may have interrupted in malloc, as old programs do; then a fork.

#include "attack.h"
#include <setjmp.h>
#include <sys/time.h>
static sigjmp_buf j;
static volatile int n;
static void h(int s) {
  (void)s;
  siglongjmp(j, 1);
}
int main(void) {
  alarm(25);
  signal(SIGVTALRM, h);
  while (n < 200) {
    if (!sigsetjmp(j, 1)) {
      struct itimerval v = {{0, 0}, {0, 2000}};
      setitimer(ITIMER_VIRTUAL, &v, 0);
      for (;;) {
        volatile int x = 0;
        for (int i = 0; i < 20000; i++)
          x += i;
      }
    }
    n++;
    pid_t c = fork();
    if (!c)
      _exit(0);
    int s;
    waitpid(c, &s, 0);
    free(malloc(1000));
  }
  puts("ok");
}
