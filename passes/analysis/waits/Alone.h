//===- Alone.h - A loop while no other thread writes ------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop waits if it can go on for ever while no other thread writes. A loop
// that then ends by itself only retries: whatever keeps it in the loop shows
// that another thread has changed a word meanwhile.
//
//   while (!exchange(&word, read = load(&word), f(read)));    a retry
//   do a = load(&version); while (a != load(&version));       a retry
//   while (!exchange(&word, FREE, TAKEN));                    a wait
//
// So the ways from the header back to it are followed with one value for all
// reads of a place. A way is impossible if the conditions along it contradict
// each other, as in `a != a`, or if it passes an exchange that must succeed.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_ALONE_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_ALONE_H

#include "passes/analysis/waits/LoopView.h"

namespace vfriendly {

/// Tells of an exchange, a cmpxchg or inline assembly, that its next attempt
/// succeeds for reasons that the ways do not show. ExpectsNumber: on this way
/// it expects a number that was not read, such as a first guess.
using ExchangeTest = llvm::function_ref<bool(const llvm::Instruction &Exchange,
                                             bool ExpectsNumber)>;

/// Returns true if an iteration of the loop that is followed by another one is
/// possible while no other thread writes. ShowsProgress tells of an edge that
/// it is taken only if another thread has made progress. Returns false if there
/// are too many ways.
bool mayGoOnAlone(LoopView &In, ExchangeTest MustSucceed,
                  EdgeTest ShowsProgress);

} // namespace vfriendly

#endif
