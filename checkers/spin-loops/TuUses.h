//===- TuUses.h - Uses of a variable in one unit ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (const DeclUses *All = Uses.find(Variable, Context))
//     for (const WriteSite &W : All->Writes) ...
//
// Scans the translation unit once, on first use.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_TUUSES_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_TUUSES_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace vfriendly::tidy {

struct WriteSite {
  const clang::Expr *Access; ///< The assignment or the atomic operation.
  const clang::Expr *LValue; ///< The expression that names the variable.
  /// The statement that only makes this write; null if the write is part of a
  /// larger statement.
  const clang::Stmt *Statement;
  bool InBlock;            ///< Statement stands directly in a block.
  const clang::Stmt *Next; ///< The statement after it; null at the end.
};

struct DeclUses {
  llvm::SmallVector<WriteSite, 2> Writes;
  bool Escapes = false; ///< Used other than to be read or written.
};

class TuUses {
public:
  /// Returns all uses of D if no other file can use D: D has internal linkage,
  /// is local, or is a member of a structure of the main file. Returns null if
  /// another file can use D, or if the address of D escapes.
  const DeclUses *find(const clang::ValueDecl &D,
                       const clang::ASTContext &Context);

  /// Returns true if the file enters seccomp's strict mode, in which the
  /// kernel ends a thread that yields or sleeps.
  bool entersStrictSeccomp(const clang::ASTContext &Context);

  /// Writes that a fix has already given a notify.
  llvm::DenseSet<const clang::Expr *> Notified;

private:
  void scan(const clang::ASTContext &Context);

  bool Scanned = false, StrictSeccomp = false;
  llvm::DenseMap<const clang::ValueDecl *, DeclUses> Found;
};

} // namespace vfriendly::tidy

#endif
