//===- Places.h - The memory that an expression denotes ---------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Place P = placeOf(LValue, In);
//   if (P.Where == Place::Elsewhere) ... others may write it
//
// Follows references, parameters and pointers from a called function to its
// callers, up to the function that is examined: a small function that polls
// usually polls an argument of its caller.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_PLACES_H
#define VFRIENDLY_CHECKERS_COMMON_PLACES_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace vfriendly::tidy {

/// A function being examined, and how it was called. The function that contains
/// the loop has no caller.
struct Frame {
  const clang::FunctionDecl *Function = nullptr;
  const Frame *Caller = nullptr;
  unsigned Depth = 0;
  llvm::SmallDenseMap<const clang::ParmVarDecl *, const clang::Expr *, 4>
      Arguments;
  /// The object of a method's call; for `p->f()`, the pointer p to the object.
  const clang::Expr *Object = nullptr;
};

struct Place {
  enum Kind {
    Local, ///< A local variable, or a part of it.
    ThreadLocal,
    Elsewhere, ///< A global, or the target of a pointer or reference.
    Device     ///< A constant address.
  };
  Kind Where = Elsewhere;
  /// The variable, if the place is a local or global variable; null for memory
  /// behind pointers.
  const clang::VarDecl *Variable = nullptr;
  const Frame *In = nullptr;
  /// The expression in frame In that names the place.
  const clang::Expr *LValue = nullptr;
  /// True if the place is reached through a pointer that was cast from an
  /// untyped address to a pointer to volatile, as in accessors of device
  /// registers.
  bool Untyped = false;
};

Place placeOf(const clang::Expr *LValue, const Frame *In);
Place pointeeOf(const clang::Expr *Pointer, const Frame *In);

/// Returns the frame in which a local variable named in In lives; null if the
/// variable belongs to a function around the outermost one (a lambda's
/// capture).
const Frame *frameOf(const clang::VarDecl &Variable, const Frame *In);

/// Returns true if A and B are the same memory, judged only by the expressions
/// that name them.
bool isSamePlace(const Place &A, const Place &B,
                 const clang::ASTContext &Context);

/// Returns the variable or member that E names; null if there is none, or if it
/// is a reference, which stands for another object.
const clang::ValueDecl *namedBy(const clang::Expr *E);

/// Returns true for names and literals: the most common expressions, without
/// children.
inline bool isLeaf(const clang::Stmt *S) {
  return llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral,
                   clang::StringLiteral>(S);
}

using VarSet = llvm::SmallPtrSet<const clang::VarDecl *, 8>;

/// The local variables of a body whose address may escape. Examines the whole
/// body, and caches the result for later loops.
class Escapes {
public:
  const VarSet &of(const clang::Stmt *Body);

private:
  const clang::Stmt *Last = nullptr;
  VarSet Found;
};

} // namespace vfriendly::tidy

#endif
