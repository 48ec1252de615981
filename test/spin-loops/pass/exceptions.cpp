// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits next to exceptions: in a try block, in a cleanup, in a noexcept function.
//
// RUN: %verify_cxx -g %s -o /dev/null

#include <atomic>

std::atomic<int> flag;
void set() { flag = 1; }
void may_throw();

struct Waits {
  ~Waits() {
    // expected-remark-re@+1 1+ {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
    while (flag.load() == 0) {}
  }
};

void in_try() {
  try {
    may_throw();
    // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
    while (flag.load() == 0) {}
    may_throw();
  } catch (...) {
    // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
    while (flag.load() == 1) {}
  }
}

void in_cleanup() {
  Waits w;
  may_throw();
}

void no_throw() noexcept {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (flag.load() == 0) {}
}

// Why not: each iteration may throw, and does what the function does.
int not_throwing() {
  int caught = 0;
  while (flag.load() == 0) {
    try {
      may_throw();
    } catch (...) {
      ++caught;
    }
  }
  return caught;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
