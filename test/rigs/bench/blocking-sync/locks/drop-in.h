// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock behind functions: those of locks/drop-in.c, or parking_lot's.

extern "C" {
void *drop_in_new(void);
void drop_in_lock(void *);
void drop_in_unlock(void *);
}

struct Lock {
  void *lock_ = drop_in_new();
  void lock() { drop_in_lock(lock_); }
  void unlock() { drop_in_unlock(lock_); }
};
