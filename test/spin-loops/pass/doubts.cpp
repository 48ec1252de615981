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
  // expected-remark@+1 {{left as it is: it calls 'backOff', whose effects are unknown}}
  while (!flag)
    b.backOff();
}

void wait_yielding() {
  // expected-remark@+1 {{left as it is: it calls 'YieldThread', whose effects are unknown}}
  while (!flag)
    util::ExponentialBackOff::YieldThread();
}

// Why not: the class is named so, not what is done.
void not_resetting() {
  util::ExponentialBackOff b;
  while (!flag)
    b.reset();
}

// What the body does shows after inlining only: said at first, then mended.
extern int spins;
static inline void my_relax(int n) {
  if (n > 1 << 30)
    spins = n;
}
void wait_relaxing() {
  // expected-remark@+2 {{left as it is: it calls 'my_relax', whose effects are unknown}}
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!flag)
    my_relax(3);
}

// What is done in the first iteration only is outside of the wait.
void log_waiting();
void wait_announced() {
  bool said = false;
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!flag) {
    if (!said) {
      log_waiting();
      said = true;
    }
    __builtin_ia32_pause();
  }
}

// Said once a module by each run.
// expected-remark@* 0-2 {{link with libvfrt}}

// Each iteration enters a section and leaves it.
struct Section {
  explicit Section(int Thread);
  ~Section();
};
bool is_ready(int thread);
void wait_in_sections(int thread) {
  // expected-remark@+1 {{it calls 'is_ready', whose effects are unknown}}
  while (!is_ready(thread)) {
    Section in(thread);
    __builtin_ia32_pause();
  }
}
// Why not: nothing takes back what the object's beginning has done.
struct Entry {
  explicit Entry(int Thread);
  int thread;
};
void enter_entries(int thread) {
  while (!is_ready(thread)) {
    Entry made(thread);
    __builtin_ia32_pause();
  }
}
// Why not: without a hint, the section may be all that the loop is about.
void pass_sections(int thread) {
  while (!is_ready(thread))
    Section in(thread);
}
