// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Abseil, absl::Mutex

#include <absl/synchronization/mutex.h>

struct Lock {
  absl::Mutex mutex;
  void lock() { mutex.Lock(); }
  void unlock() { mutex.Unlock(); }
};
