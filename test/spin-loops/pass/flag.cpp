// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flag or counter is polled until another thread changes it.
//
// RUN: %verify_cxx %s -o /dev/null

#include <atomic>
#include <memory>

bool plain_flag;
volatile bool volatile_flag;
std::atomic<bool> ready;
std::atomic<int> count;
std::atomic<int *> published;
std::atomic_flag once = ATOMIC_FLAG_INIT;
enum class Stage { Start, Running, Done };
std::atomic<Stage> stage;

void set() {
  plain_flag = true;
  volatile_flag = true;
  ready.store(true, std::memory_order_release);
  ++count;
  published = nullptr;
  stage = Stage::Done;
  once.clear();
}

void wait_plain() {
  // C++ may take for granted that this ends, and deletes it otherwise.
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_flag' {{.*}}wait in the runtime;}}
  while (!plain_flag) {}
}

void wait_volatile() {
  // expected-remark-re@+1 {{(flag poll) on volatile 'volatile_flag' {{.*}}wait in the runtime [}}
  while (!volatile_flag) {}
}

void wait_load() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'ready' {{.*}}wait in the runtime [}}
  while (!ready.load(std::memory_order_acquire)) {}
}

void wait_conversion() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'ready' {{.*}}wait in the runtime [}}
  while (!ready) {}
}

void wait_counter(int n) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'count' {{.*}}wait in the runtime [}}
  while (count < n) {}
}

int wait_pointer() {
  int *p;
  // expected-remark-re@+1 {{(flag poll) on atomic 'published' {{.*}}wait in the runtime [}}
  while (!(p = published.load(std::memory_order_acquire))) {}
  return *p;
}

void wait_enum() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'stage' {{.*}}wait in the runtime [}}
  while (stage.load() != Stage::Done) {}
}

void wait_flag_test() {
  // expected-remark-re@+1 {{(flag poll) on atomic 'once' {{.*}}wait in the runtime [}}
  while (once.test(std::memory_order_acquire)) {}
}

// Why not: it counts what it does, and another thread may read that.
void not_counting(std::atomic<long> &rounds) {
  while (!ready.load())
    ++rounds;
}

// Why not: it looks once for each element.
int not_sum(const std::atomic<int> *words, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += words[i].load(std::memory_order_relaxed);
  return sum;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
