//===- FunctionBodies.h - Functions that a function uses --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   std::shared_ptr<FunctionBodies> Bodies = perUnit<FunctionBodies>();
//   for (const FunctionDecl *Each : Bodies->withInlined({&F})) ...
//
// Answers, from the AST, which functions have to be lowered to IR together
// (LoweredUnit.h).
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_FUNCTIONBODIES_H
#define VFRIENDLY_CHECKERS_COMMON_FUNCTIONBODIES_H

#include "clang/AST/Decl.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace vfriendly::tidy {

struct FunctionBody {
  unsigned Statements = 0; ///< Statements and expressions.
  bool HasLoop = false, HasGoto = false;
  /// Functions, constructors, destructors, new and delete that are called, or
  /// whose address is taken.
  struct Use {
    const clang::FunctionDecl *Function;
    const clang::Stmt *Loop; ///< The outermost loop around it; may be null.
  };
  llvm::SmallVector<Use, 8> Uses;
  /// References to global pointers to functions.
  struct PointerUse {
    const clang::VarDecl *Pointer;
    const clang::Stmt *Loop; ///< As for Use.
  };
  llvm::SmallVector<PointerUse, 0> Pointers;

  /// Returns true if the function is so small that LLVM is assumed to inline
  /// it.
  bool isSmall() const;
};

/// The bodies of a unit's functions. Each is visited once.
class FunctionBodies {
public:
  const FunctionBody &of(const clang::FunctionDecl &F);

  /// Outermost loops.
  using LoopSet = llvm::DenseSet<const clang::Stmt *>;

  /// Returns Functions and, after them, the definitions that may be inlined
  /// into them. If Loops is given, of what Functions call outside of these
  /// only DepthOutside levels of calls.
  std::vector<const clang::FunctionDecl *>
  withInlined(llvm::ArrayRef<const clang::FunctionDecl *> Functions,
              const LoopSet *Loops = nullptr, unsigned DepthOutside = 0);

private:
  class Walker;
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<FunctionBody>>
      Known;
};

/// Returns the definition of F if IR can be generated for it; else null.
/// Operators new and delete stay calls, even if the program defines them.
const clang::FunctionDecl *loweredDefinition(const clang::FunctionDecl &F);

} // namespace vfriendly::tidy

#endif
