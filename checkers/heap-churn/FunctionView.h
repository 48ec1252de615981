//===- FunctionView.h - Heap calls and loops of a function ------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   FunctionView View(Function, Heap);
//   for (const HeapCall &Call : View.calls())
//     if (const Stmt *Loop = View.loopAround(*Call.Site)) ...
//
// The constructor traverses the function once and collects the heap calls, the
// loops, and the references to each variable. The control-flow graph is built
// when it is first used.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_FUNCTIONVIEW_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_FUNCTIONVIEW_H

#include "checkers/common/Loops.h"
#include "checkers/heap-churn/HeapCalls.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Analysis/CFG.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace vfriendly::tidy {

using StmtSet = llvm::SmallPtrSet<const clang::Stmt *, 4>;

class FunctionView {
public:
  FunctionView(const clang::FunctionDecl &Function, HeapCalls &Heap);

  const clang::FunctionDecl &Function;
  clang::ASTContext &Context;
  HeapCalls &Heap;

  llvm::ArrayRef<HeapCall> calls() const { return Calls; }
  llvm::ArrayRef<const clang::Stmt *> loops() const { return Loops; }
  llvm::ArrayRef<const clang::VarDecl *> locals() const { return Locals; }
  /// Returns all references to Variable in this function, those in lambdas
  /// included.
  llvm::ArrayRef<const clang::DeclRefExpr *>
  refs(const clang::VarDecl &Variable) const;
  bool hasLabels() const { return Labels; }

  const clang::Stmt *parent(const clang::Stmt *S) const {
    return Parents.lookup(S);
  }
  /// Returns the innermost loop whose iterations execute S.
  const clang::Stmt *loopAround(const clang::Stmt &S) const;
  bool isWithin(const clang::Stmt *S, const clang::Stmt *Around) const;
  /// Returns the statement of Block that is or contains S; null if none.
  const clang::Stmt *partOf(const clang::CompoundStmt &Block,
                            const clang::Stmt *S) const;

  /// Returns true if S is executed only if Variable is null, for example
  /// because an allocation has failed.
  bool isWhereNull(const clang::Stmt *S, const clang::VarDecl &Variable) const;

  /// Returns true if Variable is a local variable of this function, not of an
  /// enclosing one (a lambda's capture).
  bool isOwn(const clang::VarDecl &Variable) const;
  /// Returns the local variable that S initialises or is assigned to; null if
  /// none.
  const clang::VarDecl *ownerOf(const clang::Expr &S) const;
  /// Returns the assignments to Variable and the declaration that initializes
  /// Variable; nullopt if Variable may be written in another way.
  std::optional<StmtSet> writesOf(const clang::VarDecl &Variable) const;

  /// Returns the control-flow graph of the function; null if clang cannot build
  /// it.
  const clang::CFG *graph();
  struct Position {
    const clang::CFGBlock *Block = nullptr;
    unsigned Index = 0;
  };
  std::optional<Position> positionOf(const clang::Stmt *S);
  /// Returns true if S can run again after it has run, without leaving the
  /// function.
  bool isRepeated(const clang::Stmt *S);

private:
  void walk(const clang::Stmt *S);

  llvm::SmallVector<HeapCall, 8> Calls;
  llvm::SmallVector<const clang::Stmt *, 8> Loops;
  llvm::SmallVector<const clang::VarDecl *, 16> Locals;
  llvm::DenseMap<const clang::VarDecl *,
                 llvm::SmallVector<const clang::DeclRefExpr *, 4>>
      Refs;
  llvm::DenseMap<const clang::Stmt *, const clang::Stmt *> Parents;
  bool Labels = false;

  std::unique_ptr<clang::CFG> Graph;
  bool GraphTried = false;
  llvm::DenseMap<const clang::Stmt *, Position> Positions;
};

} // namespace vfriendly::tidy

#endif
