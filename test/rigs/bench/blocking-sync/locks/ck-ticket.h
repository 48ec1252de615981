// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concurrency Kit, ck_spinlock_ticket: two numbers, zero when free

extern "C" void ck_ticket_lock(void *);
extern "C" void ck_ticket_unlock(void *);

struct Lock {
  alignas(16) char spin[16] = {};
  void lock() { ck_ticket_lock(&spin); }
  void unlock() { ck_ticket_unlock(&spin); }
};
