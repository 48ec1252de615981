//===- IterationWalker.h - Walks one iteration of a loop --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implementation of collectFacts in LoopFacts.h. IterationWalker.cpp walks the
// statements, IterationEffects.cpp the expressions, and IterationCalls.cpp the
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONWALKER_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_ITERATIONWALKER_H

#include "checkers/spin-loops/LoopFacts.h"

#include "clang/AST/ExprCXX.h"

namespace vfriendly::tidy {

class IterationWalker {
public:
  IterationWalker(const LoopShape &Shape, LoopFacts &Facts)
      : Shape(Shape), Facts(Facts) {}

  bool walkIteration();

private:
  /// The position of a statement: the conditions around it, the meaning of
  /// break and continue there, and whether it is in a callee or an inner loop.
  struct Context {
    Frame *In;
    Guards Under;
    bool BreakLeaves = true;
    bool ContinueRepeats = true;
    bool InCallee = false;
    bool InLoop = false; ///< In an inner loop, which runs any number of times.
    /// Number of conditions (guards) around the outermost of the inner loops.
    unsigned AroundLoop = 0;
  };
  /// The ways in which control can leave a statement.
  struct Ends {
    bool Falls = true;
    bool Repeats = false;
    bool Leaves = false;
    bool staysOut() const { return !Falls && !Repeats && Leaves; }
  };

  // The functions below are defined in IterationWalker.cpp. Those with a result
  // of type bool return false if the walker has to give up.
  Ends endsOf(const clang::Stmt *S, const Context &C) const;
  bool walk(const clang::Stmt *S, Context &C);
  bool walkSequence(llvm::ArrayRef<const clang::Stmt *> Body, Context &C);
  bool walkIf(const clang::IfStmt &If, Context &C);
  bool walkInnerLoop(const clang::Stmt *S, Context &C);
  bool walkSwitch(const clang::SwitchStmt &Switch, Context &C);
  bool walkGoto(const clang::Stmt *S, Context &C);
  bool isRepeat(const clang::GotoStmt &Goto) const;
  bool decide(const clang::Expr *Condition, Context &C);
  void leave(const Context &C);
  void leaveWhen(const Context &C, const clang::Expr *Condition, bool Holds);

  // IterationEffects.cpp
  bool visit(const clang::Expr *E, Context &C);
  bool visitChildren(const clang::Stmt *S, Context &C);
  bool visitAtomic(const clang::Expr *E, const AtomicOp &Op, Context &C);
  bool visitConstruct(const clang::CXXConstructExpr &E, Context &C);
  bool visitAsm(const clang::GCCAsmStmt &Asm, Context &C);
  bool declare(const clang::DeclStmt &Decls, Context &C);
  bool store(const clang::Expr *LValue, Write W, Context &C);
  void note(const clang::VarDecl *Variable, const Frame *In, Write W);
  bool say(const clang::Stmt *Site, const clang::Expr *Object, bool ByPointer,
           const clang::Expr *Value, const Context &C);
  bool doubt(Doubt::Kind What, const clang::Stmt *Site, const Context &C,
             const clang::Expr *LValue = nullptr);

  // IterationCalls.cpp
  bool visitCall(const clang::CallExpr &Call, Context &C);
  bool visitUnknownCall(const clang::CallExpr &Call, Context &C,
                        bool IsAlwaysUnseen);
  bool visitNeutralCall(const clang::CallExpr &Call, CallEffect Effect,
                        Context &C);
  bool visitBody(const clang::CallExpr &Call, const clang::FunctionDecl &Callee,
                 Context &C);
  /// The state before the body of a called function is visited. It is restored
  /// if that body has too many effects.
  struct Mark {
    unsigned Rmws, Hints, Doubts, Inner, Written, Budget;
  };
  Mark mark() const;
  void takeBack(const Mark &M);

  const LoopShape &Shape;
  LoopFacts &Facts;
  /// Number of AST nodes left to visit. Spin loops are small; the walker gives
  /// up on a larger loop.
  unsigned Budget = 600;
  /// Like Budget, but nodes of called functions' bodies whose effects were
  /// discarded count too.
  unsigned Effort = 4000;
  /// The variables that the loop writes, in the order of the writes.
  llvm::SmallVector<decltype(LoopFacts::Writes)::key_type, 8> Written;
  /// True if the visit of a called function's body ended at a call whose callee
  /// is opaque in every calling context. Meaningful only after a visit has
  /// returned false.
  bool EndedUnseen = false;
};

} // namespace vfriendly::tidy

#endif
