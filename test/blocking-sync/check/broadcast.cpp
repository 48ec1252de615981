// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A broadcast is reported where it lets one waiter go on; the fix is a signal. Negative
// tests say why a signal would leave a thread asleep.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast' --fix %t.cpp -- -std=c++17 2>&1 > /dev/null
// RUN: clang++ -std=c++17 -fsyntax-only -pthread %t.cpp
// RUN: FileCheck %s --check-prefix=FIXED < %t.cpp

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

// example: bad
class Queue {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:14: warning: wakes all threads that wait on 'NotEmpty', but only one can proceed: {{.*}}; wake one (guidelines/blocking-sync.md)
    // FIXED: NotEmpty.notify_one(); // first
    NotEmpty.notify_all(); // first
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};
// example end

// All waiters have to see the end. What is pushed still lets one go on.
class Closable {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:14: warning: wakes all
    // FIXED: NotEmpty.notify_one(); // second
    NotEmpty.notify_all(); // second
  }
  bool pop(int &Item) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty() || Closed; });
    if (Items.empty())
      return false;
    Item = Items.front();
    Items.pop_front();
    return true;
  }
  void close() {
    std::lock_guard<std::mutex> Lock(Mutex);
    Closed = true;
    // FIXED: NotEmpty.notify_all(); // close
    NotEmpty.notify_all(); // close
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
  bool Closed = false;
};

// A waiter may leave although there is an item: a signal would be lost with it. It is
// reported, but not changed.
class Impatient {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+2]]:14: warning: wakes all
    // FIXED: NotEmpty.notify_all(); // third
    NotEmpty.notify_all(); // third
  }
  bool pop(int &Item) {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty() || Closed; });
    if (Closed)
      return false;
    Item = Items.front();
    Items.pop_front();
    return true;
  }
  void close() {
    std::lock_guard<std::mutex> Lock(Mutex);
    Closed = true;
    NotEmpty.notify_all();
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
  bool Closed = false;
};

// Instances of a template are in sight.
template <typename T> class Of {
public:
  void push(T Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    // CHECK: :[[@LINE+1]]:14: warning: wakes all
    NotEmpty.notify_all();
  }
  T pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    while (Items.empty())
      NotEmpty.wait(Lock);
    T Item = Items.front();
    Items.pop_front();
    return Item;
  }
  size_t size() const { return Items.size(); }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<T> Items;
};
template class Of<int>;
int use(Of<long> &Longs) {
  Longs.push(1);
  return int(Longs.pop());
}

//===-- What a signal would break -----------------------------------------===//

// Several items: as many waiters may go on.
class Several {
public:
  void push(const int *From, int N) {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (int I = 0; I < N; ++I)
      Items.push_back(From[I]);
    NotEmpty.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};

// A wake-up only when the queue was empty: two items come before a waiter runs, and the
// second of two waiters would sleep on beside an item.
class Edge {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    if (Items.size() == 1)
      NotEmpty.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};

// Waiters wait for different things: a signal may wake one that cannot go on.
class Two {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    Changed.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    Changed.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }
  void waitFor(size_t N) {
    std::unique_lock<std::mutex> Lock(Mutex);
    Changed.wait(Lock, [&] { return Items.size() >= N; });
  }

private:
  std::mutex Mutex;
  std::condition_variable Changed;
  std::deque<int> Items;
};

// Nobody takes back what happened: all go on.
class Latch {
public:
  void countDown() {
    std::lock_guard<std::mutex> Lock(Mutex);
    --Count;
    Zero.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> Lock(Mutex);
    Zero.wait(Lock, [&] { return Count == 0; });
  }

private:
  std::mutex Mutex;
  std::condition_variable Zero;
  int Count = 8;
};

// A waiter that gave up may have taken the signal along.
class Timed {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    NotEmpty.notify_all();
  }
  bool pop(int &Item) {
    std::unique_lock<std::mutex> Lock(Mutex);
    if (!NotEmpty.wait_for(Lock, std::chrono::milliseconds(1),
                           [&] { return !Items.empty(); }))
      return false;
    Item = Items.front();
    Items.pop_front();
    return true;
  }
  // Beside it, one that waits without a limit.
  int popSurely() {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};

