// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timers whose threads allocate, and a fork beside them.

#include "attack.h"
#include <semaphore.h>

static sem_t done;

static void notify(union sigval unused) {
  (void)unused;
  for (size_t i = 1; i < 50; i++)
    free(malloc(i * 200));
  sem_post(&done);
}

int main(void) {
  timer_t timers[4];
  sem_init(&done, 0, 0);
  begin_beside(2);
  for (int i = 0; i < 4; i++) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
    struct itimerspec each = {{0, 2000000}, {0, 1000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]) != 0 || timer_settime(timers[i], 0, &each, NULL) != 0)
      puts("no timer");
  }
  for (int i = 0; i < 60; i++)
    sem_wait(&done);
  pid_t child = fork();
  if (child == 0) {
    for (size_t i = 1; i < 100; i++)
      free(malloc(i * 1000));
    _exit(3);
  }
  int status;
  waitpid(child, &status, 0);
  for (int i = 0; i < 4; i++)
    timer_delete(timers[i]);
  end_beside();
  printf("%d\n", WEXITSTATUS(status));
}
