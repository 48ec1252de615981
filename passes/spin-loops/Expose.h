//===- Expose.h - Inlining of calls in loop conditions ----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `while (!p->done());` waits for memory that done() reads. LLVM's inliner runs
// too late, because other passes have by then optimized a wait on plain memory
// away. So this step first inlines the calls on which the exits of a candidate
// loop depend, by LLVM's InlineFunction.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_EXPOSE_H
#define VFRIENDLY_PASSES_SPINLOOPS_EXPOSE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/PassManager.h"

#include <optional>

namespace llvm {
class CallBase;
class Loop;
} // namespace llvm

namespace vfriendly {

class ConditionExposer {
public:
  /// Inlines the harmless calls in F's candidate loops. If it inlines any, it
  /// also simplifies F, invalidates F's analyses and returns true.
  bool run(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

private:
  /// The side effects of a function that a waiting loop may call.
  struct Effects {
    /// Bit N is set if the function stores through its parameter N.
    uint32_t Stored = 0;
    /// True if the function adds to memory that other threads may read.
    bool Adds = false;
  };
  /// nullopt if the function has another effect, or may not be inlined.
  using Summary = std::optional<Effects>;

  Summary summarize(llvm::Function &F, unsigned Depth);
  bool isHarmless(llvm::CallBase &Call, unsigned Depth, bool OfLoop,
                  Effects &Does);
  bool collectCalls(const llvm::Loop &L,
                    llvm::SmallVectorImpl<llvm::CallBase *> &Calls);

  llvm::DenseMap<llvm::Function *, Summary> Summaries;
};

} // namespace vfriendly

#endif
