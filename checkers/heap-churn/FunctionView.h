//===- FunctionView.h - A function as the heap sees it ----------*- C++ -*-===//
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
// One walk finds the heap's calls, loops and who names which variable. The
// control-flow graph is built when somebody asks for ways through it.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_FUNCTIONVIEW_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_FUNCTIONVIEW_H

#include "checkers/heap-churn/HeapCalls.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Analysis/CFG.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace vfriendly::tidy {

inline bool isLoop(const clang::Stmt *S) {
  return llvm::isa<clang::WhileStmt, clang::ForStmt, clang::DoStmt,
                   clang::CXXForRangeStmt>(S);
}

/// What is run again in each iteration; a range-for's without its hidden parts.
const clang::Stmt *bodyOf(const clang::Stmt *Loop);

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
  /// Every place that names the variable, captures of lambdas too.
  llvm::ArrayRef<const clang::DeclRefExpr *>
  refs(const clang::VarDecl &Variable) const;
  bool hasLabels() const { return Labels; }

  const clang::Stmt *parent(const clang::Stmt *S) const {
    return Parents.lookup(S);
  }
  /// The innermost loop whose iterations S is part of.
  const clang::Stmt *loopAround(const clang::Stmt &S) const;
  bool isWithin(const clang::Stmt *S, const clang::Stmt *Around) const;
  /// The statement of Block that S is, or is a part of; null if none.
  const clang::Stmt *partOf(const clang::CompoundStmt &Block,
                            const clang::Stmt *S) const;

  /// Returns true if it is a local variable of this function, not of an
  /// enclosing one (a lambda's capture).
  bool isOwn(const clang::VarDecl &Variable) const;
  /// The local variable that S initialises or is assigned to; null if none.
  const clang::VarDecl *ownerOf(const clang::Expr &S) const;
  /// The assignments to a variable, its initialisation too, by their operator
  /// or declaration. Nullopt: others may write it as well.
  std::optional<StmtSet> writesOf(const clang::VarDecl &Variable) const;

  /// Null if the graph cannot be built.
  const clang::CFG *graph();
  struct Position {
    const clang::CFGBlock *Block = nullptr;
    unsigned Index = 0;
  };
  std::optional<Position> positionOf(const clang::Stmt *S);

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
