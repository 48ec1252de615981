// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: %verify_cxx %s -o /dev/null

#include <mutex>
#include <shared_mutex>
#include <thread>

void mutex(std::mutex &m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (!m.try_lock()) {}
}

void recursive(std::recursive_mutex &m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (!m.try_lock())
    std::this_thread::yield();
}

void shared(std::shared_mutex &m) {
  // expected-remark-re@+1 {{(trylock calls) on a lock {{.*}}wait in the runtime [}}
  while (!m.try_lock_shared()) {}
}

// It polls with the lock held.
int polling(std::mutex &m, const int &state) {
  for (;;) { // expected-remark {{each iteration takes and releases a lock}}
    std::lock_guard<std::mutex> g(m);
    if (state)
      return state;
  }
}

// Why not: unlock is an effect of every iteration.
void not_unlocking(std::mutex &m, const int &n) {
  while (m.try_lock())
    m.unlock();
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
