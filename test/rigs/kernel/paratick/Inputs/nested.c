// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nested SECONDS: runs a guest of its own that only halts, without an exit to
// this kernel's KVM: this kernel takes its CPU for busy, and counts on its
// ticks, while its host has halted it. Prints one line of JSON, see ticks.h.

#include "ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static const double settle_s = 0.2;

static int must(int result, const char *what) {
  if (result < 0)
    err(1, "%s", what);
  return result;
}

static void *run(void *argument) {
  int cpu = *(int *)argument;
  while (!ioctl(cpu, KVM_RUN, 0) || errno == EINTR)
    ;
  err(1, "KVM_RUN");
}

int main(int argc, char **argv) {
  if (argc != 2 || atof(argv[1]) <= 0)
    errx(2, "usage: nested SECONDS");
  int kvm = must(open("/dev/kvm", O_RDWR), "/dev/kvm");
  int vm = must(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
  struct kvm_enable_cap cap = {.cap = KVM_CAP_X86_DISABLE_EXITS,
                               .args = {KVM_X86_DISABLE_EXITS_HLT}};
  must(ioctl(vm, KVM_ENABLE_CAP, &cap), "KVM_CAP_X86_DISABLE_EXITS");

  // 1: hlt; jmp 1b, at 0.
  enum { PAGE = 4096 };
  uint8_t *code =
      mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED)
    err(1, "mmap");
  memcpy(code, "\xf4\xeb\xfd", 3);
  struct kvm_userspace_memory_region region = {
      .memory_size = PAGE, .userspace_addr = (uintptr_t)code};
  must(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region),
       "KVM_SET_USER_MEMORY_REGION");

  int cpu = must(ioctl(vm, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
  struct kvm_sregs sregs;
  must(ioctl(cpu, KVM_GET_SREGS, &sregs), "KVM_GET_SREGS");
  sregs.cs.base = sregs.cs.selector = 0;
  must(ioctl(cpu, KVM_SET_SREGS, &sregs), "KVM_SET_SREGS");
  struct kvm_regs regs = {.rflags = 2};
  must(ioctl(cpu, KVM_SET_REGS, &regs), "KVM_SET_REGS");

  start(run, &cpu, 0);
  sleep_for(settle_s);
  print_ticks("nested", atof(argv[1]));
  return 0; // which ends the guest
}
