// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The VMM's side of runtime/kernel/numa-queue: a guest chooses how the host
// places its memory, and with first touch releases pages. Names and numbers are
// those of the series, which no header of this machine has.

#pragma once

#include <errno.h>
#include <linux/kvm.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  HC_NUMA_POLICY = 13,
  CAP_NUMA_RELEASE = 239,
  FEATURE_NUMA_QUEUE = 21,
  POLICY_NONE = 0,
  POLICY_FIRST_TOUCH = 1,
  POLICY_ROUND_4K = 2,
};

static struct {
  int vm;
  bool is_on;
  void *ram;
  uint64_t size;
} numa_queue;

static int numa_enable(uint32_t cap, uint64_t value) {
  struct kvm_enable_cap enable = {.cap = cap, .args = {value}};
  return ioctl(numa_queue.vm, KVM_ENABLE_CAP, &enable);
}

// Returns false if this kernel has not the series.
static bool numa_queue_offer(int vm, void *ram, uint64_t size) {
  numa_queue.vm = vm;
  numa_queue.ram = ram;
  numa_queue.size = size;
  numa_queue.is_on =
      ioctl(vm, KVM_CHECK_EXTENSION, CAP_NUMA_RELEASE) == 1 &&
      numa_enable(KVM_CAP_EXIT_HYPERCALL, UINT64_C(1) << HC_NUMA_POLICY) == 0;
  return numa_queue.is_on;
}

static long numa_place(int mode) {
  unsigned long nodes = 3;
  return syscall(SYS_mbind, numa_queue.ram, numa_queue.size, mode,
                 mode == MPOL_DEFAULT ? 0 : &nodes,
                 mode == MPOL_DEFAULT ? 0 : 8 * sizeof nodes, 0);
}

// Answers the guest. A policy that is not offered changes nothing.
static void numa_queue_policy(struct kvm_run *run) {
  uint64_t policy = run->hypercall.args[0];
  bool good = policy <= POLICY_ROUND_4K &&
              numa_place(policy == POLICY_ROUND_4K ? MPOL_INTERLEAVE
                                                   : MPOL_DEFAULT) == 0 &&
              numa_enable(CAP_NUMA_RELEASE, policy == POLICY_FIRST_TOUCH) == 0;
  run->hypercall.ret = good ? 0 : (uint64_t)-EOPNOTSUPP;
}
