//===- HeapReach.h - Functions that use the heap in loops -------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   HeapReach Reach(Context, Heap);
//   if (Reach.churns(F))
//     for (const FunctionDecl *Each : Reach.withInlined({&F})) ...
//
// Recognizes heap functions by their names alone. LoweredHeap.h generates IR
// only for the functions that are found here, which keeps the check fast.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPREACH_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPREACH_H

#include "checkers/heap-churn/HeapCalls.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

class HeapReach {
public:
  HeapReach(clang::ASTContext &Context, HeapCalls &Heap)
      : Context(Context), Heap(Heap) {}

  /// Returns true if a loop of F may both allocate and release, itself or in
  /// callees that are small enough to be inlined.
  bool churns(const clang::FunctionDecl &F);

  /// Returns Functions and, after them, the definitions that may be inlined
  /// into them.
  std::vector<const clang::FunctionDecl *>
  withInlined(llvm::ArrayRef<const clang::FunctionDecl *> Functions);

private:
  enum : unsigned { Allocates = 1, Releases = 2, Both = 3 };
  struct Body {
    /// The heap operations in the whole body, and those in loops of the body:
    /// Allocates, Releases or Both.
    unsigned Does = 0, DoesInLoop = 0;
    unsigned Statements = 0;
    bool HasLoop = false, HasGoto = false;
    struct Callee {
      const clang::FunctionDecl *Definition;
      bool IsInLoop;
    };
    llvm::SmallVector<Callee, 8> Callees;
  };

  const Body &bodyOf(const clang::FunctionDecl &F);
  void walk(const clang::Stmt &S, Body &Into);
  void note(unsigned Does, Body &Into) const;
  void noteUse(const clang::FunctionDecl *F, Body &Into);
  void noteDestructor(clang::QualType Type, Body &Into);
  unsigned doesIfInlined(const clang::FunctionDecl &F);

  clang::ASTContext &Context;
  HeapCalls &Heap;
  bool IsInLoop = false; ///< During walk().
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<Body>> Bodies;
  llvm::DenseMap<const clang::FunctionDecl *, unsigned> Inlined;
};

} // namespace vfriendly::tidy

#endif
