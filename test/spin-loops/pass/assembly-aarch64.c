// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As assembly.c, for AArch64.
//
// RUN: %verify_c --target=aarch64-linux-gnu -ffreestanding %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 --target=aarch64-linux-gnu -ffreestanding 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

volatile int word;

void set(void) { word = 1; }

// Known to the check alone before.
void poll_by_ldar(void) {
  int seen;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on atomic 'word'
  // expected-remark@+1 {{spin loop (flag poll) on volatile 'word'}}
  do {
    __asm__ volatile("ldar %w0, %1" : "=r"(seen) : "m"(word) : "memory");
  } while (!seen);
}

// Why not: for all that its name begins like a load's, it adds each time.
void not_ldadd(void) {
  int seen;
  do {
    __asm__ volatile("ldadd %w1, %w0, %2"
                     : "=r"(seen)
                     : "r"(1), "m"(word)
                     : "memory");
  } while (!seen);
}
