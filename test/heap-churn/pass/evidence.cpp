// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left is missed only where the function itself frees it in a loop. What
// it does not may have to live on, and is told to who asks for the analysis.
//
// RUN: %vf_clangxx -std=c++17 -O2 -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clangxx -std=c++17 -O2 -c %s -o %t.o -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --check-prefix=ANALYSIS --implicit-check-not=remark:

#include <cstdlib>
#include <cstring>

struct Node {
  explicit Node(int);
  int value;
  Node *next;
};
bool fill(char *, int);
void keep(void *);

// CHECK: :[[#@LINE+3]]:{{.*}}: each iteration allocates memory and frees it; kept: a function that it is passed to may keep its address
void pair(int n) {
  for (int i = 0; i < n; ++i) {
    char *p = static_cast<char *>(std::malloc(n));
    if (fill(p, i))
      keep(p);
    std::free(p);
  }
}

// Not this iteration's, perhaps.
// CHECK: :[[#@LINE+4]]:{{.*}}: each iteration allocates memory and frees it; kept: a function that it is passed to may keep its address
char *longest(int n) {
  char *best = nullptr;
  for (int i = 0; i < n; ++i) {
    char *p = static_cast<char *>(std::malloc(n));
    char *worse = fill(p, i) ? best : p;
    best = worse == p ? best : p;
    std::free(worse);
  }
  return best;
}

// It lives on in a list.
// ANALYSIS: :[[#@LINE+4]]:{{.*}}: each iteration allocates memory; kept: it is returned
Node *lives(int n) {
  Node *list = nullptr;
  for (int i = 0; i < n; ++i) {
    auto *node = static_cast<Node *>(std::malloc(sizeof(Node)));
    node->next = list;
    list = node;
  }
  return list;
}

// It is seldom another, or so it seems.
// ANALYSIS: :[[#@LINE+6]]:{{.*}}: each iteration allocates memory; kept: a function that it is passed to may keep its address
void seldom(int n) {
  char *last = nullptr;
  for (int i = 0; i < n; ++i)
    if (fill(last, i)) {
      std::free(last);
      last = static_cast<char *>(std::malloc(n));
    }
  std::free(last);
}

// The loop is left where it is freed.
// ANALYSIS: :[[#@LINE+3]]:{{.*}}: each iteration allocates memory; kept: a function that it is passed to may keep its address
bool unless(char **into, int n) {
  for (int i = 0; i < n; ++i) {
    char *p = static_cast<char *>(std::malloc(n));
    if (!fill(p, i)) {
      std::free(p);
      return false;
    }
    into[i] = p;
  }
  return true;
}

// It is freed only where the constructor throws.
// ANALYSIS: :[[#@LINE+4]]:{{.*}}: each iteration allocates memory; kept: its address is stored
void built(Node **into, int n) {
  for (int i = 0; i < n; ++i)
    try {
      into[i] = new Node(i);
    } catch (...) {
      into[i] = nullptr;
    }
}
