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
// away. So this step first inlines the calls of a candidate loop, by LLVM's
// InlineFunction, if they have no effect or, like a pop from a queue, none when
// they fail. It depends on the caller whether a failed try is what the loop
// goes on with; the judge (Judge.h) sees it in the inlined code.
//
// The check reports loops without changing them, and LLVM's inliner does not
// run for it. So it first inlines small functions whatever they do.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_EXPOSE_H
#define VFRIENDLY_PASSES_PREPARE_EXPOSE_H

#include "passes/analysis/waits/Summaries.h"

#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
class Instruction;
class Loop;
} // namespace llvm

namespace vfriendly {

enum class ExposeFor {
  Rewrite, ///< Only calls without effects, as the rewrite is early.
  Report   ///< Also tiny functions and steps of back-offs, with their effects.
};

class ConditionExposer {
public:
  explicit ConditionExposer(ExposeFor For) : For(For) {}

  /// Inlines the harmless calls in F's candidate loops. If it inlines any, it
  /// also simplifies F, invalidates F's analyses and returns true. Calls
  /// BeforeChange once, just before the first change.
  bool run(
      llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
      llvm::function_ref<void()> BeforeChange = [] {});

private:
  bool keepsResultInMemory(const llvm::CallBase &Call);
  bool isHarmless(llvm::CallBase &Call);
  bool collectCalls(const llvm::Loop &L,
                    llvm::SmallVectorImpl<llvm::CallBase *> &Calls,
                    CalleeEffects &Does);

  ExposeFor For;
  Summaries Callees{Summaries::Inline};
};

} // namespace vfriendly

#endif
