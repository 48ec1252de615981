// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation accepts the debug information of a function that the pass has
// copied, although a loop in it reads shared memory in a scope of its own.
//
// RUN: %vf_clangxx -std=c++20 -g -O2 -S -emit-llvm %s -o - | opt -passes=verify -disable-output 2>&1 | count 0
// RUN: %vf_clangxx -std=c++20 -g -O2 -c %s -o %t.o
// RUN: llvm-dwarfdump --verify %t.o

#include <atomic>
#include <cstring>

std::atomic<int> level;
int uses;
int next(int), names(char *);
void log_line(const char *);

int init(int n) {
  if (uses++)
    return 0;
  if (n > 1) {
    char all[64];
    int k = names(all);
    if (k <= 0) {
      return 1;
    } else {
      char line[128];
      line[0] = 0;
      for (int i = 0; i < k; ++i) {
        int e = next(i);
        if (e) {
          if (level.load(std::memory_order_acquire) > 1)
            log_line(all);
          return e;
        }
        strncat(line, all + i, 8);
      }
      if (level.load(std::memory_order_acquire) > 1)
        log_line(line);
    }
  }
  return 0;
}
