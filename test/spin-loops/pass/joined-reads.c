// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that a loop may have read in several ways: only what it has read at one place is compared with itself.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

atomic_int flag;
atomic_uint x, y;
unsigned z;

void either(int c) {
  unsigned a;
  do // expected-remark@+1 {{(flag poll)}}
    a = c ? atomic_load(&y) : atomic_load(&x);
  while ((a & 1) || a != atomic_load(&x));
}
void same(int c) {
  unsigned a;
  do // expected-remark@+1 {{(seqlock reader)}}
    a = c ? atomic_load(&x) : atomic_load_explicit(&x, memory_order_relaxed);
  while ((a & 1) || a != atomic_load(&x));
}
// What it reads is computed from itself.
void halves(unsigned v) {
  // expected-remark@+3 {{(test-and-test-and-set)}}
  do
    v >>= 1;
  while (!atomic_load(&flag) || !__sync_bool_compare_and_swap(&z, v, v + 1));
}
void write_all(void) {
  atomic_store(&flag, 1);
  atomic_store(&x, 1);
  atomic_store(&y, 1);
  z = 1;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
