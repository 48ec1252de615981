// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VF_NUMA_PIN binds each created thread before it runs: of POSIX, C11 and C++,
// also in a child; not the main thread, and none whose attributes bind it. Bad
// values bind none.
//
//
// RUN: %numa_clang %s -o %t
// RUN: %t off
// RUN: %vf_numa %t off
// RUN: env VF_NUMA_PIN=off %vf_numa %t off
// RUN: env VF_NUMA_PIN=core VF_STATS=1 %vf_numa %t core 2>&1 | FileCheck %s
// CHECK: "pinned": 24, "pin_kept": 1, "pin_refused": 0
// RUN: env VF_NUMA_PIN=node %vf_numa %t node
// RUN: env VF_NUMA_PIN=all %vf_numa %t all
// RUN: %t list > %t.list
// RUN: %python %S/Inputs/with_list.py %t.list VF_NUMA_PIN %vf_lib/libvfnuma.so %t list
//
//
// RUN: env VF_NUMA_PIN= %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
//
// RUN: env VF_NUMA_PIN=cores %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: env VF_NUMA_PIN=0- %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: env VF_NUMA_PIN=0,,0 %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: env VF_NUMA_PIN=1-0 %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: env VF_NUMA_PIN=0-8191 %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: env VF_NUMA_PIN=99999999999999999999 %vf_numa %t off 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: vfriendly: VF_NUMA_PIN='{{.*}}' is not off, core, node, all or a list of CPUs that this process may use, such as 0,2-5; using the default, off
// BAD-NOT: vfriendly:

#include "cpus.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>

enum { THREADS = 8 };
static const char *how;
static cpu_set_t all;
static int created;

/* The mask that the next thread is to have. */
static cpu_set_t expected(void) {
  int turn = created++, count = CPU_COUNT(&all);
  if (strcmp(how, "core") == 0)
    return only(nth(turn % count));
  if (strcmp(how, "list") == 0) /* the last CPU twice, then the first */
    return only(nth(turn % 3 == 2 ? 0 : count - 1));
  return all;
}

static void *check(void *mask) {
  cpu_set_t own = here();
  CHECK(CPU_EQUAL(&own, (cpu_set_t *)mask));
  CHECK(errno == 0);
  return mask;
}

static int check_c11(void *mask) { return check(mask) == mask; }

static void pthreads(void) {
  for (int i = 0; i < THREADS; ++i) {
    cpu_set_t mask = expected();
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, check, &mask) == 0);
    CHECK(pthread_join(thread, &result) == 0 && result == &mask);
  }
}

static void c11_threads(void) {
  for (int i = 0; i < THREADS; ++i) {
    cpu_set_t mask = expected();
    thrd_t thread;
    int result;
    CHECK(thrd_create(&thread, check_c11, &mask) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success && result == 1);
  }
}

static void bound_by_attributes(void) {
  int count = CPU_COUNT(&all);
  cpu_set_t mask = only(nth(count - 1));
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setaffinity_np(&attributes, sizeof mask, &mask) == 0);
  CHECK(pthread_create(&thread, &attributes, check, &mask) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* What fails without the library fails with it. */
static void cannot_start(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, (size_t)1 << 60) == 0);
  CHECK(pthread_create(&thread, &attributes, check, NULL) == EAGAIN);
  pthread_attr_destroy(&attributes);
  ++created; /* It had its turn. */
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  how = argv[1];
  all = here();
  if (strcmp(how, "node") == 0 &&
      access("/sys/devices/system/node/node1", F_OK) == 0)
    return 0; /* With one node, its CPUs are all. */
  if (strcmp(how, "list") == 0 && !getenv("VF_NUMA_PIN")) {
    printf("%d,%d-%d,%d\n", nth(CPU_COUNT(&all) - 1), nth(CPU_COUNT(&all) - 1),
           nth(CPU_COUNT(&all) - 1), nth(0));
    return 0;
  }
  pthreads();
  c11_threads();
  bound_by_attributes();
  cannot_start();
  pid_t child = fork();
  if (child == 0) {
    pthreads();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  cpu_set_t now = here();
  CHECK(CPU_EQUAL(&now, &all));
  pthreads();
}
