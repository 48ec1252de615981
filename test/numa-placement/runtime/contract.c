// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the header promises of each function on any machine. With one node nothing is
// done; where pages lie with several is for guests.test.
//
// RUN: clang -std=gnu11 -O1 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t
// RUN: env VF_STATS=1 %t 2>&1 | FileCheck %s
// CHECK: {"vfrt": {{.*}}"numa": {"placed": {{[0-9]+}}, "touched": 0,{{.*}}"small": 3,
//
// RUN: env VF_NUMA_OPAQUE=maybe %t 2>&1 | FileCheck %s --check-prefix=OPAQUE
// OPAQUE: vfriendly: VF_NUMA_OPAQUE='maybe' is not off or touch; using the default, touch

#include "check.h"
#include "vfriendly/numa.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20, POLICIES = 4 };

/* Before main, as the pass calls it for static arrays. */
static char array[SIZE];
__attribute__((constructor(101))) static void early(void) {
  CHECK(vf_numa_place(array, SIZE, VF_NUMA_BLOCKS | VF_NUMA_EARLY) == 0);
}

static void places(void) {
  char *block = malloc(SIZE);
  for (int policy = 0; policy < POLICIES; ++policy) {
    CHECK(vf_numa_place(block, SIZE, policy) == 0);
    memset(block, policy, SIZE);
    CHECK(vf_numa_place(block + 1, SIZE - 1, policy) == 0);
    for (int i = 0; i < SIZE; ++i)
      CHECK(block[i] == policy);
  }
  free(block);
  CHECK(vf_numa_place(array, SIZE, -1) == EINVAL);
  CHECK(vf_numa_place(array, SIZE, POLICIES) == EINVAL);
  /* Without a whole page, or with few: nothing is looked at, not even whether
   * it is mapped. */
  CHECK(vf_numa_place(NULL, 0, VF_NUMA_R4K) == 0);
  CHECK(vf_numa_place((void *)(uintptr_t)-5, SIZE, VF_NUMA_R4K) == 0);
  CHECK(vf_numa_place(array, 65535, VF_NUMA_R4K) == 0);
}

static void *claims(void *memory) {
  for (int how = VF_NUMA_NEXT_TOUCH; how <= VF_NUMA_NOW; ++how)
    CHECK(vf_numa_claim(memory, SIZE, how) == 0);
  return NULL;
}

static void claiming(void) {
  char *block = malloc(SIZE);
  memset(block, 7, SIZE);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, claims, block) == 0);
  pthread_join(thread, NULL);
  for (int i = 0; i < SIZE; ++i)
    CHECK(block[i] == 7);
  CHECK(vf_numa_claim(block, SIZE, 2) == EINVAL);
  CHECK(vf_numa_claim(block, 5, VF_NUMA_NOW) == 0);
  free(block);
}

static void replicating(void) {
  static const char text[] = "the same on each node";
  vf_numa_copies *copies;
  CHECK(vf_numa_replicate(text, sizeof text, &copies) == 0 && copies);
  CHECK(memcmp(vf_numa_nearest(copies), text, sizeof text) == 0);
  struct vf_numa_machine machine;
  CHECK(vf_numa_info(&machine) == 0);
  CHECK((vf_numa_nearest(copies) == text) == (machine.nodes == 1));
  vf_numa_release(copies);
  vf_numa_release(NULL);
  CHECK(vf_numa_replicate(text, 0, &copies) == 0 && copies);
  CHECK(vf_numa_nearest(copies) == text);
  vf_numa_release(copies);
  /* More than there are addresses: with one node there is nothing to copy. */
  int error = vf_numa_replicate(text, SIZE_MAX / 2, &copies);
  CHECK(machine.nodes == 1 ? error == 0 : error == ENOMEM && !copies);
  vf_numa_release(copies);
}

static void information(void) {
  struct vf_numa_machine machine;
  CHECK(vf_numa_info(NULL) == EINVAL);
  CHECK(vf_numa_info(&machine) == 0);
  CHECK(machine.nodes >= 1);
  CHECK(machine.is_virtual >= -1 && machine.is_virtual <= 1);
  CHECK(!machine.opaque || (machine.nodes == 1 && machine.is_virtual == 1));
}

int main(void) {
  errno = 77;
  places();
  claiming();
  replicating();
  information();
  CHECK(errno == 77);
}
