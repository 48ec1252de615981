//===- SpinLoopsPass.h - Rewrite spin loops ---------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_SPINLOOPSPASS_H
#define VFRIENDLY_PASSES_SPINLOOPS_SPINLOOPSPASS_H

#include "llvm/IR/PassManager.h"

#include <optional>

namespace vfriendly {

/// Selects how the pass rewrites spin loops.
enum class SpinMode {
  Off,   ///< Do nothing.
  Pause, ///< Give the CPU's spin hint after each failed poll.
  Block, ///< Call the runtime after some failed polls; it may block.
};

std::optional<SpinMode> parseSpinMode(llvm::StringRef Text);

/// Where in a pipeline the pass runs. Early, Only and Alone run before
/// JumpThreading, which breaks waits on plain memory.
enum class SpinPhase {
  Unoptimized, ///< -O0: nothing is rewritten, and a remark says so.
  Early,       ///< Before simplification: loops have their source form.
  Late,        ///< After inlining, which exposes more waits on atomics.
  Only,        ///< As Early, with no run in phase Late to follow.
  Alone,       ///< As Only, and LinkFallbackPass does not follow either.
  Last,        ///< Before code generation: only separates waits' exits.
};

/// Returns true if no earlier run has seen the loops.
inline bool isFirst(SpinPhase Phase) {
  return Phase == SpinPhase::Early || Phase == SpinPhase::Only ||
         Phase == SpinPhase::Alone;
}

/// Returns true if no later run rewrites loops.
inline bool isLast(SpinPhase Phase) {
  return Phase == SpinPhase::Late || Phase == SpinPhase::Only ||
         Phase == SpinPhase::Alone;
}

/// Finds loops that wait by polling memory and makes them give up the CPU when
/// the wait gets long.
///
/// The pass decides about each loop once, emits a remark, and adds the loop
/// metadata `vf.spin.decided`, so that later runs (after inlining, at link
/// time) skip the loop. A later run only marks a wait as notified if that run
/// finds the writers.
class SpinLoopsPass : public llvm::PassInfoMixin<SpinLoopsPass> {
public:
  /// Thin is true if the pass runs in a ThinLTO backend, where it sees one
  /// module of the program at a time.
  SpinLoopsPass(SpinMode Mode, SpinPhase Phase, bool Thin = false)
      : Mode(Mode), Phase(Phase), Thin(Thin) {}

  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
  void printPipeline(
      llvm::raw_ostream &OS,
      llvm::function_ref<llvm::StringRef(llvm::StringRef)> MapClassName);
  /// Returns true, because otherwise optnone functions would be skipped without
  /// a remark.
  static bool isRequired() { return true; }

private:
  SpinMode Mode;
  SpinPhase Phase;
  bool Thin;
};

} // namespace vfriendly

#endif
