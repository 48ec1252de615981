// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A coroutine that spins is rewritten like any function: a wait suspends nothing.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <coroutine>

std::atomic<bool> flag;
void set() { flag = true; }

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

Task coroutine() {
  // expected-remark-re@+1 1+ {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!flag.load()) {}
  co_await std::suspend_always{};
}

// Why not: it suspends between polls, and so waits for nobody itself.
Task not_suspending() {
  while (!flag.load())
    co_await std::suspend_always{};
}

__attribute__((noinline)) void called() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!flag.load()) {}
}
Task calling() {
  called();
  co_return;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
