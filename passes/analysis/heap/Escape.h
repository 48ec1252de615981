//===- Escape.h - Escaping pointers and non-returning calls -----*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   PointerUse Known = usePointer(U, TLI);
//   if (!Known.Escape.empty())
//     ... the pointer may escape, or its object may be freed ...
//   if (mayLeave(I, TLI))
//     ... what only this function refers to may be lost at I ...
//
// Every rewrite of heap memory relies on these answers. They combine LLVM's own
// facts (capture tracking, nofree, willreturn, nounwind, nocallback) with one
// list of library functions of which LLVM knows less. Any other library
// function may do anything.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_PASSES_ANALYSIS_HEAP_ESCAPE_H
#define VFRIENDLY_PASSES_ANALYSIS_HEAP_ESCAPE_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class CallBase;
class Instruction;
class TargetLibraryInfo;
class Use;
} // namespace llvm

namespace vfriendly {

/// The effects of an instruction on a pointer operand and its object, other
/// than reads and writes of the object while the instruction executes.
struct PointerUse {
  /// The reason why the pointer may escape at the instruction, or why the
  /// instruction may free the object; empty if it does neither. The string has
  /// static lifetime.
  llvm::StringRef Escape;
  /// True if the instruction's result may point into the object.
  bool IsInResult = false;
};

/// Classifies the use U of a pointer. A comparison counts as an escape, unless
/// LLVM knows that it only tests for null. A call that frees the object counts
/// as an escape, too.
///
/// pre: U is a pointer operand of an instruction.
PointerUse usePointer(const llvm::Use &U, const llvm::TargetLibraryInfo &TLI);

/// Returns true if control may leave the function at I other than by a return
/// or an edge: an exception, a longjmp, the end of the thread (pthread_exit,
/// cancellation). Ending the process or never returning does not count.
bool mayLeave(const llvm::Instruction &I, const llvm::TargetLibraryInfo &TLI);

/// Returns true if Call may run functions of this module other than its named
/// callee.
bool mayCallBack(const llvm::CallBase &Call,
                 const llvm::TargetLibraryInfo &TLI);

} // namespace vfriendly

#endif
