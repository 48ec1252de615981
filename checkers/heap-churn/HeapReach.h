//===- HeapReach.h - Functions that use the heap in loops -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   HeapReach Reach(Heap, *perUnit<FunctionBodies>());
//   if (Reach.churns(F)) ...
//
// Recognizes heap functions by their names alone. LoweredHeap.h generates IR
// only for the functions that are found here, which keeps the check fast.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPREACH_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPREACH_H

#include "checkers/common/FunctionBodies.h"
#include "checkers/heap-churn/HeapCalls.h"

namespace vfriendly::tidy {

/// What the standard library's own functions do does not count: the locals that
/// are its containers are known without IR (IterationLocals.h), and lowering
/// each function with a string would cost most of all.
class HeapReach {
public:
  HeapReach(HeapCalls &Heap, FunctionBodies &Bodies)
      : Heap(Heap), Bodies(Bodies) {}

  /// Returns true if a loop of F may both allocate and release, itself or in
  /// callees that are small enough to be inlined.
  bool churns(const clang::FunctionDecl &F);
  /// Returns true if a call of F may both allocate and release, in the same
  /// way.
  bool churnsInCall(const clang::FunctionDecl &F);

private:
  enum : unsigned { Allocates = 1, Releases = 2, Both = 3 };
  bool doesBoth(const clang::FunctionDecl &F, bool InLoops);
  static unsigned whatIs(const HeapFunction *Does);
  unsigned doesItself(const clang::FunctionDecl &F);
  unsigned doesIfInlined(const clang::FunctionDecl &F);

  HeapCalls &Heap;
  FunctionBodies &Bodies;
  llvm::DenseMap<const clang::FunctionDecl *, unsigned> Inlined;
};

} // namespace vfriendly::tidy

#endif
