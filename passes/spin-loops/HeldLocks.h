//===- HeldLocks.h - Long calls in critical sections ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_HELDLOCKS_H
#define VFRIENDLY_PASSES_SPINLOOPS_HELDLOCKS_H

#include "llvm/Analysis/LoopInfo.h"

namespace llvm {
class CallBase;
class CallInst;
} // namespace llvm

namespace vfriendly {

/// Returns the first call that may sleep or enter the kernel between the end of
/// the wait, by which the thread has taken a lock, and the release of that
/// lock; null if there is none, or the loop takes no lock, or nothing here
/// releases it.
///
///     loop:    try to take Word -- failed --> Wait(Word) --> loop
///                 | taken
///              malloc()            <-- this
///                 |
///              store Word
const llvm::CallBase *longCallWhileHeld(const llvm::CallInst &Wait,
                                        const llvm::LoopInfo &LI);

} // namespace vfriendly

#endif
