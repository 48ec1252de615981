//===- WordChanges.h - What a statement does to a lock's word ---*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   while (atomic_exchange(&l, 1)) ...   Set
//   "lock; xchgb %1, %0"                 Set
//   ticket = l->next++                   Add
//   l = 0                                Store
//
// A lock is a word that threads change at the same time: by the builtins and
// classes for atomic operations, by assembly, or by an assignment to a volatile
// object. changeOf says which of the three a statement does, however it is
// written.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_WORDCHANGES_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_WORDCHANGES_H

#include "clang/AST/Stmt.h"

namespace clang {
class ASTContext;
class Expr;
class ValueDecl;
} // namespace clang

namespace vfriendly::tidy {

struct WordChange {
  enum {
    None,
    Set,  ///< Exchanges it: what it held tells whether that took the lock.
    Add,  ///< Adds to it, or subtracts.
    Store ///< Writes a new value, whatever the old one is.
  } Is = None;
  /// The variable or field; null if it has no name.
  const clang::ValueDecl *Object = nullptr;
  /// Of a Set: the new value, or the one that it must find, is constant. Else
  /// both may be a caller's, or a pointer.
  bool IsConstant = false;
  /// Assembly that goes on until it has got what it wants.
  bool Polls = false;
};

/// Returns what S itself, without its operands, does to a word.
WordChange changeOf(const clang::Stmt *S, const clang::ASTContext &Context);

bool isConstant(const clang::Expr *E, const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