// Others may wait on it for something else.
class Open {
public:
  void push(int Item);
  int pop();
  void elsewhere();

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};
void Open::push(int Item) {
  std::lock_guard<std::mutex> Lock(Mutex);
  Items.push_back(Item);
  NotEmpty.notify_all();
}
int Open::pop() {
  std::unique_lock<std::mutex> Lock(Mutex);
  NotEmpty.wait(Lock, [&] { return !Items.empty(); });
  int Item = Items.front();
  Items.pop_front();
  return Item;
}

// The author says so.
class Kept {
public:
  __attribute__((annotate("vfriendly:keep"))) void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    NotEmpty.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    NotEmpty.wait(Lock, [&] { return !Items.empty(); });
    int Item = Items.front();
    Items.pop_front();
    return Item;
  }

private:
  std::mutex Mutex;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
};

// Waiters count themselves in an atomic, which the notifier reads after it has released the mutex.
struct Buffers {
  std::mutex Mutex;
  std::condition_variable Free;
  std::deque<void *> All;
  std::atomic<int> Waiting{0};
};
void *take(Buffers &B) {
  std::unique_lock<std::mutex> Lock(B.Mutex);
  if (B.All.empty()) {
    B.Waiting.fetch_add(1);
    B.Free.wait(Lock, [&] { return !B.All.empty(); });
    B.Waiting.fetch_sub(1);
  }
  void *Buffer = B.All.back();
  B.All.pop_back();
  return Buffer;
}
void giveBack(Buffers &B, void *Buffer) {
  {
    std::lock_guard<std::mutex> Lock(B.Mutex);
    B.All.push_back(Buffer);
  }
  if (B.Waiting.load() != 0)
    // CHECK: :[[@LINE+2]]:12: warning: wakes all threads that wait on 'Free', but only one can proceed
    // FIXED: B.Free.notify_one(); // counted
    B.Free.notify_all(); // counted
}
// Read before the item is there: a thread that begins to wait in between is not woken, and needs the next broadcast.
struct Early {
  std::mutex Mutex;
  std::condition_variable Free;
  std::deque<void *> All;
  std::atomic<int> Waiting{0};
};
void *take(Early &B) {
  std::unique_lock<std::mutex> Lock(B.Mutex);
  B.Waiting++;
  B.Free.wait(Lock, [&] { return !B.All.empty(); });
  B.Waiting--;
  void *Buffer = B.All.back();
  B.All.pop_back();
  return Buffer;
}
void giveBack(Early &B, void *Buffer) {
  if (B.Waiting.load() != 0)
    B.Free.notify_all();
  std::lock_guard<std::mutex> Lock(B.Mutex);
  B.All.push_back(Buffer);
}
class Sizes {
public:
  void push(int Size) {
    std::lock_guard<std::mutex> Lock(Mutex);
    All.push_back(Size);
    if (Waiting > 0)
      // CHECK: :[[@LINE+1]]:11: warning: wakes all threads that wait on 'Any', but only one can proceed
      Any.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    ++Waiting;
    Any.wait(Lock, [&] { return !All.empty(); });
    --Waiting;
    int Size = All.front();
    All.pop_front();
    return Size;
  }

private:
  std::mutex Mutex;
  std::condition_variable Any;
  std::deque<int> All;
  std::atomic<unsigned> Waiting{0};
};
// A count that goes up by two for some is none of waiters.
class Twice {
public:
  void push(int Size) {
    std::lock_guard<std::mutex> Lock(Mutex);
    All.push_back(Size);
    if (Waiting > 0)
      Any.notify_all();
  }
  int pop() {
    std::unique_lock<std::mutex> Lock(Mutex);
    Waiting.fetch_add(2);
    Any.wait(Lock, [&] { return !All.empty(); });
    Waiting.fetch_sub(2);
    int Size = All.front();
    All.pop_front();
    return Size;
  }

private:
  std::mutex Mutex;
  std::condition_variable Any;
  std::deque<int> All;
  std::atomic<unsigned> Waiting{0};
};
