//===- KeepMarks.h - Loops that are to stay as they are ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mark is loop metadata: it stays with the loop when its function is inlined,
// unrolled or linked into another module.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_COMMON_KEEPMARKS_H
#define VFRIENDLY_PASSES_COMMON_KEEPMARKS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Loop;
class Module;
} // namespace llvm

namespace vfriendly {

/// Metadata of a loop about which the pass has decided.
inline constexpr llvm::StringLiteral DecidedMark = "vf.spin.decided";
/// Metadata of a loop that the pass has reported with a doubt. It runs again
/// later in the pipeline, where inlining may have resolved the doubt.
inline constexpr llvm::StringLiteral DoubtMark = "vf.spin.doubted";
/// Metadata of a loop that its author keeps as it is:
/// __attribute__((annotate("vfriendly:keep"))).
inline constexpr llvm::StringLiteral KeepMark = "vf.spin.keep";

void mark(llvm::Loop &L, llvm::StringRef Mark);
bool isMarked(const llvm::Loop &L, llvm::StringRef Mark);

using FunctionSet = llvm::SmallPtrSet<const llvm::Function *, 8>;

/// Returns the functions annotated with vfriendly:keep.
FunctionSet findKeepFunctions(const llvm::Module &M);

/// Returns the functions that the module installs as signal handlers. A handler
/// must not yield the CPU to the thread it interrupts.
FunctionSet findSignalHandlers(const llvm::Module &M);

} // namespace vfriendly

#endif
