//===- LoweredHeap.h - Analysis of heap use in LLVM IR ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   LoweredHeap Finder(Heap);
//   Finder.consider(F);                   // for each function
//   if (Finder.run(Context))              // at the end of the unit
//     for (const LoweredBlock &Each : Finder.Blocks) ...
//
// Runs the analysis of the LLVM pass (passes/analysis/heap/IterationBlocks.h)
// on the IR of those functions that use the heap in loops. The check therefore
// also finds allocations in wrappers, constructors and destructors.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_LOWEREDHEAP_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_LOWEREDHEAP_H

#include "checkers/common/LoweredUnit.h"
#include "checkers/heap-churn/HeapReach.h"

#include <memory>
#include <vector>

namespace vfriendly::tidy {

/// A block that each iteration of a loop of the function In allocates and
/// releases (IterationBlocks.h). Both places are in In: an operation in an
/// inlined callee has the place of the callee's call.
struct LoweredBlock {
  const clang::FunctionDecl *In;
  LoweredPlace Allocated, Released;
  /// True if no loop of In does so, but each call of In.
  bool IsOfCall = false;
};

/// Finds the blocks that loops allocate and release in each iteration, and
/// those of functions that loops call.
class LoweredHeap : private IrJudge {
public:
  LoweredHeap();

  /// Adds a definition of a function. It is lowered if it may have such loops.
  void consider(const clang::FunctionDecl &Function, HeapCalls &Heap);

  /// Fills Blocks. Returns false if IR is needed but cannot be generated, for
  /// example because the unit has errors. AnyCaller: loops of other units may
  /// call the functions, too.
  bool run(clang::ASTContext &Context, bool AnyCaller);

  /// Returns the functions with a loop in which they call F, a definition.
  llvm::ArrayRef<const clang::FunctionDecl *>
  loopingCallers(const clang::FunctionDecl &F) const {
    auto Found = Callers.find(F.getCanonicalDecl());
    if (Found == Callers.end())
      return {};
    return Found->second;
  }

  std::vector<LoweredBlock> Blocks;

private:
  void tell(const LoweredFunctions &Functions) override;
  void judge(const LoweredFunctions &Functions) override;
  void tellHeap(llvm::Function &F, const clang::FunctionDecl &D);
  void tellCalls(llvm::Function &F, const LoweredFunctions &Functions);

  std::shared_ptr<LoweredUnit> Unit;
  std::shared_ptr<FunctionBodies> Bodies;
  std::optional<HeapReach> Reach; ///< Unset before the first function.
  HeapCalls *Heap = nullptr;
  llvm::DenseMap<const clang::FunctionDecl *,
                 llvm::SmallVector<const clang::FunctionDecl *, 2>>
      Callers;
  /// Functions whose calls may allocate and release.
  llvm::SmallVector<const clang::FunctionDecl *, 8> Called;
};

} // namespace vfriendly::tidy

#endif
