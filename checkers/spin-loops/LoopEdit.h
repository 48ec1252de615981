//===- LoopEdit.h - Edits of a loop's source text ---------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   LoopEdit Edit(Spin, Site);
//   if (Edit.waitInBody("_mm_pause()")) Hints = Edit.take();
//
// Inserts the wait at a place that depends on the loop's form: in an empty
// body, instead of an existing hint, at the end of a block, in the condition of
// a do loop, or before a goto. Each step fails rather than edit text that it
// does not fully understand.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_LOOPEDIT_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_LOOPEDIT_H

#include "checkers/common/SourceText.h"
#include "checkers/spin-loops/FixIts.h"

namespace vfriendly::tidy {

class LoopEdit {
public:
  LoopEdit(const WrittenWait &Spin, const LoopSite &Site);

  /// Makes every failed iteration evaluate the expression Call once. HasValue
  /// is true if Call is an integer that is never 0; in a do loop, Call is then
  /// added to the condition.
  bool waitInBody(llvm::StringRef Call, bool HasValue);
  /// Makes waitInBody keep the loop's hints instead of replacing one, so that
  /// a poll takes as long as before.
  void keepHints() { KeepsHints = true; }
  /// Declares a variable before the loop, in a new block if needed.
  bool declareBefore(llvm::StringRef Declaration);
  void add(clang::FixItHint Hint) { Hints.push_back(std::move(Hint)); }

  llvm::SmallVector<clang::FixItHint, 4> take() { return std::move(Hints); }

private:
  bool waitInStatement(const clang::Stmt *Body, llvm::StringRef Call);
  bool waitInBlock(const clang::CompoundStmt &Block, llvm::StringRef Call);
  /// Evaluates Call after each iteration, also after one that a `continue`
  /// ends, but not before the first: makes it the increment of a `for`.
  bool waitInHead(llvm::StringRef Call);
  bool waitInCondition(llvm::StringRef Call);
  bool waitBeforeGotos(llvm::StringRef Call);
  bool replaceHint(const clang::Stmt *S, llvm::StringRef Call);
  bool isOnlyHint(const clang::Stmt *S) const;
  void insert(clang::SourceLocation Place, const llvm::Twine &Text);

  const WrittenWait &Spin;
  const LoopSite &Site;
  const LoopShape &Shape;
  const clang::ASTContext &Context;
  const clang::SourceManager &SM;
  bool KeepsHints = false;
  llvm::SmallVector<clang::FixItHint, 4> Hints;
};

} // namespace vfriendly::tidy

#endif
