// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors and strings that are reported and stay where they are, each for its
// reason.
// RUN: cp %s %t.cpp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-*' --fix %t.cpp -- -std=c++17 > %t.out 2>&1
// RUN: grep -c 'warning: .*vfriendly-heap-churn' %t.out | FileCheck %s
// CHECK: {{^}}13{{$}}
// RUN: diff %s %t.cpp

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

int ask();
void read(const std::vector<int> &);
template <class T> struct Arena : std::allocator<T> {
  template <class U> struct rebind {
    using other = Arena<U>;
  };
};
// Its destructor has something to tell, at the end of each iteration.
struct Loud {
  ~Loud();
};
struct Other {
  int *p;
  ~Other() { delete p; }
};

void stays(int n) {
  for (int i = 0; i < n; ++i) {
    std::vector<Loud> loud;
    loud.emplace_back();
    // With elements in braces: clear would not do (fix-containers.cpp has what assign does).
    std::vector<int> listed{i, n};
    read(listed);
    // Looks at what changes.
    std::vector<int> filled;
    filled.push_back(i);
    if (filled.capacity() > 4)
      return;
    // Two in one declaration.
    std::vector<int> one, two;
    one.push_back(1);
    // Of a type that only the loop knows.
    struct Local {
      int a;
    };
    std::vector<Local> local;
    local.push_back({1});
  }
}
// The name is taken behind the loop, and before.
void names(int n) {
  while (n--) {
    std::vector<int> v;
    v.push_back(n);
    read(v);
  }
  int v = ask();
  while (v--)
    ;
}
// In the instances of a template: the text is that of all.
template <class T> void instance(int n) {
  while (n--) {
    std::vector<T> in_template;
    in_template.push_back(T());
  }
}
void instantiate() { instance<int>(3); }
// The text is the macro's.
#define ROUNDS(n)                                                              \
  while (n--) {                                                                \
    std::vector<int> in_macro;                                                 \
    in_macro.push_back(n);                                                     \
  }
void in_macro(int n) { ROUNDS(n) }
// In a condition there is no place before the loop.
void no_block(int n) {
  if (n)
    while (n--) {
      std::vector<int> no_room;
      no_room.push_back(n);
    }
}
// An exception behind the release would lose the buffer.
void may_throw(int n) {
  while (n--) {
    char *p = static_cast<char *>(std::malloc(10));
    if (p)
      p[0] = 1;
    std::free(p);
    ask();
  }
}
// What the destructors do, and in which order, is not for us to change.
void order(int n) {
  Other *others[100];
  for (int i = 0; i < 100; ++i)
    others[i] = new Other();
  for (int i = 99; i >= 0; --i)
    delete others[i];
}

// Below zero: the loop would have no iterations, reserve would throw.
int below_zero(int n) {
  std::vector<int> v;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += i;
    v.push_back(i);
  }
  return sum + v.size();
}
// Not reported: how many it will be is not known before, or it is not the first
// to come, or the loop does nothing else, which
// performance-inefficient-vector-operation finds.
std::vector<int> unknown(unsigned n) {
  std::vector<int> some, more, plain;
  for (unsigned i = 0; i < n; ++i) {
    if (ask())
      some.push_back(i);
    ask();
  }
  more.push_back(ask());
  for (unsigned i = 0; i < n; ++i) {
    if (ask())
      break;
    more.push_back(i);
  }
  for (unsigned i = 0; i < n; ++i)
    plain.push_back(i);
  some.insert(some.end(), more.begin(), more.end());
  some.insert(some.end(), plain.begin(), plain.end());
  return some;
}
