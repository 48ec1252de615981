// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boost's locks and conditions, from which the standard library has its own.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-blocking-sync-broadcast,vfriendly-blocking-sync-signal-locked' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

namespace boost {
class mutex {};
template <typename Mutex> class unique_lock {
public:
  explicit unique_lock(Mutex &);
  ~unique_lock();
};
class condition_variable {
public:
  template <typename Lock> void wait(Lock &);
  void notify_one(), notify_all();
};
} // namespace boost

class Queue {
  boost::mutex Lock;
  boost::condition_variable NotEmpty;
  int Items = 0;

public:
  void put() {
    boost::unique_lock<boost::mutex> held(Lock);
    ++Items;
    // CHECK: :[[@LINE+1]]:14: warning: wakes a thread that needs 'Lock', still held
    NotEmpty.notify_one();
  }
  void putForAll() {
    boost::unique_lock<boost::mutex> held(Lock);
    ++Items;
    // CHECK: :[[@LINE+1]]:14: warning: wakes all threads that wait on 'NotEmpty', but only one can proceed
    NotEmpty.notify_all();
  }
  void take() {
    boost::unique_lock<boost::mutex> held(Lock);
    while (Items == 0)
      NotEmpty.wait(held);
    --Items;
  }
};
void all(Queue &q) {
  q.put();
  q.putForAll();
  q.take();
}
