//===- AtomicOps.h - What an atomic operation does --------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<AtomicOp> Op = matchAtomicOp(E)) switch (Op->Kind) ...
//
// One view of std::atomic and its relatives, C11 atomics, __atomic_* and
// __sync_*: which object is accessed, and what a compare-and-exchange expects.
// Plain reads and writes of _Atomic objects are ordinary expressions, not
// calls: see isAtomicType.
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
  SetBits, ///< fetch_or, fetch_and: twice has the effect of once.
  Modify,  ///< fetch_add and the like: each time has its own effect.
  Other    ///< wait, notify, init: none of a polling loop's business.
};

struct AtomicOp {
  AtomicKind Kind = AtomicKind::Other;
  /// The object, or with ObjectIsPointer a pointer to it.
  const clang::Expr *Object = nullptr;
  bool ObjectIsPointer = false;
  /// What a compare-and-exchange expects: a value, or, with ExpectedIsMemory,
  /// a pointer to (C) or the name of (C++) what a failure overwrites.
  const clang::Expr *Expected = nullptr;
  bool ExpectedIsMemory = false;
  bool ExpectedIsPointer = false;
  /// What is stored; null where the operation itself says.
  const clang::Expr *Value = nullptr;
  /// Where the result goes instead of being returned: __atomic_load and the
  /// like take a pointer for it.
  const clang::Expr *Result = nullptr;
  /// A member of std::atomic or a relative, which has wait and notify_all.
  bool IsStdMember = false;
};

/// pre: E is a CallExpr or an AtomicExpr.
std::optional<AtomicOp> matchAtomicCall(const clang::Expr *E);

/// Looks at E itself, not at its operands.
inline std::optional<AtomicOp> matchAtomicOp(const clang::Expr *E) {
  // Asked of every expression, most of which are neither.
  if (!llvm::isa<clang::CallExpr, clang::AtomicExpr>(E))
    return std::nullopt;
  return matchAtomicCall(E);
}

/// std::atomic, std::atomic_flag, std::atomic_ref and _Atomic.
bool isAtomicType(clang::QualType T);

/// std::atomic_ref, whose memory is not its own.
bool isAtomicRef(clang::QualType T);

} // namespace vfriendly::tidy

#endif
