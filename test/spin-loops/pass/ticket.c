// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock that hands out numbers: each waiter polls until its number is called.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <stdatomic.h>

struct ticket_lock {
  atomic_uint next, owner;
};
struct packed_lock {
  volatile unsigned word; // high half: next, low half: owner
};
atomic_uint next, owner;
struct { volatile int next, owner; } old;

// CHECK-LABEL: @lock_c11(
// Who is next is decided: one that sleeps holds up all behind it. 0x200: never
// sleep, 0x100: is notified, 4 bytes.
// CHECK: @vf_spin_wait_or_fallback({{.*}}, i32 8964)
void lock_c11(struct ticket_lock *l) {
  unsigned mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
  // expected-remark-re@+1 {{(ticket lock) on atomic memory {{.*}}wait in the runtime [}}
  while (atomic_load_explicit(&l->owner, memory_order_acquire) != mine) {}
}

void unlock_c11(struct ticket_lock *l) {
  atomic_store_explicit(&l->owner, atomic_load(&l->owner) + 1,
                        memory_order_release);
}

void lock_global(void) {
  unsigned mine = atomic_fetch_add(&next, 1);
  // llvm19-remark-re@+1 {{(ticket lock) on atomic 'owner' {{.*}}wait in the runtime [}}
  for (;;) {
    // llvm22-remark-re@+1 {{(ticket lock) on atomic 'owner' {{.*}}wait in the runtime [}}
    if (mine == atomic_load(&owner))
      break;
  }
}

void unlock_global(void) { atomic_fetch_add(&owner, 1); }

void lock_sync(void) {
  int mine = __sync_fetch_and_add(&old.next, 1);
  // expected-remark-re@+1 {{(ticket lock) on volatile 'old' {{.*}}wait in the runtime [}}
  while (old.owner != mine) {}
}

void unlock_sync(void) { old.owner++; }

void lock_packed(struct packed_lock *l) {
  unsigned got = __sync_fetch_and_add(&l->word, 0x10000u);
  // expected-remark-re@+1 {{(ticket lock) on volatile memory {{.*}}wait in the runtime [}}
  while ((l->word & 0xffff) != got >> 16) {}
}

void unlock_packed(struct packed_lock *l) { __sync_fetch_and_add(&l->word, 1); }

// Why not: nobody is waited for, the number is only drawn again and again.
unsigned not_drawing(void) {
  unsigned mine;
  while ((mine = atomic_fetch_add(&next, 1)) % 8) {}
  return mine;
}

// Why not a ticket lock: what is compared with is a parameter, so a sleeping
// waiter holds up nobody.
void flag_not_ticket(unsigned goal) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'owner' {{.*}}wait in the runtime [}}
  while (atomic_load(&owner) != goal) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
