//===- Fallback.h - Waits of programs without libvfrt -----------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewritten code calls functions that each rewritten module defines. While
// LLVM's passes run, the module only declares them: the definitions are already
// optimized, and would only take time in each pass.
//
//   declareFallback(M);              // after the last rewrite of a run
//   MPM.addPass(LinkFallbackPass()); // after LLVM's passes
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_SPINLOOPS_FALLBACK_H
#define VFRIENDLY_PASSES_SPINLOOPS_FALLBACK_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace vfriendly {

/// The word that writers read if libvfrt is not linked. It is always zero.
inline constexpr llvm::StringLiteral NeverArmedWord = "vf_spin_never_armed";

/// Makes linkFallback add definitions to M, if M declares a function or
/// variable to which rewritten code refers. Without a call, M has no rewritten
/// code of its own: a ThinLTO backend relies on the definition of another
/// module.
void declareFallback(llvm::Module &M);

/// Adds the definitions that M needs since declareFallback. Returns true if M
/// changed.
bool linkFallback(llvm::Module &M);

/// Runs linkFallback.
class LinkFallbackPass : public llvm::PassInfoMixin<LinkFallbackPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  /// Returns true, because calls without a definition do not link.
  static bool isRequired() { return true; }
};

/// Replaces definitions that linkFallback has added by assembly that the build
/// has made of them, if machine code of M is made in this process: LLVM takes
/// 90 million instructions to compile them. Does nothing on processors without
/// such assembly.
void assembleFallback(llvm::Module &M, const llvm::TargetMachine &Target);

} // namespace vfriendly

#endif
