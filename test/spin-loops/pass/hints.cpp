// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polls that give way already: by yielding, by sleeping.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <chrono>
#include <thread>

std::atomic<bool> flag;
volatile int word;
void set() {
  flag = true;
  word = 1;
}

void yields() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime [}}
  while (!flag.load())
    std::this_thread::yield();
}

void yields_volatile() {
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  do
    std::this_thread::yield();
  while (!word);
}

void sleeps() {
  // expected-remark@+1 {{(flag poll) on atomic 'flag' left as it is: it sleeps between polls}}
  while (!flag.load())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void sleeps_milliseconds() {
  using namespace std::chrono_literals;
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: it sleeps between polls}}
  while (!word)
    std::this_thread::sleep_for(1ms);
}

// Why not: it takes part in nobody's progress, it only sleeps ten times.
void not_waiting() {
  for (int i = 0; i < 10; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
