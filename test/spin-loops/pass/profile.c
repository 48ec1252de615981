// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probes for sampled profiles are no work of a loop; a counter of clang's own
// profile is, because its number tells how often the loop polled.
//
// RUN: %vf_clang -O2 -fpseudo-probe-for-profiling -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -fprofile-generate -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -fprofile-instr-generate -fcoverage-mapping -S -emit-llvm %s -o - | FileCheck %s --check-prefix=COUNTED

#include <stdatomic.h>

atomic_int word;
void raise_word(void) { atomic_store(&word, 1); }

// CHECK-LABEL: @wait(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
// CHECK-LABEL: @count(
// CHECK-NOT: call {{.*}}@vf_spin_wait_or_fallback(
// COUNTED-NOT: call {{.*}}@vf_spin_wait_or_fallback(
void wait(void) {
  while (!atomic_load(&word)) {
  }
}

// Its own count is work with probes, too.
long polls;
void count(void) {
  while (!atomic_load(&word))
    ++polls;
}
