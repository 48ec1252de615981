// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fix of a bounded spin in C++: std::atomic, members, and where no fix is possible.
//
// RUN: grep -v CHECK %s > %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.cpp -- -std=c++20 > %t.out 2>&1
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: FileCheck %s --input-file=%t.out --check-prefix=NOTE
// RUN: clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I %vf_include %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %t.cpp -- -std=c++20 -I %vf_include 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN-NOT: vf_spin_

#include <atomic>

std::atomic<int> ready;
std::atomic<bool> *shown;

// CHECK-LABEL: int free_function(
int free_function() {
  int i;
  // CHECK: i += vf_spin_budget(&ready, 0, &vf_state, sizeof(ready), 999999 - i);
  for (i = 0; i < 1'000'000; ++i)
    if (ready.load(std::memory_order_acquire) != 0)
      break;
  // CHECK: i += vf_spin_budget(&ready, 0, &vf_state2, sizeof(ready), 999999 - i);
  for (i = 0; i < 1'000'000; ++i)
    if (ready)
      break;
  return i;
}

class Lock {
public:
  // CHECK-LABEL: bool spin(
  // CHECK: VF_SPIN_BUDGET(vf_state);
  // CHECK: n -= vf_spin_budget(&Held, 1, &vf_state, sizeof(Held){{.*}}, n);
  bool spin(unsigned n) {
    while (Held.load() && n-- > 0)
      ;
    return n != 0;
  }
  // CHECK: Held = false;
  void unlock() { Held = false; }

private:
  std::atomic<bool> Held;
};

// A constant expression has no static variable, and a lambda may be one.
// NOTE: :3: note: no fix: its function is constexpr, or inline in C, and may have no static variable
constexpr int in_constexpr(std::atomic<int> &word) {
  int i = 0;
  for (i = 0; i < 1'000'000; ++i)
    if (word.load())
      break;
  return i;
}
// NOTE: note: no fix: its function is constexpr, or inline in C, and may have no static variable
bool (*in_lambda)(int) = [](int most) {
  for (int i = 0; i < most; i++)
    if (ready)
      return true;
  return false;
};

// Each instance has another bound.
// CHECK-LABEL: bool in_template(
// CHECK-NOT: vf_spin_budget
template <int Most>
bool in_template() {
  for (int i = 0; i < Most; ++i)
    if (ready)
      return true;
  return false;
}
bool instance() { return in_template<1'000'000>(); }
