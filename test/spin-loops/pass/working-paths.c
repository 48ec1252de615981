// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that wait in some iterations and work in others: the waiting iterations
// are rewritten.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

// REQUIRES: host-x86_64

#include <stdatomic.h>

atomic_int ready, stop, ticket, gate;
void set_ready(int value) { atomic_store(&ready, value); }
void request_stop(void) { atomic_store(&stop, 1); }
void advance(void) { atomic_fetch_add(&ticket, 1); }
void open_gate(void) { atomic_store(&gate, 0); }
void work(void);
int works(void);
void warn(int what);

// CHECK-LABEL: @consume(
// CHECK: call {{.*}}@vf_spin_wait
// CHECK: call void @work
void consume(void) {
  // expected-remark@+2 {{on atomic 'ready' wastes}}
  // expected-remark@+1 {{link with libvfrt}}
  for (;;) {
    if (!atomic_load(&ready))
      continue;
    work();
  }
}

// Why not: it serves a queue until it is told to stop. Without a hint, nothing
// says that it waits for work.
// CHECK-LABEL: @serve(
// CHECK-NOT: @vf_spin_wait
void serve(void) {
  while (!atomic_load(&stop)) {
    if (!atomic_load(&ready))
      continue;
    work();
  }
}

// Both kinds of iteration end with the same test.
// CHECK-LABEL: @consume_until(
// CHECK: call {{.*}}@vf_spin_wait
void consume_until(void) {
  // expected-remark@+1 {{on atomic 'ready', atomic 'stop' wastes}}
  do {
    __builtin_ia32_pause();
    if (atomic_load(&ready))
      work();
  } while (!atomic_load(&stop));
}

// CHECK-LABEL: @wait_for_turn(
// CHECK: call {{.*}}@vf_spin_wait
void wait_for_turn(int mine) {
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  while (atomic_load(&ticket) != mine) {
    if (atomic_load(&ticket) & 1)
      warn(1);
  }
}

// A reader waits for the writer before it counts itself in. The iterations that
// take the count back are left.
// CHECK-LABEL: @enter(
// CHECK: call {{.*}}@vf_spin_wait
// CHECK: atomicrmw add
// CHECK: atomicrmw sub
void enter(void) {
  // expected-remark@+1 {{on atomic 'gate' wastes}}
  for (;;) {
    if (!(atomic_load(&gate) & 1)) {
      if (!(atomic_fetch_add(&gate, 2) & 1))
        return;
      atomic_fetch_sub(&gate, 2);
    }
  }
}

// Why not: the iterations without work() count, and end the loop by themselves.
// CHECK-LABEL: @look_often(
// CHECK-NOT: @vf_spin_wait
void look_often(int times) {
  for (int i = 0; i < times; ++i)
    if (atomic_load(&ready))
      work();
}

// Why not: each iteration works.
// CHECK-LABEL: @always(
// CHECK-NOT: @vf_spin_wait
void always(void) {
  do
    work();
  while (!atomic_load(&ready));
}

// Why not: the next iteration may work though no other thread writes.
// CHECK-LABEL: @by_turns(
// CHECK-NOT: @vf_spin_wait
void by_turns(void) {
  for (int turn = 0; !atomic_load(&stop); turn ^= 1)
    if (turn)
      work();
}

// Why not: the iterations without work() are a lock-free update, which can
// succeed without another thread.
// CHECK-LABEL: @update(
// CHECK-NOT: @vf_spin_wait
void update(void) {
  int old = atomic_load(&ready);
  for (;;) {
    if (atomic_compare_exchange_weak(&ready, &old, old + 1)) {
      if (works())
        return;
      old = atomic_load(&ready);
    }
  }
}

// Why not: while the semaphore has units, each iteration is an update that can
// succeed at once. Only block() waits.
void block(atomic_int *word);
// CHECK-LABEL: @semaphore_down(
// CHECK-NOT: @vf_spin_wait
void semaphore_down(void) {
  int units;
  do {
    units = atomic_load(&ready);
    if (units == 0)
      block(&ready);
  } while (units == 0 ||
           !atomic_compare_exchange_strong(&ready, &units, units - 1));
}

// Waits for the holder: the exchange expects a value that another thread stores.
// CHECK-LABEL: @lock_or_block(
// CHECK: call {{.*}}@vf_spin_wait
void lock_or_block(void) {
  int state;
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  do {
    state = atomic_load(&gate);
    if (state == 2)
      block(&gate);
  } while (state != 0 || !atomic_compare_exchange_strong(&gate, &state, 1));
}

// Why not: plain memory. Loops that work read it in most iterations.
int plain_ready;
// CHECK-LABEL: @plain(
// CHECK-NOT: @vf_spin_wait
void plain(void) {
  while (!atomic_load(&stop) || plain_ready)
    if (plain_ready && works())
      work();
}

// Why not: the time may end an iteration that only looks.
long clock_now(void);
// CHECK-LABEL: @timed(
// CHECK-NOT: @vf_spin_wait
void timed(long limit) {
  for (;;) {
    if (clock_now() > limit)
      return;
    if (atomic_load(&ready))
      work();
  }
}

// CHECK-LABEL: define {{.*}}@vf_spin_wait_or_fallback(
