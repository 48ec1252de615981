// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits without a hint whose failed iterations change nothing: a remark, and never
// a rewrite.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not=@vf_spin_wait --implicit-check-not=sse2.pause
// CHECK: define

#include <stdatomic.h>

atomic_int gate;
void open_gate(void) { atomic_store(&gate, 0); }
void throw_exception(int what);

// A reader counts himself in, finds a writer, and counts himself out.
void enter(void) {
  // expected-remark@+1 {{left as it is: each iteration undoes its change of shared memory}}
  for (;;) {
    if (!(atomic_fetch_add(&gate, 2) & 1))
      return;
    atomic_fetch_sub(&gate, 2);
  }
}

// A queue that is broken: nobody's turn comes any more. The turn is read from
// plain memory, so its iterations are not separated (working-paths.c).
int turn;
void wait_for_turn(int mine) {
  // expected-remark@+1 {{left as it is: it calls 'throw_exception', which may return}}
  while (turn != mine) {
    if (turn & 1)
      throw_exception(1);
  }
}

// Why not: each iteration leaves its mark.
void not_taken_back(void) {
  while (atomic_fetch_add(&gate, 2) & 1)
    ;
}

// Why not: not all of it is taken back.
void not_all(void) {
  for (;;) {
    if (!(atomic_fetch_add(&gate, 4) & 1))
      return;
    atomic_fetch_sub(&gate, 2);
  }
}
