//===- AtomicOps.h - Classification of atomic operations --------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<AtomicOp> Op = matchAtomicOp(E)) switch (Op->Kind) ...
//
// A uniform view of std::atomic and related classes, C11 atomics, __atomic_*
// and __sync_*: which object an operation accesses, and which value a
// compare-and-exchange expects. Plain reads and writes of _Atomic objects are
// not matched, because they are ordinary expressions and not calls: see
// isAtomicType.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_COMMON_ATOMICOPS_H
#define VFRIENDLY_CHECKERS_COMMON_ATOMICOPS_H

#include "clang/AST/Expr.h"
#include <optional>

namespace vfriendly::tidy {

enum class AtomicKind {
  Load,
  Store,
  Exchange, ///< Includes test-and-set, whose Value is null.
  CompareExchange,
  SetBits, ///< fetch_or, fetch_and: idempotent.
  Modify,  ///< fetch_add and the like: not idempotent.
  Other    ///< wait, notify, init: irrelevant to polling loops.
};

struct AtomicOp {
  AtomicKind Kind = AtomicKind::Other;
  /// The atomic object; if ObjectIsPointer is set, a pointer to it.
  const clang::Expr *Object = nullptr;
  bool ObjectIsPointer = false;
  /// The expected value of a compare-and-exchange or, with ExpectedIsMemory, a
  /// pointer to (C) or the name of (C++) the memory that a failure overwrites.
  const clang::Expr *Expected = nullptr;
  bool ExpectedIsMemory = false;
  bool ExpectedIsPointer = false;
  /// The stored value or operand; null where the operation implies it, as `x++`
  /// implies 1.
  const clang::Expr *Value = nullptr;
  /// The memory that receives the result if it is not returned: __atomic_load
  /// and similar builtins take a pointer to it.
  const clang::Expr *Result = nullptr;
  /// True if the operation is a member of std::atomic or a related class,
  /// which has wait and notify_all.
  bool IsStdMember = false;
};

/// pre: E is a CallExpr or an AtomicExpr.
std::optional<AtomicOp> matchAtomicCall(const clang::Expr *E);

/// Returns the atomic operation that the expression E itself is; nothing if E
/// is none. Ignores atomic operations in the operands of E.
inline std::optional<AtomicOp> matchAtomicOp(const clang::Expr *E) {
  // Returns true if E may be an atomic operation. Fast; most expressions are
  // not.
  if (!llvm::isa<clang::CallExpr, clang::AtomicExpr>(E))
    return std::nullopt;
  return matchAtomicCall(E);
}

/// Returns true for std::atomic, std::atomic_flag, std::atomic_ref and _Atomic.
bool isAtomicType(clang::QualType T);

/// Returns true for std::atomic_ref, which refers to another object's memory.
bool isAtomicRef(clang::QualType T);

} // namespace vfriendly::tidy

#endif
