//===- PollingPaths.h - Paths of a loop that only poll ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<Split> Plan = planSplit(L, Around))
//     ... Plan->Polling
//
// Finds the paths from a loop's header back to it that have no effects, in a
// loop that also works in some iterations (SplitPolls.h).
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_POLLINGPATHS_H
#define VFRIENDLY_PASSES_PREPARE_POLLINGPATHS_H

#include "passes/analysis/waits/Gather.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace vfriendly {

/// How one loop is split.
struct Split {
  llvm::BasicBlock *Header;
  /// True if a counter or a clock ends the polling of some iterations.
  bool HasRare = false;
  /// The blocks on those paths from the header back to the header that have no
  /// effects.
  llvm::SmallSetVector<llvm::BasicBlock *, 8> Polling;
  /// The polling blocks that working iterations pass too. The polling paths get
  /// copies of them.
  llvm::SmallSetVector<llvm::BasicBlock *, 8> Shared;
};

/// Returns how L can be split; std::nullopt if it cannot, for example because
/// it has no path without effects, or no other path.
std::optional<Split> planSplit(llvm::Loop &L, Surroundings &Around);

/// Returns true if L sleeps, and does so in rare iterations only: once in many
/// polls, or after a time.
bool sleepsRarely(llvm::Loop &L, Surroundings &Around);

} // namespace vfriendly

#endif
