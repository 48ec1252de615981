// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks that yield under Valgrind ask it each iteration whether it is there:
// registers are turned round and back, which does nothing elsewhere.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

// REQUIRES: host-x86_64

#include <sched.h>
#include <stdatomic.h>

static int on_valgrind(void) {
  volatile unsigned long question[6] = {0x1001};
  unsigned long answer = 0;
  __asm__ volatile("rolq $3,  %%rdi ; rolq $13, %%rdi\n\t"
                   "rolq $61, %%rdi ; rolq $51, %%rdi\n\t"
                   "xchgq %%rbx,%%rbx"
                   : "=d"(answer)
                   : "a"(&question[0]), "0"(answer)
                   : "cc", "memory");
  return answer != 0;
}

atomic_int flag;
void set(void) { atomic_store(&flag, 1); }

// CHECK-LABEL: @wait(
// CHECK: @vf_spin_wait
void wait(void) {
  // expected-remark-re@+2 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  // expected-remark@+1 {{link with libvfrt}}
  while (!atomic_load(&flag)) {
    if (on_valgrind())
      sched_yield();
    else
      __asm__ volatile("rep; nop");
  }
}

// Why not: what is turned round is in memory, for others to see.
// CHECK-LABEL: @turn(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
unsigned long turned;
void turn(void) {
  while (!atomic_load(&flag))
    __asm__ volatile("rolq $3, (%0)" ::"r"(&turned) : "cc", "memory");
}
