//===- Candidates.h - Loops that may wait -----------------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Candidates May(Escaping);
//   if (May.wait(Shape, Function)) ... lower Function to IR
//
// A cheap test on the AST, which excludes most loops. It must not exclude a
// loop that the analysis of the IR (LoweredWaits.h) would call a wait.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_CANDIDATES_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_CANDIDATES_H

#include "checkers/common/Places.h"
#include "checkers/spin-loops/LoopShape.h"

namespace vfriendly::tidy {

/// Returns true if LValue names memory that other threads may read or write,
/// judged by its text alone.
bool isShared(const clang::Expr *LValue);

/// Returns true if S reads memory at an address that Variable determines, as in
/// `p = p->next`.
bool readsThrough(const clang::Stmt *S, const clang::VarDecl &Variable);

class Candidates {
public:
  explicit Candidates(Escapes &Escaping) : Escaping(Escaping) {}

  bool wait(const LoopShape &Shape, const clang::FunctionDecl &Function);

private:
  /// What statements may do, those in called functions included.
  struct Effects {
    bool Hints = false; ///< Gives a spin hint, or calls what is named like one.
    bool Harms = false; ///< Has an effect that only a hint can excuse.
    bool Fails = false; ///< Ends the program on some path.
    bool Reads = false; ///< Reads memory that other threads may write.
    /// Reads atomic or volatile memory, or tries to lock.
    bool ReadsMarked = false;
    /// Counts in a local variable, or follows a list.
    bool Moves = false;

    void add(const Effects &E) {
      Hints |= E.Hints;
      Harms |= E.Harms;
      Fails |= E.Fails;
      Reads |= E.Reads;
      ReadsMarked |= E.ReadsMarked;
    }
  };

  void visit(const clang::Stmt *S, Effects &Into);
  void visitCall(const clang::CallExpr &Call, Effects &Into);
  void visitStore(const clang::Expr *LValue, Effects &Into);
  void enter(const clang::FunctionDecl *Callee, Effects &Into);

  Escapes &Escaping;
  llvm::DenseMap<const clang::FunctionDecl *, Effects> Known;
  unsigned Budget = 0; ///< Statements and expressions left to visit.
  unsigned Depth = 0;  ///< Of called functions.
};

} // namespace vfriendly::tidy

#endif
