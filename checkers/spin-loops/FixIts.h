//===- FixIts.h - Makes a spin loop give up the CPU -------------*- C++ -*-===//
//
// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Fix Edit = planFix(Style, Spin, Site, Uses, Names);
//   if (!Edit.Hints.empty()) ...
//
// A fix is planned only if its result compiles and preserves the meaning: not
// in macros or template instances, and not where no variable for the wait's
// state can be declared.
//
//===----------------------------------------------------------------------===//

#ifndef VFRIENDLY_CHECKERS_SPINLOOPS_FIXITS_H
#define VFRIENDLY_CHECKERS_SPINLOOPS_FIXITS_H

#include "checkers/spin-loops/TuUses.h"
#include "checkers/spin-loops/WrittenWait.h"

#include "clang/Basic/Diagnostic.h"
#include <string>

namespace vfriendly::tidy {

enum class FixStyle { Pause, SpinThenBlock, StdAtomicWait };

/// Parses the option Style; nullopt if the value is unknown.
std::optional<FixStyle> parseStyle(llvm::StringRef Name);

/// The function and the statements around a loop.
struct LoopSite {
  const clang::FunctionDecl &Function;
  /// The statements around the loop, the outermost first.
  llvm::ArrayRef<const clang::Stmt *> Parents;
};

/// Generates names for the variables in which the fixes keep the state of a
/// wait. Each name is used once in a function.
class StateNames {
  const clang::FunctionDecl *In = nullptr;
  unsigned Used = 0;

public:
  std::string next(const clang::FunctionDecl &Function);
  void giveBack() { --Used; }
};

struct Fix {
  llvm::SmallVector<clang::FixItHint, 4> Hints;
  std::string Header; ///< The header to include, with any angle brackets.
  /// The reason why this loop has no fix. Empty if the loop has a fix, or if
  /// the reason is the same for all loops.
  llvm::StringRef WhyNot = {};
};

Fix planFix(FixStyle Style, const WrittenWait &Spin, const LoopSite &Site,
            TuUses &Uses, StateNames &Names);

} // namespace vfriendly::tidy

#endif
