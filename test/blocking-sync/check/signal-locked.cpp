// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same with guards of C++ and of the program.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-signal-locked' --config='{CheckOptions: {vfriendly-blocking-sync-signal-locked.Broadcasts: true}}' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <thread>

class Queue {
  std::mutex Lock;
  std::condition_variable NotEmpty;
  std::deque<int> Items;
  bool Ends = false;
  std::thread Worker;

public:
  // example: bad
  void put(int x) {
    std::lock_guard<std::mutex> guard(Lock);
    Items.push_back(x);
    // CHECK: :[[@LINE+1]]:14: warning: wakes a thread that needs 'Lock', still held:
    NotEmpty.notify_one();
  }
  // example end
  void put_all(const std::deque<int> &all) {
    std::unique_lock<std::mutex> guard(Lock);
    // CHECK: :[[@LINE+1]]:14: warning: wakes threads that need 'Lock', still held for more work:
    NotEmpty.notify_all();
    for (int x : all)
      Items.push_back(x);
  }
  // Good: the guard ends before the signal, or releases it.
  // example: good
  void put_well(int x) {
    {
      std::lock_guard<std::mutex> guard(Lock);
      Items.push_back(x);
    }
    NotEmpty.notify_one();
  }
  // example end
  void put_well_too(int x) {
    std::unique_lock<std::mutex> guard(Lock);
    Items.push_back(x);
    guard.unlock();
    NotEmpty.notify_one();
  }
  int take() {
    std::unique_lock<std::mutex> guard(Lock);
    NotEmpty.wait(guard, [&] { return !Items.empty() || Ends; });
    int x = Items.front();
    Items.pop_front();
    return x;
  }
  ~Queue() {
    std::lock_guard<std::mutex> guard(Lock);
    Ends = true;
    NotEmpty.notify_all();
  }
  void end() {
    std::lock_guard<std::mutex> guard(Lock);
    Ends = true;
    NotEmpty.notify_all();
  }
};

class Guard {
  pthread_mutex_t &M;

public:
  explicit Guard(pthread_mutex_t &m) : M(m) { pthread_mutex_lock(&M); }
  ~Guard() { pthread_mutex_unlock(&M); }
};
struct Event {
  pthread_mutex_t M = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t C = PTHREAD_COND_INITIALIZER;
  int N = 0;
  void signal() {
    Guard guard(M);
    ++N;
    // CHECK: :[[@LINE+1]]:5: warning: wakes a thread that needs 'M'
    pthread_cond_signal(&C);
  }
  void wait() {
    Guard guard(M);
    while (N == 0)
      pthread_cond_wait(&C, &M);
    --N;
  }
};

//===-- Declarations only -------------------------------------------------===//

#define ATTRIBUTE(x) __attribute__((x))
class ATTRIBUTE(capability("mutex")) Mutex {
public:
  void lock() ATTRIBUTE(acquire_capability());
  void unlock() ATTRIBUTE(release_capability());
};
class ATTRIBUTE(scoped_lockable) MutexGuard {
public:
  explicit MutexGuard(Mutex &m) ATTRIBUTE(acquire_capability(m));
  ~MutexGuard() ATTRIBUTE(release_capability());
};
class ATTRIBUTE(scoped_lockable) ReaderGuard {
public:
  explicit ReaderGuard(Mutex &m) ATTRIBUTE(acquire_shared_capability(m));
  ~ReaderGuard() ATTRIBUTE(release_capability());
};
class Condition {
public:
  void notify_one();
  void notify_all();
};
class Box {
  Mutex Lock;
  Condition Full;
  int N = 0;

public:
  void put() {
    MutexGuard guard(Lock);
    ++N;
    // CHECK: :[[@LINE+1]]:10: warning: wakes a thread that needs 'Lock', still held
    Full.notify_one();
  }
  void put_by_hand() {
    Lock.lock();
    ++N;
    // CHECK: :[[@LINE+1]]:10: warning: wakes threads that need 'Lock', still held
    Full.notify_all();
    Lock.unlock();
  }
  void put_well() {
    Lock.lock();
    ++N;
    Lock.unlock();
    Full.notify_one();
  }
  void look() {
    ReaderGuard guard(Lock);
    Full.notify_one();
  }
};
