// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was taken last is freed first, in C++: by the author's loop, or as the language has it.
//
// RUN: %vf_clangxx -O2 -c %s -o %t.o -Rpass-missed=vf-heap-churn 2>&1 | grep -v 'each iteration takes' | FileCheck %s --implicit-check-not=remark:

#include <cstdlib>

void use(void *);

struct text {
  char *at;
  text() : at(static_cast<char *>(malloc(100))) {}
  ~text() { free(at); }
};

void by_author(int n) {
  text **all = new text *[n];
  for (int i = 0; i < n; ++i)
    all[i] = new text;
  use(all);
  for (int i = n; i-- > 0;)
    // CHECK: reverse.cpp:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    delete all[i];
  delete[] all;
}
// Arrays are destroyed backwards.
void by_language() {
  text all[100];
  use(all);
}
void by_delete(unsigned n) {
  text *all = new text[n];
  use(all);
  delete[] all;
}

// The loop is the author's, in a destructor.
struct table {
  char *row[100];
  table() {
    for (char *&each : row)
      each = static_cast<char *>(malloc(100));
  }
  ~table() {
    for (int i = 100; i--;)
      free(row[i]);
  }
};
void in_destructor() {
  table all;
  use(&all);
  // CHECK: reverse.cpp:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
}
