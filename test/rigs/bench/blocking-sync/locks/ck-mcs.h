// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concurrency Kit, ck_spinlock_mcs: a pointer, null when free

extern "C" void ck_mcs_lock(void *);
extern "C" void ck_mcs_unlock(void *);

struct Lock {
  void *queue = nullptr;
  void lock() { ck_mcs_lock(&queue); }
  void unlock() { ck_mcs_unlock(&queue); }
};
