//===- WaitKeys.h - What a wait sleeps on -----------------------*- C++ -*-===//
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
//   the first word, which a writer computes from its own and the distance;
// - they are anywhere else: the key is a constant, made of the names of all.
//
// Waits of the third kind in different objects share their key: a notify for
// one wakes all of them, and costs each that blocks at that time one more poll.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_WAITKEYS_H
#define VFRIENDLY_PASSES_SPINLOOPS_WAITKEYS_H

#include "passes/spin-loops/SpinLoopAnalysis.h"
#include "passes/spin-loops/Writers.h"

namespace vfriendly {

struct WaitKey {
  /// What the wait passes to the runtime; null if no key is known to the
  /// writers of all its words.
  llvm::Value *Address = nullptr;
  /// True if the key stands for several words; false if it is the address of
  /// the only polled word.
  bool Several = false;
  /// The words, and what their writers notify. Empty without an address.
  llvm::SmallVector<std::pair<Location, NotifyKey>, 2> Words;
};

/// Returns the key of S. Valid while S is unchanged.
WaitKey keyOf(const SpinLoop &S);

} // namespace vfriendly

#endif
