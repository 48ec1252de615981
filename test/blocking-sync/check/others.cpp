// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of blocking besides broadcast.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-*,-vfriendly-blocking-sync-broadcast,-vfriendly-blocking-sync-signal-locked' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

class Queue {
public:
  void push(int Item) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.push_back(Item);
    NotEmpty.notify_one();
  }
  void pushAll(std::vector<int> More) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Items.insert(Items.end(), More.begin(), More.end());
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

//===-- item-wakeup -------------------------------------------------------===//

// example: one-by-one
void handOver(Queue &To, const std::vector<int> &Items) {
  for (int Item : Items)
    // CHECK: :[[@LINE+1]]:8: warning: loop calls 'push' for each item and wakes a waiter: {{.*}}; hand over items in batches (guidelines/blocking-sync.md) [vfriendly-blocking-sync-item-wakeup]
    To.push(Item);
}
// example end
void counted(Queue &To, int N) {
  for (int I = 0; I < N; ++I)
    // CHECK: :[[@LINE+1]]:8: warning: loop calls 'push' for each item
    To.push(I);
}
// example: all-at-once
void handOverAll(Queue &To, const std::vector<int> &Items) {
  To.pushAll(Items);
}
// example end
// The next item is not there yet: a batch would keep this one waiting.
int readOne();
void read(Queue &To) {
  while (int Item = readOne())
    To.push(Item);
}
// Each item comes out of another queue, when its wait ends.
void move(Queue &From, Queue &To, int N) {
  for (int I = 0; I < N; ++I)
    To.push(From.pop() + I);
}
// Making an item takes longer than handing it over.
int check(int), repair(int), describe(int);
void make(Queue &To, const std::vector<int> &Items) {
  for (int Item : Items) {
    int Made = check(Item);
    Made += repair(Made);
    Made += describe(Made);
    To.push(Made + Item);
  }
}
// Works on the item, and then says so.
int sum(int), scale(int), store(int);
void finish(Queue &To, int Item) {
  int Done = sum(Item);
  Done += scale(Done);
  Done += store(Done);
  Done += store(Done);
  To.push(Done);
}
void finishAll(Queue &To, int N) {
  for (int I = 0; I < N; ++I)
    finish(To, I);
}
// A few only: an end for each thread.
void stop(Queue &To) {
  for (int I = 0; I < 8; ++I)
    To.push(-1 - I);
}
// It wakes for every hundredth item.
class Batched {
public:
  explicit Batched(Queue &To) : To(To) {}
  void push(int Item) {
    Items.push_back(Item);
    if (Items.size() < 100)
      return;
    To.pushAll(std::move(Items));
    Items.clear();
  }

private:
  Queue &To;
  std::vector<int> Items;
};
void inBatches(Batched &To, const std::vector<int> &Items) {
  for (int Item : Items)
    To.push(Item);
}

//===-- sleep-poll --------------------------------------------------------===//

