//===- Expose.h - Bring hidden loop conditions into the loop ----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `while (!p->done());` waits on what done() reads. LLVM's inliner comes too
// late for it: by then a wait on plain memory is gone. So the calls that decide
// a candidate loop are inlined first, by LLVM's own InlineFunction.
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
  /// Inlines into F's candidate loops, cleans F up if it did, and then returns
  /// true, with F's analyses invalidated.
  bool run(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

private:
  /// What a function does that its callers may want to know.
  struct Effects {
    /// The parameters it stores through, as bits.
    uint32_t Stored = 0;
    /// Adds to memory that others see.
    bool Adds = false;
  };
  /// Nothing if it has another effect, or is not ours to inline.
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
