// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that work in some iterations and wait in others are lowered only if a read of atomic or volatile
// memory may decide whether they go on: by a condition, or by a local variable, however it gets the value.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu++17 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <atomic>

std::atomic<int> ready, stop;
volatile int flag;
long results[64];
void work(int);

static void get(int *to) { *to = ready.load(); }
static int read() { return ready.load(); }
struct Reader {
  int seen = 0;
  void update() { seen = ready.load(); }
};

void by_condition() {
  for (;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic 'ready'
    if (!ready.load())
      continue;
    work(1);
  }
}
void by_local() {
  for (;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic 'ready'
    int seen = ready.load();
    if (!seen)
      continue;
    work(seen);
  }
}
void by_assignment() {
  for (int seen;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on volatile 'flag'
    seen = flag;
    if (!seen)
      continue;
    work(seen);
  }
}
void by_choice(bool first) {
  for (;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic
    if (!(first ? ready.load() : stop.load()))
      continue;
    work(2);
  }
}
void by_address() {
  for (int seen;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic 'ready'
    get(&seen);
    if (!seen)
      continue;
    work(seen);
  }
}
void by_result() {
  for (;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic 'ready'
    if (!read())
      continue;
    work(3);
  }
}
void by_object() {
  for (Reader r;;) {
    // CHECK: :[[@LINE-1]]:3: warning: loop spins on atomic 'ready'
    r.update();
    if (!r.seen)
      continue;
    work(r.seen);
  }
}
// Twin: what it reads is a part of the result.
void not_deciding(int n) {
  for (int i = 0; i < n; i++)
    results[i] = i + flag;
}
