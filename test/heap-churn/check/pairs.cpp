// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same in C++: new and delete, smart pointers, vectors and strings that a
// loop makes anew in each iteration.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Item {
  explicit Item(int);
  int value;
};
struct Pooled {
  void *operator new(std::size_t);
  void operator delete(void *);
};
int ask();
void use(const void *);
void read(const std::vector<int> &);
void fill(std::vector<int> &);
void keep(std::vector<int>);
void keep(std::unique_ptr<Item>);

void pointers(int n) {
  for (int i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'new'
    auto *p = new Item(i);
    use(p);
    delete p;
    // CHECK: :[[@LINE+1]]:20: warning: 'buffer' is allocated by 'new[]'
    char *buffer = new char[100];
    use(buffer);
    delete[] buffer;
    // CHECK: :[[@LINE+1]]:10: warning: 'smart' allocates and releases memory in each iteration of a loop: {{.*}}; reuse one object for all iterations (guidelines/heap-churn.md)
    auto smart = std::make_unique<Item>(i);
    use(smart.get());
    // CHECK: :[[@LINE+1]]:27: warning: 'made' allocates
    std::unique_ptr<Item> made(new Item(i));
    use(&made->value);
    // CHECK: :[[@LINE+1]]:10: warning: 'shared' allocates
    auto shared = std::make_shared<Item>(i);
    use(shared.get());
  }
}

void containers(int n) {
  for (int i = 0; i < n; ++i) {
    // CHECK: :[[@LINE+1]]:22: warning: 'pushed' allocates and releases memory in each iteration of a loop: {{.*}}; declare it before the loop, so that it keeps its memory (guidelines/heap-churn.md)
    std::vector<int> pushed;
    for (int j = 0; j < i; ++j)
      pushed.push_back(j);
    read(pushed);
    // CHECK: :[[@LINE+1]]:22: warning: 'sized' allocates
    std::vector<int> sized(100);
    sized[0] = i;
    read(sized);
    // CHECK: :[[@LINE+1]]:17: warning: 'text' allocates
    std::string text = "longer than what a string holds within itself";
    use(text.c_str());
  }
  // CHECK: :[[@LINE+2]]:22: warning: 'v' allocates
  for (int value : {1, 2, 3}) {
    std::vector<int> v{value, value};
    read(v);
  }
}

// Its instances, each with memory of its own, are one report.
template <class T> void instances(int n) {
  while (n--) {
    // CHECK: :[[@LINE+1]]:12: warning: 't' is allocated by 'new'
    T *t = new T(n);
    use(t);
    delete t;
  }
}
// Nothing is known of a template without one, and nothing breaks.
template <class T> void no_instance(int n) {
  while (n--) {
    T *t = new T(n);
    std::vector<T> v;
    v.push_back(*t);
    delete t;
  }
}
void instantiate() {
  instances<Item>(3);
  instances<int>(3);
}

auto in_a_lambda = [](int n) {
  while (n--) {
    // CHECK: :[[@LINE+1]]:15: warning: 'p' is allocated by 'new'
    auto *p = new Item(n);
    use(p);
    delete p;
  }
};

//===--- Not in each iteration, or not the heap -------------------------------===//

std::vector<int> global;
std::vector<std::vector<int>> all;
void kept_elsewhere(int n) {
  for (int i = 0; i < n; ++i) {
    // Its memory goes on to somebody else.
    std::vector<int> moved;
    moved.push_back(i);
    keep(std::move(moved));
    std::vector<int> swapped;
    swapped.push_back(i);
    swapped.swap(global);
    auto given = std::make_unique<Item>(i);
    keep(std::move(given));
    auto released = std::make_unique<Item>(i);
    use(released.release());
    auto shared = std::make_shared<Item>(i);
    auto copy = shared;
    // Nothing says that it allocates, or only what may be.
    std::vector<int> filled;
    fill(filled);
    std::vector<int> errors;
    if (ask())
      errors.push_back(i);
    read(errors);
    std::string small = "short";
    use(small.c_str());
    std::string number = std::to_string(i);
    use(number.c_str());
    // A pool of the class.
    auto *pooled = new Pooled;
    use(pooled);
    delete pooled;
    // Memory that is there already.
    alignas(Item) char place[sizeof(Item)];
    auto *placed = new (place) Item(i);
    use(placed);
    // Lives on from iteration to iteration.
    static std::vector<int> once(100);
    read(once);
  }
}
std::vector<int> returned(int n) {
  for (int i = 0; i < n; ++i) {
    std::vector<int> v;
    v.push_back(i);
    if (ask())
      return v;
  }
  return {};
}
