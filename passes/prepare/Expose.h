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
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_PREPARE_EXPOSE_H
#define VFRIENDLY_PASSES_PREPARE_EXPOSE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/PassManager.h"

#include <optional>

namespace llvm {
class CallBase;
class Instruction;
class Loop;
} // namespace llvm

namespace vfriendly {

/// A set of the first 32 parameters of a function; bit N stands for number N.
using ParameterSet = uint32_t;

class ConditionExposer {
public:
  /// Inlines the harmless calls in F's candidate loops. If it inlines any, it
  /// also simplifies F, invalidates F's analyses and returns true. Calls
  /// BeforeChange once, just before the first change.
  bool run(
      llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
      llvm::function_ref<void()> BeforeChange = [] {});

private:
  /// The side effects of a function that a waiting loop may call.
  struct Effects {
    /// True if the function adds to memory that other threads may read.
    bool Adds = false;
    /// True if the function has other effects, too, but also a path from its
    /// entry to its end that reads memory and has none: it tries something, and
    /// the path is that of a failed try. The other members describe such paths.
    bool Tries = false;
    /// True if the function reads memory, and memory that the program marks as
    /// shared (isMarkedAccess).
    bool Reads = false, ReadsMarked = false;
    /// True if the function gives a hint, as a step of a back-off does.
    bool Hints = false;

    Effects &operator|=(const Effects &Other);
  };
  /// nullopt if the function has another effect on each path, or may not be
  /// inlined.
  using Summary = std::optional<Effects>;

  Summary summarize(llvm::Function &F, ParameterSet Locals, unsigned Depth);
  bool noteEffects(llvm::Instruction &I, ParameterSet Locals, unsigned Depth,
                   Effects &Does);
  bool isHarmless(llvm::CallBase &Call, ParameterSet Locals, unsigned Depth,
                  Effects &Does);
  bool keepsResultInMemory(const llvm::CallBase &Call);
  bool collectCalls(const llvm::Loop &L,
                    llvm::SmallVectorImpl<llvm::CallBase *> &Calls,
                    Effects &Does);

  llvm::DenseMap<std::pair<llvm::Function *, ParameterSet>, Summary> Summaries;
};

} // namespace vfriendly

#endif