std::mutex Lock;
bool Ready;
std::deque<int> Todo;
void pollUnderLock() {
  for (;;) {
    {
      std::lock_guard<std::mutex> Held(Lock);
      if (Ready)
        break;
    }
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'Lock' to test for a change and sleeps between tests: {{.*}}; wait on a condition variable that the writer signals (guidelines/blocking-sync.md) [vfriendly-blocking-sync-sleep-poll]
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
void pollCount(pthread_mutex_t *M, const int *Left) {
  bool Done = false;
  while (!Done) {
    pthread_mutex_lock(M);
    Done = *Left == 0;
    pthread_mutex_unlock(M);
    // CHECK: :[[@LINE+1]]:5: warning: loop takes 'M' to test
    usleep(100);
  }
}
// It does something each time: the sleep sets the pace.
void print(size_t);
void everySecond() {
  for (;;) {
    {
      std::lock_guard<std::mutex> Held(Lock);
      if (Ready)
        break;
      print(Todo.size());
    }
    sleep(1);
  }
}
// Without an exit it waits for nothing.
void forEver() {
  for (;;) {
    Lock.lock();
    Lock.unlock();
    sleep(1);
  }
}

//===-- thread-per-task ---------------------------------------------------===//

void work(int);
void *serve(void *);
// example: thread-per-task
void runEach(const std::vector<int> &Tasks) {
  for (int Task : Tasks) {
    // CHECK: :[[@LINE+1]]:17: warning: loop creates a thread for each task: {{.*}} [vfriendly-blocking-sync-thread-per-task]
    std::thread Thread(work, Task);
    Thread.join();
  }
}
// example end
void acceptEach(int Socket) {
  for (;;) {
    int Connection = accept(Socket, nullptr, nullptr);
    pthread_t Thread;
    // CHECK: :[[@LINE+1]]:5: warning: loop creates a thread for each task
    pthread_create(&Thread, nullptr, serve, new int(Connection));
  }
}
// Not reported: one connection after another, each with threads of its own.
void serveEach(int Socket) {
  for (;;) {
    int Connection = accept(Socket, nullptr, nullptr);
    pthread_t Thread;
    pthread_create(&Thread, nullptr, serve, new int(Connection));
    work(Connection);
    pthread_join(Thread, nullptr);
  }
}
void detachEach(int N) {
  for (int I = 0; I < N; ++I) {
    pthread_t Thread;
    // CHECK: :[[@LINE+1]]:5: warning: loop creates a thread for each task
    pthread_create(&Thread, nullptr, serve, new int(I));
    pthread_detach(Thread);
  }
}
void forgetEach(int N) {
  for (int I = 0; I < N; ++I)
    // CHECK: :[[@LINE+1]]:5: warning: loop creates a thread for each task
    std::thread(work, I).detach();
}
// A pool whose threads count themselves: the handles are kept.
struct Job {
  pthread_t Thread;
};
void poolOfDetached(Job *Jobs, pthread_t *Threads, unsigned N) {
  for (unsigned I = 0; I < N; ++I) {
    pthread_create(&Jobs[I].Thread, nullptr, serve, nullptr);
    pthread_detach(Jobs[I].Thread);
  }
  for (unsigned I = 0; I < N; ++I) {
    pthread_create(&Threads[I], nullptr, serve, nullptr);
    pthread_detach(Threads[I]);
  }
}
// What is joined is another thread, where creating one fails.
void poolOrFail(pthread_t *Threads, unsigned N, pthread_t Logger) {
  for (unsigned I = 0; I < N; ++I)
    if (pthread_create(&Threads[I], nullptr, serve, nullptr)) {
      pthread_join(Logger, nullptr);
      return;
    }
}
// A pool: all run at once, and another loop joins them.
void pool(unsigned N) {
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I < N; ++I)
    Threads.push_back(std::thread(work, I));
  for (std::thread &T : Threads)
    T.join();
}

// A thread for each item, joined later, is none.
void runAll(const std::vector<int> &Tasks, const std::vector<std::string> &Names) {
  std::vector<std::thread> Running;
  for (int Task : Tasks)
    // CHECK: :[[@LINE+1]]:13: warning: loop creates a thread for each item of 'Tasks': {{.*}} [vfriendly-blocking-sync-thread-per-task]
    Running.emplace_back(work, Task);
  for (size_t I = 0; I < Names.size(); ++I)
    // CHECK: :[[@LINE+1]]:23: warning: loop creates a thread for each item of 'Names'
    Running.push_back(std::thread([&Names, I] { work(Names[I].size()); }));
  for (std::thread &T : Running)
    T.join();
}
// Not reported: as many threads as workers; and the item is not the thread's.
void poolOf(const std::vector<int> &WorkerIds, const std::vector<int> &Tasks) {
  std::vector<std::thread> Running;
  for (int Id : WorkerIds)
    Running.emplace_back(work, Id);
  for (int Task : Tasks) {
    (void)Task;
    Running.emplace_back(work, 0);
  }
  for (std::thread &T : Running)
    T.join();
}
int total;
void compute() { total++; }
void answer() {
  char Byte;
  while (read(0, &Byte, 1) == 1)
    total++;
}
void tooMany() {
  std::vector<std::thread> Running;
  unsigned N = 2 * std::thread::hardware_concurrency();
  for (unsigned I = 0; I < N; ++I)
    // CHECK: :[[@LINE+1]]:13: warning: loop creates 2 threads for each CPU, and these compute: {{.*}} [vfriendly-blocking-sync-thread-per-task]
    Running.emplace_back(compute);
  // Not reported: these wait for input; and one for each CPU.
  for (unsigned I = 0; I < N; ++I)
    Running.emplace_back(answer);
  for (unsigned I = 0; I < std::thread::hardware_concurrency(); ++I)
    Running.emplace_back(compute);
  for (std::thread &T : Running)
    T.join();
}
// As many as somebody chose, as in tests and examples of threads that wait for each other.
void fixedNumber() {
  std::vector<std::thread> Running;
  for (int I = 0; I < 16; ++I)
    Running.emplace_back(compute);
  for (std::thread &T : Running)
    T.join();
}

//===-- spinlock ----------------------------------------------------------===//

struct Table {
  pthread_spinlock_t Spin;
  int Count;
};
void count(Table &T) {
  // CHECK: :[[@LINE+1]]:3: warning: takes 'Spin' by polling: waiters keep their vCPUs busy while the holder's is away; use a mutex that spins then blocks, such as vf_mutex (guidelines/blocking-sync.md) [vfriendly-blocking-sync-spinlock]
  pthread_spin_lock(&T.Spin);
  T.Count++;
  pthread_spin_unlock(&T.Spin);
}
// Once for each lock.
void countTwice(Table &T) {
  pthread_spin_lock(&T.Spin);
  T.Count += 2;
  pthread_spin_unlock(&T.Spin);
}

//===-- monitor -----------------------------------------------------------===//

class Account {
public:
  void add(int N) {
    std::lock_guard<std::recursive_mutex> Held(Again);
    Sum += N;
  }

private:
  // CHECK: :[[@LINE+1]]:24: warning: this lock may be taken again by its holder: {{.*}} [vfriendly-blocking-sync-monitor]
  std::recursive_mutex Again;
  int Sum = 0;
};
void makeRecursive(pthread_mutexattr_t *A) {
  // CHECK: :[[@LINE+1]]:3: warning: this lock may be taken again by its holder
  pthread_mutexattr_settype(A, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutexattr_settype(A, PTHREAD_MUTEX_NORMAL);
}
// A wrapper: its caller wants the lock to be recursive.
int initRecursive(pthread_mutex_t *M) {
  pthread_mutexattr_t A;
  pthread_mutexattr_init(&A);
  pthread_mutexattr_settype(&A, PTHREAD_MUTEX_RECURSIVE);
  return pthread_mutex_init(M, &A);
}
pthread_mutex_t Global;
int initGlobal() {
  pthread_mutexattr_t A;
  pthread_mutexattr_init(&A);
  // CHECK: :[[@LINE+1]]:3: warning: this lock may be taken again by its holder
  pthread_mutexattr_settype(&A, PTHREAD_MUTEX_RECURSIVE);
  return pthread_mutex_init(&Global, &A);
}
class Registry {
public:
  void add(int I) {
    std::lock_guard<std::mutex> Held(All);
    Items.push_back(I);
  }
  void clear() {
    std::lock_guard<std::mutex> Held(All);
    Items.clear();
  }
  size_t size() {
    std::lock_guard<std::mutex> Held(All);
    return Items.size();
  }
  int sum() {
    std::lock_guard<std::mutex> Held(All);
    int Sum = 0;
    for (int I : Items)
      Sum += I;
    return Sum;
  }

private:
  // CHECK: :[[@LINE+1]]:14: warning: each of the 4 methods of 'Registry' holds 'All' from beginning to end: {{.*}} [vfriendly-blocking-sync-monitor]
  std::mutex All;
  std::vector<int> Items;
};
// One method does its work before it takes the lock.
class Narrow {
public:
  void add(int I) {
    std::lock_guard<std::mutex> Held(All);
    Items.push_back(I);
  }
  void clear() {
    std::lock_guard<std::mutex> Held(All);
    Items.clear();
  }
  size_t size() {
    std::lock_guard<std::mutex> Held(All);
    return Items.size();
  }
  void addNew() {
    int I = readOne();
    std::lock_guard<std::mutex> Held(All);
    Items.push_back(I);
  }

private:
  std::mutex All;
  std::vector<int> Items;
};
