// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A read-modify-write is tried until it takes the lock.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>

std::atomic<bool> lock;
std::atomic<int> owner;
std::atomic_flag flag = ATOMIC_FLAG_INIT;

void unlock() {
  lock.store(false, std::memory_order_release);
  owner = 0;
  flag.clear(std::memory_order_release);
}

void lock_cas(int self) {
  int expected = 0;
  // expected-remark-re@+1 {{(try-lock) on atomic 'owner' {{.*}}wait in the runtime [}}
  while (!owner.compare_exchange_weak(expected, self,
                                      std::memory_order_acquire,
                                      std::memory_order_relaxed))
    expected = 0;
}

void lock_cas_variable_order(int self, std::memory_order order) {
  // The order is known only when the program runs.
  int expected = 0;
  // expected-remark-re@+1 {{(try-lock) on atomic 'owner' wastes {{.*}}wait in the runtime [}}
  while (!owner.compare_exchange_strong(expected, self, order))
    expected = 0;
}

void lock_exchange() {
  // expected-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  while (lock.exchange(true, std::memory_order_acquire)) {}
}

void lock_flag() {
  // expected-remark-re@+1 {{(try-lock) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (flag.test_and_set(std::memory_order_acquire)) {}
}

class SpinLock {
  std::atomic_flag Word = ATOMIC_FLAG_INIT;

public:
  void lock() {
    // expected-remark-re@+1 {{(try-lock) on atomic memory {{.*}}wait in the runtime [}}
    while (Word.test_and_set(std::memory_order_acquire)) {}
  }
  void unlock() { Word.clear(std::memory_order_release); }
};

void use(SpinLock &L, int &data) {
  L.lock();
  ++data;
  L.unlock();
}

// Why not: a stack's push; the head may have moved, but no one is waited for.
// It also stores what it saw into the node.
struct Node {
  Node *Next;
};
std::atomic<Node *> head;
void not_push(Node *n) {
  n->Next = head.load(std::memory_order_relaxed);
  while (!head.compare_exchange_weak(n->Next, n, std::memory_order_release,
                                     std::memory_order_relaxed)) {}
}

int not_pop_value(std::atomic<int> &word) {
  int seen = word.load();
  // expected-remark@+1 {{(lock-free retry) on atomic memory behind a pointer left as it is: a retry can succeed at once}}
  while (!word.compare_exchange_weak(seen, seen & (seen - 1))) {}
  return seen;
}

// Why not: each iteration adds one.
void not_fetch_add() {
  while (owner.fetch_add(1) < 10) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
