// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared library of the program: its lines are the program's own.
#include <sys/mman.h>
#include <time.h>

void touch_shared(volatile char *pages, int count) {
  for (int i = 0; i < count; i++)
    pages[i * 4096L] = 1; // HERE shared fault
}

static double cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

double spin_shared(_Atomic int *flag) {
  double begin = cpu_time(), now;
  do {
    for (int i = 0; i < 1000000; i++)
      if (*flag == 77) // HERE shared spin
        break;
    now = cpu_time();
  } while (now < begin + 0.2);
  return now - begin;
}

// A call whose result is used is no tail call, which would not be on the stack.
int unmap_shared(char *pages, long size) {
  return munmap(pages, size) == 0; // HERE shared shootdown
}
