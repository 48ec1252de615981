//===- HeapCalls.h - Calls that allocate or release -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<HeapCall> Call = Heap.match(E))
//     if (Call->Op == HeapOp::Release) ... Call->Pointer
//
// Recognizes new and delete, the functions in HeapNames.def, functions with the
// attribute malloc or ownership, and functions of the program that do the same
// (HeapWrappers.h), also of its other units (HeapFacts.h) and through global
// pointers.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCALLS_H
#define VFRIENDLY_CHECKERS_HEAPCHURN_HEAPCALLS_H

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>

namespace vfriendly::tidy {

class ProgramFacts;

enum class HeapOp { Allocate, Resize, Release, None };

/// The heap operation of a function; the numbers are argument indices.
struct HeapFunction {
  HeapOp Op = HeapOp::Allocate;
  std::optional<unsigned> Pointer = {}; ///< Resized or released.
  std::optional<unsigned> Size = {}, Count = {};
};

struct HeapCall {
  HeapOp Op = HeapOp::Allocate;
  const clang::Expr *Site = nullptr;
  const clang::Expr *Pointer = nullptr; ///< Resized or released.
  /// The factors of the allocated size, as for calloc(Count, Size); null for a
  /// factor that does not exist or is not visible.
  const clang::Expr *Size = nullptr, *Count = nullptr;
  /// Null for new and delete, and for a call through a pointer.
  const clang::FunctionDecl *Callee = nullptr;

  /// Returns the name for diagnostics: the name of Callee, or `new`, `new[]`,
  /// `delete` or `delete[]`.
  std::string name() const;
};

class HeapCalls {
public:
  HeapCalls();
  ~HeapCalls();
  std::optional<HeapCall> match(const clang::Expr *E);
  const HeapFunction *find(const clang::FunctionDecl &F);
  /// Returns what calls through Pointer, a global variable, do.
  const HeapFunction *find(const clang::VarDecl &Pointer);
  /// Returns the same for a variable by its name, if it was asked for before.
  const HeapFunction *findPointer(llvm::StringRef Name) const;

private:
  std::optional<HeapFunction> classify(const clang::FunctionDecl &F);

  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<HeapFunction>>
      Known;
  llvm::StringMap<std::optional<HeapFunction>> Pointers;
  std::shared_ptr<ProgramFacts> Program;
  unsigned Wrapped = 0; ///< Bodies that are being summarized.
};

/// Returns the variable that E names, ignoring casts and parentheses; null if
/// none.
const clang::VarDecl *variableOf(const clang::Expr *E);

/// Returns true if Variable is null where Condition holds, false if it is null
/// where Condition does not hold, and nothing if Condition does not tell.
std::optional<bool> nullTest(const clang::Expr *Condition,
                             const clang::VarDecl &Variable,
                             const clang::ASTContext &Context);

} // namespace vfriendly::tidy

#endif
