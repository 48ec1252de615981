//===- KeepMarks.h - Marks on loops for later runs of the pass --*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mark is metadata of a loop that tells later runs of the pass what to do
// with the loop. It stays with the loop when the loop is inlined, unrolled or
// linked into another module.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_COMMON_KEEPMARKS_H
#define VFRIENDLY_PASSES_ANALYSIS_COMMON_KEEPMARKS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Loop;
class MDNode;
class Module;
} // namespace llvm

namespace vfriendly {

/// Metadata of a loop that the pass has rewritten or has decided not to
/// rewrite: later runs skip the loop.
inline constexpr llvm::StringLiteral DecidedMark = "vf.spin.decided";
/// Metadata of a loop that the pass has reported as a probable wait. A later
/// run, after inlining, does not report the loop again, but rewrites it if it
/// can then prove that the loop is a wait.
inline constexpr llvm::StringLiteral DoubtMark = "vf.spin.doubted";
/// Metadata of a loop with DoubtMark that gets yields in the last run that
/// rewrites loops, unless the loop is proved to be a wait before.
inline constexpr llvm::StringLiteral YieldMark = "vf.spin.yields";
/// Metadata of a loop that must not be rewritten, because its function has
/// __attribute__((annotate("vfriendly:keep"))).
inline constexpr llvm::StringLiteral KeepMark = "vf.spin.keep";

/// Returns the ID of L. Simplification may leave it at a branch that was a back
/// edge, or on only one of several back edges. Null if there is none.
llvm::MDNode *loopIDOf(const llvm::Loop &L);

void mark(llvm::Loop &L, llvm::StringRef Mark);
bool isMarked(const llvm::Loop &L, llvm::StringRef Mark);

using FunctionSet = llvm::SmallPtrSet<const llvm::Function *, 8>;

/// Returns the functions annotated with vfriendly:keep.
FunctionSet findKeepFunctions(const llvm::Module &M);

/// Returns the functions that the module installs as signal handlers. Loops in
/// them are not rewritten.
FunctionSet findSignalHandlers(const llvm::Module &M);

/// Returns the resolvers of the module's ifuncs, and the functions that they
/// call. The loader runs them before it has relocated the program and, in a
/// static one, before there are thread-local variables, so that calls of other
/// functions may crash.
FunctionSet findResolvers(const llvm::Module &M);

} // namespace vfriendly

#endif
