// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With debug information the module stays well-formed at each level, and the
// wait has a line of its own function. So do functions that the pass copies: one
// that gets its body back, and one with a loop that it tries to split.
//
// RUN: %vf_clang -g -O1 -S -emit-llvm %s -o - | opt -passes=verify -S | FileCheck %s
// RUN: %vf_clang -g -O2 -S -emit-llvm %s -o - | opt -passes=verify -S 2>&1 | FileCheck %s --implicit-check-not="invalid debug info"
// RUN: %vf_clang -g -O3 -flto -S -emit-llvm %s -o - | opt -passes=verify -S | FileCheck %s
// RUN: %vf_clang -g -O2 -c %s -o %t.o
// RUN: llvm-dwarfdump --verify %t.o

static int done(volatile int *p) { return *p; }
volatile int word;
int plain;
void set(void) {
  word = 1;
  plain = 1;
}

// CHECK: define {{.*}}@wait({{.*}} !dbg ![[WAIT:[0-9]+]]
// CHECK: call {{.*}}@vf_spin_wait_or_fallback({{.*}} !dbg ![[LINE:[0-9]+]]
// CHECK: define {{.*}}@choose({{.*}} !dbg ![[CHOOSE:[0-9]+]]
// CHECK: define {{.*}}@take_turn({{.*}} !dbg ![[TURN:[0-9]+]]
// CHECK: ![[WAIT]] = distinct !DISubprogram(name: "wait"
// One function of each name: those of copies are gone.
// CHECK: ![[CHOOSE]] = distinct !DISubprogram(name: "choose"
// CHECK-NOT: distinct !DISubprogram(name: "choose"
// CHECK: ![[TURN]] = distinct !DISubprogram(name: "take_turn"
// CHECK-NOT: distinct !DISubprogram(name: "{{choose|take_turn}}"
void wait(void) {
  while (!done(&word)) {}
  while (!plain) {}
}

double draw(unsigned long *seed);
int choose(unsigned long *seed) {
  double part[12] = {0.14, 0.052, 0.275, 0.134, 0.154, 0.064, 0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
  double at = draw(seed);
  for (int i = 0; i < 12; i++) {
    double sum = 0;
    for (int j = i; j > 0; j--)
      sum += part[j];
    if (at < sum)
      return i;
  }
  return 0;
}

int work(int);
_Atomic int turn;
int take_turn(int me) {
  for (int step = 0; step < 5; step++) {
    int mine = step * 2 + me;
    while (turn != mine) {}
    int result = work(mine);
    if (result)
      return result;
    turn = mine + 1;
  }
  return 0;
}
