// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++: what new takes, with delete on all ways out. RAII frees it where an exception leaves
// the loop as well.
//
// RUN: %vf_clangxx -std=c++17 -O2 -S -emit-llvm %s -o %t.ll -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: FileCheck %s --check-prefix=IR < %t.ll

#include <memory>
#include <new>
#include <vector>

__attribute__((noinline)) long look(const int *p, size_t n) {
  long sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += p[i];
  return sum;
}
void unknown(long);
void keep(int *);

// A remark about what a library took is at the place that the author knows.
long vectors(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} the block that each iteration of the loop allocates and frees is allocated once
    std::vector<int> v(n, i);
    sum += look(v.data(), n);
  }
  return sum;
}

// The call may throw: the landing pad frees it.
long throws(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} is allocated once
    std::vector<int> v(n, i);
    sum += look(v.data(), n);
    unknown(sum);
    sum += v[1];
  }
  return sum;
}
// IR-LABEL: @_Z6throws
// IR: call {{.*}} @_Znwm({{.*}}!vf.heap
// IR: landingpad
// IR: call void @_ZdlPvm(

// Sizes differ, and delete is told the one of what is kept.
long sizes(const size_t *n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} is allocated once
    std::vector<int> v(n[i], i);
    sum += look(v.data(), n[i]);
  }
  return sum;
}

// Caught in the loop: new fails, and the next iteration tries again.
long caught(const size_t *n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} is allocated once
      int *p = new int[n[i]]();
      sum += look(p, n[i]);
      delete[] p;
    } catch (std::bad_alloc &) {
      sum -= 1;
    }
  }
  return sum;
}
// IR-LABEL: @_Z6caught
// IR: invoke {{.*}} @_Znam(
// IR-NEXT: to label {{.*}}!vf.heap

struct Small {
  int a[4];
};
int small(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} a variable takes the place of 16 bytes
    auto p = std::make_unique<Small>();
    p->a[i & 3] = i;
    sum += look(p->a, 4);
  }
  return sum;
}

// What throws between the iterations' uses would lose the buffer: nothing frees it there.
long between(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    unknown(i);
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} kept: a call in the loop may throw, call longjmp or end the thread
    int *p = new int[n + 1]();
    sum += look(p, n);
    delete[] p;
  }
  return sum;
}

// A vector's growth is one buffer after the other.
long grows(int rounds) {
  std::vector<int> v;
  for (int i = 0; i < rounds; ++i)
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} kept: its address is
    v.push_back(i);
  return look(v.data(), v.size());
}

// Not a new-expression: a direct call is not LLVM's to remove.
long direct(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    int *p = static_cast<int *>(::operator new(n * 4 + 4));
    p[0] = i;
    sum += look(p, 1);
    ::operator delete(p);
  }
  return sum;
}
// IR-LABEL: @_Z6direct
// IR-NOT: vf.heap
// IR: ret i64

// Taken by new[] and freed by delete: an error, and left one.
long mismatched(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} kept: it is freed by a function that does not match its allocation
    int *p = new int[n + 1]();
    sum += look(p, n);
    delete p;
  }
  return sum;
}

long escapes(size_t n, int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    // CHECK: exceptions.cpp:[[#@LINE+1]]:{{.*}} kept: a function that it is passed to may keep its address
    std::unique_ptr<int[]> p(new int[n + 1]());
    keep(p.get());
  }
  return sum;
}
