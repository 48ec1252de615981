/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * CPU masks by raw system calls, which no library replaces. */

#ifndef VF_TEST_CPUS_H
#define VF_TEST_CPUS_H

#include "check.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline cpu_set_t only(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return mask;
}

static inline cpu_set_t here(void) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CHECK(syscall(SYS_sched_getaffinity, 0, sizeof mask, &mask) > 0);
  return mask;
}

static inline int is_only(int cpu) {
  cpu_set_t mask = here();
  return CPU_COUNT(&mask) == 1 && CPU_ISSET(cpu, &mask);
}

/* The n-th allowed CPU. */
static inline int nth(int n) {
  cpu_set_t mask = here();
  int cpu = 0;
  while (!CPU_ISSET(cpu, &mask) || n-- > 0)
    CHECK(++cpu < CPU_SETSIZE);
  return cpu;
}

/* Starts the program anew on one CPU only, as a cpuset would; which is not CPU
 * 0. Returns that CPU, or ends the program if there is none. */
static inline int confined(char **argv) {
  cpu_set_t mask = here();
  const char *cpu = getenv("CONFINED");
  if (cpu)
    return atoi(cpu);
  int last = nth(CPU_COUNT(&mask) - 1);
  if (last == 0) {
    puts("one CPU: nothing to confine");
    exit(0);
  }
  mask = only(last);
  CHECK(syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask) == 0);
  char text[16];
  snprintf(text, sizeof text, "%d", last);
  setenv("CONFINED", text, 1);
  execv(argv[0], argv);
  abort();
}

#endif
