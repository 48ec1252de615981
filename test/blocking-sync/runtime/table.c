// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parking table has as many buckets as the CPUs need, and addresses find all of
// them; each process has a generation of its own.
//
// REQUIRES: native
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s -o %t -pthread
// RUN: %t

#include "platform/linux/kernel.h"
static uint32_t cpus_there;
#define vf_cpus() cpus_there
#include "blocking-sync/parking_table.c"

#include "check.h"
#include <sys/wait.h>

static unsigned buckets_in_use(unsigned objects) {
  static bool used[1u << VF_BUCKETS_MAX_LOG2];
  unsigned count = 0;
  memset(used, 0, sizeof used);
  for (uintptr_t i = 0; i < objects; ++i) {
    size_t at = (size_t)(vf_bucket_of((void *)(4096 + 64 * i)) - vf_parking_2.buckets);
    CHECK(at < sizeof used);
    count += !used[at];
    used[at] = true;
  }
  return count;
}

static void has_size(uint32_t with, unsigned buckets) {
  cpus_there = with;
  vf_parking_2.buckets_log2 = 0; /* As in a process that has just begun. */
  unsigned in_use = buckets_in_use(16 * buckets);
  CHECK(1u << vf_parking_2.buckets_log2 == buckets);
  CHECK(in_use <= buckets && in_use > buckets / 8 * 7);
}

static void fork_down(uint32_t parents, int depth) {
  CHECK(vf_generation() == vf_generation());
  CHECK(vf_generation() == parents + 1);
  if (depth == 0)
    return;
  pid_t child = fork();
  if (child == 0) {
    fork_down(parents + 1, depth - 1);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  has_size(0, 256); /* Unknown. */
  has_size(2, 256);
  has_size(17, 512);
  has_size(128, 2048);
  has_size(8192, 4096);
  vf_parking_prepare();
  fork_down(0, 3);
  return 0;
}
