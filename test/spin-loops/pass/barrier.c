// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers: a thread counts itself in and polls until all have come.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

struct barrier {
  atomic_int missing, sense;
  int threads;
};

void sense_reversing(struct barrier *b, int *sense) {
  int mine = *sense = !*sense;
  if (atomic_fetch_sub(&b->missing, 1) == 1) {
    atomic_store(&b->missing, b->threads);
    atomic_store(&b->sense, mine);
    return;
  }
  // expected-remark-re@+1 {{(barrier) on atomic memory {{.*}}wait in the runtime [}}
  while (atomic_load(&b->sense) != mine) {}
}

struct { volatile int arrived, generation; } old;

void generation(int threads) {
  int mine = old.generation;
  if (__sync_add_and_fetch(&old.arrived, 1) == threads) {
    old.arrived = 0;
    old.generation = mine + 1;
  } else {
    // expected-remark-re@+1 {{(barrier) on volatile 'old' {{.*}}wait in the runtime [}}
    while (old.generation == mine) {}
  }
}

atomic_int count;

void counting(int threads) {
  atomic_fetch_add(&count, 1);
  // expected-remark-re@+1 {{(barrier) on atomic 'count' {{.*}}wait in the runtime [}}
  while (atomic_load(&count) < threads) {}
}

int plain_sense;

void plain(int mine) {
  if (atomic_fetch_add(&count, 1) == 3) {
    plain_sense = mine;
  } else {
    // expected-remark-re@+1 {{(barrier) on plain 'plain_sense' {{.*}}wait in the runtime;}}
    while (plain_sense != mine) {}
  }
}

// Why not: each round does a part of the work that has been shared out.
int not_shared_work(const int *work, int n) {
  int sum = 0, i;
  while ((i = atomic_fetch_add(&count, 1)) < n)
    sum += work[i];
  return sum;
}

// Why not a barrier: an addition of 0 is a read.
int not_arrived(int mine) {
  int before = atomic_fetch_add(&count, 0);
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_sense' {{.*}}wait in the runtime;}}
  while (plain_sense != mine) {}
  return before;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
