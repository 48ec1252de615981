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
    /// Reads atomic or volatile memory where that may decide whether the loop
    /// goes on, or tries to lock.
    bool ReadsMarked = false;
    /// Counts in a local variable, or follows a list.
    bool Moves = false;

    /// Adds the effects of a called function. Decides is true if its result may
    /// decide whether the loop goes on.
    void add(const Effects &E, bool Decides) {
      Hints |= E.Hints;
      Harms |= E.Harms;
      Fails |= E.Fails;
      Reads |= E.Reads;
      ReadsMarked |= E.ReadsMarked && Decides;
    }
  };

  /// Decides is true if the value of S may decide whether the loop goes on.
  void visit(const clang::Stmt *S, Effects &Into, bool Decides);
  /// Returns true if Child, an operand or part of Of, may decide whether the
  /// loop goes on: by a condition, or by what it tests and gets the value.
  bool decides(const clang::Stmt &Child, const clang::Stmt &Of,
               bool Decides) const;
  void visitCall(const clang::CallExpr &Call, Effects &Into, bool Decides);
  void visitStore(const clang::Expr *LValue, Effects &Into);
  void enter(const clang::FunctionDecl *Callee, Effects &Into, bool Decides);

  Escapes &Escaping;
  llvm::DenseMap<const clang::FunctionDecl *, Effects> Known;
  unsigned Budget = 0; ///< Statements and expressions left to visit.
  unsigned Depth = 0;  ///< Of called functions.
  const clang::Stmt *Condition = nullptr; ///< Of the loop; may be null.
};

} // namespace vfriendly::tidy

#endif
