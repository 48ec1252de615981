//===- ShootdownCallsCheck.h - Shootdown calls in loops ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_SHOOTDOWNCALLSCHECK_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_SHOOTDOWNCALLSCHECK_H

#include "checkers/heap-churn/HeapCheck.h"

namespace vfriendly::tidy {

/// Reports system calls in loops that interrupt every CPU of the process each
/// time.
///
/// Finds them in the loop itself and in functions that the loop calls, up to
/// two calls away; a destructor is a call.
class ShootdownCallsCheck : public HeapCheck {
public:
  using HeapCheck::HeapCheck;

private:
  void inspect(FunctionView &View) override;
  void finish(clang::ASTContext &Context) override;
  void inspectCallees(FunctionView &View);
  void reportLowLimits(FunctionView &View);

  /// What each call of a function does in any case.
  struct Surely {
    llvm::SmallVector<const clang::CallExpr *, 1> SystemCalls;
    llvm::SmallVector<const clang::FunctionDecl *, 4> Callees;
  };
  void collect(const Surely &Of, unsigned Depth,
               llvm::SmallVectorImpl<const clang::CallExpr *> &Found) const;

  llvm::DenseMap<const clang::FunctionDecl *, Surely> Known;
  struct LoopCall {
    clang::SourceLocation Where;
    const clang::FunctionDecl *In, *Callee;
  };
  std::vector<LoopCall> LoopCalls;
  /// The functions that SystemCalls are in.
  llvm::DenseMap<const clang::CallExpr *, const clang::FunctionDecl *> In;
};

} // namespace vfriendly::tidy

#endif
