//===- WaitKeys.h - Keys that waits sleep on --------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wait for one word sleeps on that word's address. A wait whose condition
// reads several words sleeps on one key, and the writers of each of the words
// notify that key:
//
// - the words are parts of one global: the key is the global;
// - they are at constant distances from each other: the key is the address of
//   the first word, which a writer computes from the address that it writes and
//   the distance;
// - otherwise: the key is a constant, computed from the names of all words.
//
// Waits of the third kind in different objects of one type share their key: a
// notify for one of them wakes all waiters, and each waiter whose condition is
// not true only makes one more poll.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WAITKEYS_H
#define VFRIENDLY_PASSES_SPINLOOPS_WAITKEYS_H

#include "passes/spin-loops/SpinLoopAnalysis.h"
#include "passes/spin-loops/Writers.h"

namespace vfriendly {

struct WaitKey {
  /// The key that the wait passes to the runtime; null if the writers of its
  /// words cannot all compute a common key.
  llvm::Value *Address = nullptr;
  /// True if the key stands for several words; false if it is the address of
  /// the only polled word.
  bool Several = false;
  /// Each word with the key that its writers notify. Empty if Address is null.
  llvm::SmallVector<std::pair<Location, NotifyKey>, 2> Words;
};

/// Returns the key of S. Valid while S is unchanged.
WaitKey keyOf(const SpinLoop &S);

} // namespace vfriendly

#endif
