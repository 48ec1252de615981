// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libvfrt

#include "vfriendly/mutex.h"

struct Lock {
  vf_mutex mutex = VF_MUTEX_INIT;
  void lock() { vf_mutex_lock(&mutex); }
  void unlock() { vf_mutex_unlock(&mutex); }
};
