// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that only compiled code shows: classes and functions around the heap.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// A unit without code says so, once, and only if it has something to examine.
// RUN: not %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 -DBROKEN 2>&1 | grep 'warning:' | FileCheck %s --check-prefix=BROKEN
// BROKEN: lowered.cpp:1:1: warning: loops that allocate were not examined, as no code can be generated for this file [vfriendly-heap-churn-loop-allocation]
// BROKEN-NOT: warning:
// RUN: not %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 -DBROKEN -DNOTHING 2>&1 | FileCheck %s --check-prefix=NOTHING --allow-empty
// NOTHING-NOT: warning:

#ifdef BROKEN
int broken = "text";
#endif
#ifndef NOTHING
#include <cstdlib>

int ask();
void use(const void *);

// Owns a block.
template <class T> class Array {
public:
  explicit Array(int n) : Values(new T[n]) {}
  ~Array() { delete[] Values; }
  T &operator[](int i) { return Values[i]; }

private:
  T *Values;
};

double owned(int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:19: warning: 'row' allocates and releases memory in each iteration of a loop: {{.*}}; reuse one object for all iterations
    Array<double> row(n);
    row[0] = ask();
    sum += row[0];
  }
  return sum;
}
// A temporary within an expression.
double temporary(int n) {
  double sum = 0;
  while (n--)
    // CHECK: :[[@LINE+1]]:12: warning: memory is allocated here and released in each iteration of a loop: {{.*}}; allocate before the loop
    sum += Array<double>(ask())[0];
  return sum;
}

static char *message(int code) {
  char *text = static_cast<char *>(std::malloc(100));
  text[0] = static_cast<char>(code);
  return text;
}
static void dispose(char *text) {
  if (text)
    std::free(text);
}
void through_functions() {
  while (int code = ask()) {
    // CHECK: :[[@LINE+1]]:18: warning: 'text' is allocated by 'message' and released
    char *text = message(code);
    use(text);
    dispose(text);
  }
}
// Two names of the block, on both ways.
void chosen() {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:39: warning: 'fresh' is allocated by 'malloc'
    auto *fresh = static_cast<char *>(std::malloc(100));
    char *other = fresh;
    use(fresh);
    if (ask())
      std::free(fresh);
    else
      std::free(other);
  }
}

// The loop of a callee is reported where it is written, though it is inlined.
static void inner() {
  while (ask()) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'malloc'
    void *p = std::malloc(10);
    use(p);
    std::free(p);
  }
}
void outer() {
  while (ask())
    inner();
}

//===--- Not in each iteration --------------------------------------------===//

// The block is in use after the iteration: by another name, or by nobody knows
// whom.
Array<int> *last;
void kept() {
  while (ask())
    last = new Array<int>(10);
  delete last;
}
// Released on one way only.
static void dispose_maybe(char *text) {
  if (ask())
    std::free(text);
}
void sometimes() {
  while (int code = ask()) {
    char *text = message(code);
    use(text);
    dispose_maybe(text);
  }
}
// Another block is what is released.
void other_block(char *spare) {
  while (ask()) {
    char *text = message(1);
    use(text);
    char *chosen = ask() ? text : spare;
    dispose(chosen);
  }
}
// Once, as it is only made when it is missing.
void made_once() {
  char *text = nullptr;
  while (ask()) {
    if (!text)
      text = message(1);
    use(text);
  }
  dispose(text);
}
struct Pool {
  void *take();
  void give(void *);
};
void pooled(Pool &pool) {
  while (ask()) {
    void *p = pool.take();
    use(p);
    pool.give(p);
  }
}
__attribute__((annotate("vfriendly:keep"))) void keep(int n) {
  while (ask())
    Array<int> row(n);
}
#endif
