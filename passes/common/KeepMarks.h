//===- KeepMarks.h - Loops that are to stay as they are ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mark is loop metadata, so that it stays with the loop when its function is
// inlined, unrolled or linked elsewhere.
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

/// The pass has made up its mind about a loop.
inline constexpr llvm::StringLiteral DecidedMark = "vf.spin.decided";
/// Reported with a doubt, which inlining may clear up until the next phase.
inline constexpr llvm::StringLiteral DoubtMark = "vf.spin.doubted";
/// The author has: __attribute__((annotate("vfriendly:keep"))).
inline constexpr llvm::StringLiteral KeepMark = "vf.spin.keep";

void mark(llvm::Loop &L, llvm::StringRef Mark);
bool isMarked(const llvm::Loop &L, llvm::StringRef Mark);

using FunctionSet = llvm::SmallPtrSet<const llvm::Function *, 8>;

/// Functions annotated with vfriendly:keep.
FunctionSet findKeepFunctions(const llvm::Module &M);

/// Functions seen to be installed as signal handlers: a handler must not give
/// up the CPU to the thread it interrupts.
FunctionSet findSignalHandlers(const llvm::Module &M);

} // namespace vfriendly

#endif
