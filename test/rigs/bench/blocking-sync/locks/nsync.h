// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nsync, nsync_mu

#include <nsync.h>

struct Lock {
  nsync::nsync_mu mutex = NSYNC_MU_INIT;
  void lock() { nsync::nsync_mu_lock(&mutex); }
  void unlock() { nsync::nsync_mu_unlock(&mutex); }
};
