//===- Recursion.h - Functions that may call themselves ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_RECURSION_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_RECURSION_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Function;
class Module;
class TargetLibraryInfo;
} // namespace llvm

namespace vfriendly {

/// Finds functions of a module that may be on the stack twice: through calls in
/// the module, or through unknown code, which may call any function it can
/// reach.
class Recursion {
public:
  using GetTLI =
      llvm::function_ref<const llvm::TargetLibraryInfo &(llvm::Function &)>;

  /// Analyses all of M, once.
  Recursion(llvm::Module &M, GetTLI TLI);

  bool mayBeRecursive(const llvm::Function &F) const {
    return Recursive.contains(&F);
  }

  /// Returns true if F may recurse through calls within the module.
  bool isRecursive(const llvm::Function &F) const {
    return InSight.contains(&F);
  }

private:
  llvm::DenseSet<const llvm::Function *> Recursive, InSight;
};

} // namespace vfriendly

#endif
