//===- TuUses.h - Who writes a variable in this file ------------*- C++ -*-===//
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
// Scans the translation unit once, when the first fix asks for it.
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
  const clang::Expr *LValue; ///< How it names the variable.
  /// The whole statement, if the write is one; null where it is a part.
  const clang::Stmt *Statement;
  bool InBlock;            ///< Statement stands directly in a block.
  const clang::Stmt *Next; ///< What follows it there; null at the end.
};

struct DeclUses {
  llvm::SmallVector<WriteSite, 2> Writes;
  bool Escapes = false; ///< Named other than to be read or written.
};

class TuUses {
public:
  /// All uses of a variable or member, if nothing outside this file can use it:
  /// internal linkage, local, or a member of a structure of the main file.
  /// Null otherwise, and if its address escapes.
  const DeclUses *find(const clang::ValueDecl &D,
                       const clang::ASTContext &Context);

  /// Writes that a fix has already given a notify.
  llvm::DenseSet<const clang::Expr *> Notified;

private:
  void scan(const clang::ASTContext &Context);

  bool Scanned = false;
  llvm::DenseMap<const clang::ValueDecl *, DeclUses> Found;
};

} // namespace vfriendly::tidy

#endif
