//===- LongCalls.h - What may sleep or take long ----------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   if (std::optional<LongCall> Long = Calls.match(S)) ... Long->What ...
//
// Tells which statements may sleep, enter the kernel, or touch fresh pages.
// Functions whose definitions are visible count by what they do, all others by
// their names.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_BLOCKINGSYNC_LONGCALLS_H
#define VFRIENDLY_CHECKERS_BLOCKINGSYNC_LONGCALLS_H

#include "checkers/blocking-sync/SpinLocks.h"
#include "passes/analysis/common/LongNames.h"

#include <optional>

namespace vfriendly::tidy {

struct LongCall {
  LongCall(LongKind Kind, const clang::Stmt *Site, std::string What)
      : Kind(Kind), Site(Site), What(std::move(What)) {}

  LongKind Kind;
  const clang::Stmt *Site;
  /// The function that is called there, or what is done.
  std::string What;
  /// Where the definition of that function does it; Site if it has none.
  const clang::Stmt *Inside = nullptr;
  std::string InsideWhat;
};

/// The size of a page of most processors, in bytes.
inline constexpr uint64_t PageSize = 4096;

/// Returns true if one of Parents is a block that ends the program: what it
/// does before, nobody waits for.
bool endsProgram(llvm::ArrayRef<const clang::Stmt *> Parents);

class LongCalls {
public:
  LongCalls(SpinLocks &Locks, const clang::ASTContext &Context)
      : Locks(Locks), Context(Context) {}
  /// Returns what S itself, without its operands, does that may take long.
  std::optional<LongCall> match(const clang::Stmt *S, unsigned Depth = 0);

private:
  std::optional<LongCall> call(const clang::CallExpr &Call, unsigned Depth);
  std::optional<LongCall> bodyOf(const clang::FunctionDecl &Callee,
                                 unsigned Depth);
  /// These are in LongLoops.cpp.
  std::optional<LongCall> loop(const clang::Stmt &Loop);
  bool hasNoSmallLimit(const clang::Stmt &Loop);
  bool works(const clang::Stmt *S, unsigned Depth);
  bool works(const clang::CallExpr &Call, bool IsTested, unsigned Depth);

  SpinLocks &Locks;
  const clang::ASTContext &Context;
  llvm::DenseMap<const clang::FunctionDecl *, std::optional<LongCall>> Known;
  /// What the names of functions of other units say.
  llvm::DenseMap<const clang::FunctionDecl *, std::optional<LongKind>> Told;
  /// Whether a function does more than a step along a list.
  llvm::DenseMap<const clang::FunctionDecl *, bool> Works;
};

} // namespace vfriendly::tidy

#endif
