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

// Destructors: of a variable of each iteration, of one in a function that the loop calls, of an object that the loop deletes.
struct Trim {
  // CHECK: :[[@LINE+1]]:13: warning: a loop in 'guards' calls 'malloc_trim' in its iterations, through '~Trim'
  ~Trim() { malloc_trim(0); }
};
void guards() {
  while (next()) {
    Trim trim;
    use(malloc(100));
  }
}
struct TrimLater {
  // CHECK: :[[@LINE+1]]:18: warning: a loop in 'upload' calls 'malloc_trim' in its iterations, through 'upload_one'
  ~TrimLater() { malloc_trim(0); }
};
template <class T> static void upload_one(const T &content) {
  TrimLater trim;
  use((void *)content.data());
}
void upload(const std::vector<std::vector<char>> &files) {
  for (const auto &file : files)
    upload_one(file);
}
struct Buffer {
  void *memory = malloc(1000);
  ~Buffer() {
    free(memory);
    // CHECK: :[[@LINE+1]]:5: warning: a loop in 'buffers' calls 'malloc_trim' in its iterations, through '~Buffer'
    malloc_trim(0);
  }
};
void buffers(std::vector<Buffer *> &all) {
  for (Buffer *each : all)
    delete each;
}
// Not reported: it outlives the loop, few iterations have one, another class may override the destructor, the destructor trims rarely,
// or the variable is a reference.
struct TrimAtEnd {
  ~TrimAtEnd() { malloc_trim(0); }
};
struct Base {
  virtual ~Base() { malloc_trim(0); }
};
struct TrimRarely {
  ~TrimRarely() {
    static int ended;
    if (++ended % 4096 == 0)
      malloc_trim(0);
  }
};
void otherDestructors(std::vector<Base *> &all, TrimAtEnd &known) {
  TrimAtEnd trim;
  static TrimAtEnd always;
  while (next()) {
    TrimAtEnd &same = known;
    TrimRarely rarely;
    use(&same);
    if (malloc(1) == nullptr)
      TrimAtEnd now;
  }
  for (Base *each : all)
    delete each;
}
