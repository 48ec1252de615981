// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function without a wait is compiled as without the pass, though a call in its loop was inlined to
// find out; one with a wait is not.
//
// RUN: clang++ -std=c++17 -O2 -S -emit-llvm %s -o %t.plain.ll
// RUN: %vf_clangxx -std=c++17 -O2 -S -emit-llvm %s -o %t.with.ll
// RUN: diff %t.plain.ll %t.with.ll
// RUN: clang++ -std=c++17 -O2 -S -emit-llvm -DWAITS %s -o %t.plain.ll
// RUN: %vf_clangxx -std=c++17 -O2 -S -emit-llvm -DWAITS %s -o %t.with.ll
// RUN: not diff -q %t.plain.ll %t.with.ll
//
// REQUIRES: host-x86_64

#include <atomic>

void *take(void *queue, unsigned at), *refill(void *queue, unsigned from, unsigned to);
void note(void *task, const char *what, unsigned at);
void execute(void *task);

struct Queue {
  std::atomic<unsigned> head{0}, tail{0};
  // Too large for LLVM's inliner, which sees several calls of it.
  void *pop() {
    unsigned at = tail.load(std::memory_order_relaxed), end = head.load(std::memory_order_acquire);
    if (at == end)
      return nullptr;
    void *task = take(this, at);
    if (!task)
      task = refill(this, at, end);
    for (unsigned i = at; i != end; i += 8) {
      note(task, "seen", i);
      note(task, "passed", i + 1);
      note(task, "taken", i + 2);
    }
    note(task, "popped", at);
    note(task, "left", end - at);
    tail.store(at + 1, std::memory_order_release);
    return task;
  }
};

void work(Queue &mine, Queue &others, std::atomic<bool> &stop) {
  while (!stop.load(std::memory_order_acquire)) {
    void *task = mine.pop();
    if (!task)
      task = others.pop();
    if (task)
      execute(task);
    else
      __builtin_ia32_pause();
    note(task, "turn", 0);
  }
}

#ifdef WAITS
void wait_for(std::atomic<bool> &stop) {
  while (!stop.load(std::memory_order_acquire))
    __builtin_ia32_pause();
}
#endif
