//===- EachNode.h - A visit of all nodes of an AST --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   struct Names : EachNode {
//     bool visit(clang::Stmt &S) override { return note(S); }
//   };
//   Names().traverse(Unit);
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_EACHNODE_H
#define VFRIENDLY_CHECKERS_COMMON_EACHNODE_H

#include "clang/AST/Decl.h"
#include "clang/AST/TypeLoc.h"
#include "llvm/ADT/SmallVector.h"

namespace vfriendly::tidy {

/// Visits declarations, statements and written types.
///
/// Not clang's DynamicRecursiveASTVisitor: the dynamic linker looks each of its
/// thousand virtual functions up by name before clang-tidy has read a line, 1 %
/// of what it does for a small C file. Clang's template takes 10 s to compile,
/// so one class is made of it.
class EachNode {
public:
  virtual ~EachNode() = default;

  /// Visits D and what it contains; of a unit, templates as they are written.
  void traverse(clang::Decl &D);
  void traverse(clang::TypeLoc Loc);

protected:
  /// Each is called before what the node contains, and ends the visit by false.
  virtual bool visit(clang::Decl &) { return true; }
  virtual bool visit(clang::Stmt &) { return true; }
  virtual bool visit(clang::TypeLoc) { return true; }

  bool VisitsInstances = false; ///< Those of templates, too.
  /// The statements around the visited one, and itself, from the outermost.
  llvm::SmallVector<const clang::Stmt *, 32> Around;

private:
  class Visitor;
};

} // namespace vfriendly::tidy

#endif
