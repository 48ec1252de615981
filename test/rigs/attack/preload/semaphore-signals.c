// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handler posts a semaphore while it interrupts waits for it, and code that allocates.

#include "attack.h"
#include <semaphore.h>
#include <sys/time.h>
static sem_t s;
static volatile int n;
static void h(int x) {
  (void)x;
  n++;
  sem_post(&s);
}
int main(void) {
  sem_init(&s, 0, 0);
  struct sigaction a = {.sa_handler = h};
  sigaction(SIGALRM, &a, 0);
  struct itimerval v = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &v, 0);
  int got = 0, eintr = 0;
  for (int i = 0; i < 500;) {
    int r;
    if (i & 1) {
      struct timespec t;
      clock_gettime(CLOCK_REALTIME, &t);
      t.tv_sec += 2;
      r = sem_timedwait(&s, &t);
    } else
      r = sem_wait(&s);
    if (r == 0) {
      got++;
      i++;
    } else if (errno == EINTR)
      eintr++;
    else {
      printf("e%d\n", errno);
      return 1;
    }
    free(malloc(1000 + i * 100));
  }
  printf("%d %s\n", got, eintr >= 0 ? "ok" : "");
}
