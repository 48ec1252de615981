// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block that a lambda keeps in a captured variable. LLVM 19 does not prove
// that the store of the pointer leaves the lambda's capture as it is.
//
// REQUIRES: target-llvm-22
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' \
// RUN:   | FileCheck %s --implicit-check-not=warning:

void use(int *p);

// The function around it may look at the variable, but not at the block, which
// is released in the same iteration.
void lent(int n) {
  int *p = nullptr;
  auto work = [&p](int n) {
    while (n--) {
      // CHECK: :[[@LINE+1]]:11: warning: memory is allocated by 'new' and released
      p = new int(n);
      delete p;
    }
  };
  work(n);
  use(p);
}
