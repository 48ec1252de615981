//===- Predicates.h - Wait predicates and writes to them --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_PREDICATES_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_PREDICATES_H

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

/// Fields and global variables: the places that threads share.
using SharedPlaces = llvm::SmallSetVector<const clang::ValueDecl *, 4>;

/// Returns the places that an expression reads.
SharedPlaces placesIn(const clang::Expr *E);

/// Returns text that is equal for two expressions that test the same property
/// of an object, whatever the object's name.
std::string predicateShape(const clang::Expr *E);

/// Returns true if one comparison in E reads both places, as that of a ring
/// buffer's head and tail does.
bool areCompared(const clang::Expr *E, const clang::ValueDecl *A,
                 const clang::ValueDecl *B);

struct PlaceWrite {
  enum Kind {
    Add,    ///< Adds one: ++, += 1, push_back, a step of a ring's index.
    Remove, ///< Removes one: --, -= 1, pop_front.
    Other
  };
  Kind How;
  const clang::ValueDecl *Place;
  const clang::Stmt *Site;
  llvm::SmallVector<const clang::Stmt *, 8> Parents;
};

/// Returns the writes to Places below Body. Resetting an index to zero at the
/// end of its array counts as a part of the index's step.
llvm::SmallVector<PlaceWrite, 4> writesTo(const SharedPlaces &Places,
                                          const clang::Stmt *Body,
                                          const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
