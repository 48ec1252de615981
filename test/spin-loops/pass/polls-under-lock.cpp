// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that takes a lock, looks, and releases the lock again waits even if it
// gives no hint: it is reported. It keeps its iterations.
//
// RUN: %verify_cxx -std=c++17 %s -o /dev/null

#include <mutex>

class Task {
  std::mutex m;
  bool done_ = false;

public:
  bool done() {
    std::lock_guard<std::mutex> g(m);
    return done_;
  }
};
Task t;
std::mutex m;
bool ready;
void by_call() {
  // expected-remark@+1 {{each iteration takes and releases a lock}}
  while (!t.done())
    ;
}
void by_guard() {
  // expected-remark@+1 {{each iteration takes and releases a lock}}
  for (;;) {
    std::lock_guard<std::mutex> g(m);
    if (ready)
      return;
  }
}
void by_hand() {
  bool ok = false;
  while (!ok) { // expected-remark {{each iteration takes and releases a lock}}
    m.lock();
    ok = ready;
    m.unlock();
  }
}

// It takes what it finds.
struct Node {
  Node *next;
  int value;
} *head;
int sum;
void consumes() {
  for (;;) {
    m.lock();
    Node *n = head;
    if (!n) {
      m.unlock();
      return;
    }
    head = n->next;
    m.unlock();
    sum += n->value;
  }
}

// It looks at each element once.
int find(const int *values, int n, int wanted) {
  for (int i = 0; i < n; ++i) {
    m.lock();
    int v = values[i];
    m.unlock();
    if (v == wanted)
      return i;
  }
  return -1;
}
