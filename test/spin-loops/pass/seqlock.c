// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A seqlock's reader waits while a write is under way (odd version), and reads
// again if one came in between.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

struct seq {
  atomic_uint version;
  atomic_int a, b;
};

int read_both(struct seq *s) {
  unsigned before;
  int a, b;
  do { // expected-remark {{(lock-free retry) on atomic memory}}
    // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
    while ((before = atomic_load_explicit(&s->version, memory_order_acquire)) & 1) {}
    a = atomic_load_explicit(&s->a, memory_order_relaxed);
    b = atomic_load_explicit(&s->b, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
  } while (atomic_load_explicit(&s->version, memory_order_relaxed) != before);
  return a + b;
}

volatile unsigned version;
int value;

int read_one(void) {
  unsigned before, after;
  int v;
  do { // expected-remark-re {{(seqlock reader) on volatile 'version'{{.*}}give the CPU's spin hint, and nothing else: a seqlock's reader waits only until a write has ended}}
    before = version;
    __sync_synchronize();
    v = *(volatile int *)&value;
    __sync_synchronize();
    after = version;
  } while ((before & 1) || before != after);
  return v;
}

void write_both(struct seq *s, int a, int b) {
  atomic_fetch_add(&s->version, 1);
  atomic_store_explicit(&s->a, a, memory_order_relaxed);
  atomic_store_explicit(&s->b, b, memory_order_relaxed);
  atomic_fetch_add(&s->version, 1);
}

void write_one(int v) {
  version++;
  value = v;
  version++;
}

// Why not the outer loop: it stores what it read where others may see it.
int read_into(struct seq *s, int *a) {
  unsigned before;
  do {
    // expected-remark-re@+1 {{(flag poll) on atomic memory {{.*}}wait in the runtime [}}
    while ((before = atomic_load_explicit(&s->version, memory_order_acquire)) & 1) {}
    *a = atomic_load_explicit(&s->a, memory_order_relaxed);
  } while (atomic_load_explicit(&s->version, memory_order_acquire) != before);
  return *a;
}

// Why not: with no odd version to wait for, reading again is all there is to
// it: the second reading can succeed at once.
int not_reread(atomic_int *a) {
  int before, after;
  do { // expected-remark {{(lock-free retry) on atomic memory}}
    before = atomic_load(a);
    after = atomic_load(a);
  } while (before != after);
  return after;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
