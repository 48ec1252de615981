// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// Step 1: each item takes the lock and wakes every waiter.

#ifndef DEDUP_QUEUE_H
#define DEDUP_QUEUE_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace dedup {

/// A bounded queue with so many senders; empty once all of them are gone.
template <typename T> class Queue {
public:
  Queue(size_t Capacity, unsigned Senders)
      : Capacity(Capacity), Senders(Senders) {}

  void push(T Item) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotFull.wait(Lock, [&] { return Items.size() < Capacity; });
    Items.push_back(std::move(Item));
    NotEmpty.notify_all();
  }

  /// Returns false if nothing more will come.
  bool pop(T &Item) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty() || !Senders; });
    if (Items.empty())
      return false;
    Item = std::move(Items.front());
    Items.pop_front();
    NotFull.notify_all();
    return true;
  }

  void senderGone() {
    std::lock_guard<std::mutex> Lock(Mutex);
    --Senders;
    // All waiters have to see it.
    NotEmpty.notify_all();
  }

private:
  const size_t Capacity;
  std::mutex Mutex;
  std::condition_variable NotFull, NotEmpty;
  std::deque<T> Items;
  unsigned Senders;
};

/// A thread's end of a queue, for what it sends.
template <typename T> class Sender {
public:
  explicit Sender(Queue<T> &To) : To(To) {}
  ~Sender() { To.senderGone(); }
  void push(T Item) { To.push(std::move(Item)); }

private:
  Queue<T> &To;
};

/// A thread's end of a queue, for what it gets.
template <typename T> class Receiver {
public:
  explicit Receiver(Queue<T> &From) : From(From) {}
  bool pop(T &Item) { return From.pop(Item); }

private:
  Queue<T> &From;
};

} // namespace dedup

#endif
