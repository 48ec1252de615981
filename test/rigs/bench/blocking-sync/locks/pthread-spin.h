// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc, pthread_spinlock_t

#include <pthread.h>

struct Lock {
  pthread_spinlock_t spin;
  Lock() { pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE); }
  void lock() { pthread_spin_lock(&spin); }
  void unlock() { pthread_spin_unlock(&spin); }
};
