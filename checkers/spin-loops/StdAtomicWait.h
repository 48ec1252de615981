//===- StdAtomicWait.h - Fix-its with std::atomic's wait --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_STDATOMICWAIT_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_STDATOMICWAIT_H

#include "checkers/spin-loops/FixIts.h"

namespace vfriendly::tidy {

/// Plans a fix with C++20's wait and notify_all. Unlike the runtime's waits,
/// std::atomic's wait may never return without a notify, so the fix requires
/// that every write is known.
Fix planStdAtomicWait(const WrittenWait &Spin, const LoopSite &Site,
                      TuUses &Uses);

} // namespace vfriendly::tidy

#endif
