// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls that interrupt every CPU, in member functions and lambdas that a loop calls.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-shootdown-calls' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>
#include <vector>

void use(void *);
bool next();

class Cache {
  char *memory = nullptr;
  size_t size = 0;

public:
  void load(size_t n) {
    memory = (char *)malloc(n);
    size = n;
    use(memory);
  }
  void clear() {
    free(memory);
    memory = nullptr;
    // CHECK: :[[@LINE+1]]:5: warning: a loop in 'session' calls 'malloc_trim' in its iterations, through 'clear'
    malloc_trim(0);
  }
  // CHECK: :[[@LINE+1]]:18: warning: a loop in 'frames' calls 'madvise' in its iterations, through 'reset'
  void reset() { madvise(memory, size, MADV_DONTNEED); }
};
void session(Cache &c) {
  while (next()) {
    c.load(4096);
    c.clear();
  }
}
void frames(Cache &c, int n) {
  for (int i = 0; i < n; ++i)
    c.reset();
}

void jobs(int n) {
  auto release = [](void *p) {
    free(p);
    // CHECK: :[[@LINE+1]]:5: warning: a loop in 'jobs' calls 'malloc_trim'
    malloc_trim(1 << 20);
  };
  for (int i = 0; i < n; i++) {
    void *p = malloc(100);
    use(p);
    release(p);
  }
}

// CHECK: :[[@LINE+1]]:31: warning: a loop in 'server' calls 'malloc_trim' in its iterations, through 'end_request'
static void return_memory() { malloc_trim(0); }
static void end_request(std::vector<char> &v) {
  v.clear();
  v.shrink_to_fit();
  return_memory();
}
void server() {
  std::vector<char> v;
  for (;;) {
    v.resize(10000);
    use(v.data());
    end_request(v);
    if (!next())
      break;
  }
}

// Once for all: the loop is not around the call.
class Pool {
  std::vector<void *> blocks;

public:
  void drop() {
    for (void *b : blocks)
      free(b);
    malloc_trim(0);
  }
};
void close(Pool &p) { p.drop(); }
