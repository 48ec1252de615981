// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue locks: each waiter polls a word in its own or its predecessor's node.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

struct McsLock {
  struct Node {
    std::atomic<Node *> Next{nullptr};
    std::atomic<bool> Waiting{true};
  };
  std::atomic<Node *> Tail{nullptr};

  void lock(Node &Mine) {
    Node *Before = Tail.exchange(&Mine, std::memory_order_acq_rel);
    if (!Before)
      return;
    Before->Next.store(&Mine, std::memory_order_release);
    // expected-remark-re@+1 {{(queue lock) on atomic memory {{.*}}wait in the runtime [}}
    while (Mine.Waiting.load(std::memory_order_acquire)) {}
  }

  void unlock(Node &Mine) {
    Node *Next = Mine.Next.load(std::memory_order_acquire);
    if (!Next) {
      Node *Expected = &Mine;
      if (Tail.compare_exchange_strong(Expected, nullptr))
        return;
      // expected-remark-re@+1 {{on atomic memory {{.*}}wait in the runtime [}}
      while (!(Next = Mine.Next.load(std::memory_order_acquire))) {}
    }
    Next->Waiting.store(false, std::memory_order_release);
  }
};

void use(McsLock &L, McsLock::Node &N, int &data) {
  L.lock(N);
  ++data;
  L.unlock(N);
}

// Why not: a walk along the queue.
int not_length(McsLock::Node *N) {
  int Length = 0;
  for (; N; N = N->Next.load(std::memory_order_acquire))
    ++Length;
  return Length;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
