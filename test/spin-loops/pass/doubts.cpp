// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of methods and of what stands in namespaces.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

std::atomic<int> flag;
void set() { flag = 1; }

namespace util {
struct ExponentialBackOff {
  void backOff();
  void reset();
  static void YieldThread();
};
} // namespace util

void wait_backing_off() {
  util::ExponentialBackOff b;
  // expected-remark@+1 {{left as it is: it calls 'backOff', whose effects do not show}}
  while (!flag)
    b.backOff();
}

void wait_yielding() {
  // expected-remark@+1 {{left as it is: it calls 'YieldThread', whose effects do not show}}
  while (!flag)
    util::ExponentialBackOff::YieldThread();
}

// Why not: the class is named so, not what is done.
void not_resetting() {
  util::ExponentialBackOff b;
  while (!flag)
    b.reset();
}
