// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
// Step 3: the lock and the wake-up are for 16 items at a time.

#ifndef DEDUP_QUEUE_H
#define DEDUP_QUEUE_H

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace dedup {

/// More items at a time wake less often, but keep later stages waiting: 16
/// slices are 1 MiB of input.
constexpr size_t Batch = 16;

/// A bounded queue of batches with so many senders; empty once all of them are
/// gone.
template <typename T> class Queue {
public:
  Queue(size_t Capacity, unsigned Senders)
      : Capacity(Capacity / Batch + 1), Senders(Senders) {}

  void push(std::vector<T> Items) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotFull.wait(Lock, [&] { return Batches.size() < Capacity; });
    Batches.push_back(std::move(Items));
    NotEmpty.notify_one();
  }

  /// Returns false if nothing more will come.
  bool pop(std::vector<T> &Items) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Batches.empty() || !Senders; });
    if (Batches.empty())
      return false;
    Items = std::move(Batches.front());
    Batches.pop_front();
    NotFull.notify_one();
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
  std::deque<std::vector<T>> Batches;
  unsigned Senders;
};

/// A thread's end of a queue, for what it sends.
template <typename T> class Sender {
public:
  explicit Sender(Queue<T> &To) : To(To) {}
  ~Sender() {
    if (!Items.empty())
      To.push(std::move(Items));
    To.senderGone();
  }
  void push(T Item) {
    Items.push_back(std::move(Item));
    if (Items.size() < Batch)
      return;
    To.push(std::move(Items));
    Items.clear();
  }

private:
  Queue<T> &To;
  std::vector<T> Items;
};

/// A thread's end of a queue, for what it gets.
template <typename T> class Receiver {
public:
  explicit Receiver(Queue<T> &From) : From(From) {}
  bool pop(T &Item) {
    if (Next == Items.size()) {
      Next = 0;
      Items.clear();
      if (!From.pop(Items))
        return false;
    }
    Item = std::move(Items[Next++]);
    return true;
  }

private:
  Queue<T> &From;
  std::vector<T> Items;
  size_t Next = 0;
};

} // namespace dedup

#endif
