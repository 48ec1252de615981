// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A control group that is nearly full: what is free goes back, though it is far from being
// worth it otherwise, and another process can have it. Where there is room it stays. In a
// process of several threads, as only there somebody looks while nothing is freed.
//
// REQUIRES: heap-churn-malloc, memory-groups
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: env VF_MALLOC_TUNE_PERCENT=10000 VF_STATS=1 %python %S/Inputs/in_group.py 230 %vf_lib/libvfmalloc.so %t gone 2>&1 | FileCheck %s
// CHECK: "pressure": {{[1-9]}}
// RUN: env VF_MALLOC_TUNE_PERCENT=10000 %python %S/Inputs/in_group.py 2000 %vf_lib/libvfmalloc.so %t stays

#include "check.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Together 3 MB above 15/16 of the group's limit. */
enum { MB = 1 << 20, USED = 100 * MB, FREE = 118 * MB };

static size_t resident_bytes(void) {
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%*s %zu", &pages) == 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void takes(size_t size) {
  void *p = malloc(size);
  CHECK(p);
  memset(p, 1, size);
}

static void *waits(void *unused) {
  pause();
  return unused;
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  pthread_t id;
  CHECK(pthread_create(&id, NULL, waits, NULL) == 0);
  bool stays = strcmp(argv[1], "stays") == 0;
  takes(USED);
  void *p = malloc(FREE);
  memset(p, 1, FREE);
  free(p);
  if (stays) {
    sleep_ms(3000);
    CHECK(resident_bytes() > USED + FREE);
    return 0;
  }
  double begin = seconds();
  while (resident_bytes() > USED + FREE / 2)
    sleep_ms(10);
  fprintf(stderr, "after %.1f s\n", seconds() - begin);
  if (fork() == 0) {
    takes(FREE);
    _exit(0);
  }
  int status;
  CHECK(wait(&status) > 0 && status == 0);
  return 0;
}
