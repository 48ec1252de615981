// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that is to keep a CPU awake counts as awake from the moment that it
// is woken: Linux counts it as runnable from then on, and on a CPU that others
// use it may not run for seconds.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -pthread -I %S/../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_src/runtime/gleaner/retain.c %vf_src/runtime/gleaner/system.c -o %t
// RUN: %t

#include "gleaner/retain.h"
#include "check.h"
#include <time.h>

static void until_asleep(const struct gl_retain *retain) {
  while (gl_retain_awake(retain) > 0)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(void) {
  struct gl_cpus all, one = {0};
  CHECK(gl_get_affinity(0, &all) == 0);
  unsigned cpu = 0;
  while (!gl_has_cpu(&all, cpu))
    ++cpu;
  gl_add_cpu(&one, cpu);
  struct gl_retain *retain = gl_retain_start(&one);
  CHECK(retain && gl_retain_awake(retain) == 0);
  for (int i = 0; i < 20; ++i) {
    gl_retain_set(retain, &one, 3600);
    CHECK(gl_retain_awake(retain) == 1);
    gl_retain_set(retain, NULL, 0);
    until_asleep(retain);
  }
  // After a timeout in which nothing else ran it sleeps, although it is on.
  gl_retain_set(retain, &one, 1e-6);
  until_asleep(retain);
  return 0;
}
