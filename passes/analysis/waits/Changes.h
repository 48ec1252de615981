//===- Changes.h - Changes of memory that can be undone ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   std::optional<Change> By = changeBy(I);
//   if (By && isUndone(*By, L)) ...
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_WAITS_CHANGES_H
#define VFRIENDLY_PASSES_ANALYSIS_WAITS_CHANGES_H

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace llvm {
class Loop;
} // namespace llvm

namespace vfriendly {

/// A change of shared memory that another one can undo.
struct Change {
  enum {
    Adds, ///< Adds or subtracts Amount or, if Amount is null, adds Constant.
    Sets, ///< Writes Amount.
    Locks ///< Takes or releases the lock at Address.
  } How;
  const llvm::Value *Address;
  const llvm::Value *Amount = nullptr;
  bool Inverts = false; ///< Subtracts or releases.
  int64_t Constant = 0;

  /// Returns true if it writes what was there before.
  bool restores() const {
    auto *Read = llvm::dyn_cast<llvm::LoadInst>(Amount);
    return Read && Read->getPointerOperand() == Address;
  }
  bool undoes(const Change &Other) const {
    if (How != Other.How || Address != Other.Address)
      return false;
    if (How == Sets)
      return Amount != Other.Amount &&
             ((llvm::isa<llvm::ConstantInt>(Amount) &&
               llvm::isa<llvm::ConstantInt>(Other.Amount)) ||
              restores() || Other.restores());
    return Amount || How == Locks
               ? Amount == Other.Amount && Inverts != Other.Inverts
               : !Other.Amount && Constant == -Other.Constant;
  }
};

/// Returns how I changes memory; nothing if nothing could undo it.
std::optional<Change> changeBy(const llvm::Instruction &I);

/// Returns true if L also undoes the change, like a reader that registers by
/// incrementing a number or by writing a constant or what it restores later,
/// then finds a writer and deregisters, or an iteration that takes a lock and
/// releases it. Each failed iteration then leaves the same value in memory.
bool isUndone(const Change &By, const llvm::Loop &L);

} // namespace vfriendly

#endif
