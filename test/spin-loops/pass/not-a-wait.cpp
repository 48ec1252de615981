// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that look like waits and are none.
//
// RUN: %verify_cxx %s -o /dev/null
// RUN: %vf_clangxx -std=c++20 -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not=vf_spin_wait --implicit-check-not=sse2.pause
// CHECK: define

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

// Lock-free updates.
std::atomic<double> total;
void add(double d) {
  double seen = total.load();
  // expected-remark@+1 {{(lock-free retry) on atomic 'total'}}
  while (!total.compare_exchange_weak(seen, seen + d)) {}
}

template <typename T> class Stack {
  struct Node {
    T Value;
    Node *Next;
  };
  std::atomic<Node *> Head{nullptr};

public:
  void push(T V) {
    Node *N = new Node{V, Head.load()};
    while (!Head.compare_exchange_weak(N->Next, N)) {}
  }
  bool pop(T &V) {
    Node *N = Head.load();
    // expected-remark@+1 {{(lock-free retry) on atomic memory}}
    while (N && !Head.compare_exchange_weak(N, N->Next)) {}
    if (!N)
      return false;
    V = N->Value;
    return true;
  }
};
template class Stack<int>;

// Walks over data.
int sum(const std::list<int> &l) {
  int s = 0;
  for (int i : l)
    s += i;
  return s;
}

int count(const std::vector<std::atomic<int>> &v) {
  int n = 0;
  for (const auto &a : v)
    n += a.load() != 0;
  return n;
}

int iterate(std::vector<int> &v, int what) {
  auto it = v.begin();
  while (it != v.end() && *it != what)
    ++it;
  return it - v.begin();
}

// Blocks already: the loop is the guard against false wake-ups.
bool ready;
void monitor(std::mutex &m, std::condition_variable &c) {
  std::unique_lock<std::mutex> l(m);
  while (!ready)
    c.wait(l);
}

// Works until it is told to stop.
std::atomic<bool> stop;
void worker(const std::function<void()> &work) {
  while (!stop.load())
    work();
}

// What is called is decided by the object.
struct Task {
  virtual bool poll() = 0;
};
void virtual_call(Task &t) {
  while (!t.poll()) {}
}

// The function may throw, which is a way out that is no wait.
bool may_throw();
int throwing() {
  try {
    while (!may_throw()) {}
  } catch (...) {
    return 1;
  }
  return 0;
}

// Each iteration creates and destroys something.
struct Guard {
  Guard();
  ~Guard();
};
void guarded() {
  while (!stop.load())
    Guard g;
}

thread_local std::atomic<int> mine;
int own() {
  int rounds = 0;
  while (mine.load() == 0 && rounds < 5)
    ++rounds;
  return rounds;
}

int not_escaping() {
  std::atomic<int> word{0};
  int n = 0;
  while (word.load() == 0 && n < 10)
    ++n;
  return n;
}
